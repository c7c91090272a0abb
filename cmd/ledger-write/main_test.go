package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"assetledger/server"
	"assetledger/server/servertest/longtest"
	"assetledger/server/settings/settingstest"
	"assetledger/server/version"
	"assetledger/server/writer"
)

// If this environment variable is set, the test binary runs as the daemon.
const asDaemon = "TEST_RUN_AS_LEDGER_WRITE"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
	}
	os.Exit(longtest.Main(m))
}

func TestUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args  []string
		exit  int
		words string
	}{
		{[]string{"-version"}, server.ExitStopped, "ledger-write " + version.Build()},
		{[]string{"-help"}, server.ExitStopped, "-idempotency-keys"},
		{nil, server.ExitUsage, "-dir is required"},
		{[]string{"-dir", "x", "more"}, server.ExitUsage, "more"},
		{[]string{"-dir", "x", "-nonsense"}, server.ExitUsage, "nonsense"},
		{[]string{"-dir", "x", "-queue", "0"}, server.ExitUsage, "-queue"},
		{[]string{"-dir", "x", "-segment-size", "100000"}, server.ExitUsage, "multiple"},
		{[]string{"-dir", "x", "-max-body", "1e3"}, server.ExitUsage, "max-body"},
		{[]string{"-dir", "x", "-max-lag", "-1"}, server.ExitUsage, "max-lag"},
		{[]string{"-dir", "x", "-log-format", "xml"}, server.ExitUsage, "xml"},
		{[]string{"-dir", "x", "-listen", "0.0.0.0:0"}, server.ExitUsage, "-auth-file"},
		{[]string{"-dir", "x", "-listen", ":0"}, server.ExitUsage, "-insecure"},
		{[]string{"-dir", "x", "-queue", "many"}, server.ExitUsage, `can't be "many": parse error; for example -queue 4096`},
		{[]string{"-dir", "x", "-tls-cert", "x"}, server.ExitUsage, "-tls-key"},
		{[]string{"-dir", "x", "-auth-file", "nowhere"}, server.ExitUsage, "-auth-file"},
		{[]string{"-dir", "x", "-socket-mode", "0999"}, server.ExitUsage, "for example -socket-mode 0600"},
		{[]string{"-queue", "7", "-print-config"}, server.ExitStopped, `queue             flag     "7"`},
		{[]string{"-dir", file}, server.ExitFailure, "file"},
		{[]string{"-dir", t.TempDir(), "-listen", "nowhere"}, server.ExitUsage, "-listen 127.0.0.1:8080"},
	} {
		var out bytes.Buffer
		if got := run(c.args, &out, &out); got != c.exit || !strings.Contains(out.String(), c.words) {
			t.Errorf("%v: exit code %d, want %d, and %q in:\n%s", c.args, got, c.exit, c.words, &out)
		}
	}
}

// A daemon is a ledger-write process.
type daemon struct {
	*exec.Cmd
	addr   string
	stderr bytes.Buffer
}

func start(t *testing.T, args ...string) *daemon {
	t.Helper()
	d := &daemon{Cmd: exec.Command(os.Args[0], args...)}
	d.Env = append(os.Environ(), asDaemon+"=1", "LEDGER_LISTEN=127.0.0.1:0", "LEDGER_SEGMENT_SIZE=262144")
	d.Stderr = &d.stderr
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, e := fmt.Sscanf(line, "ledger-write "+version.Build()+" ready on http://%s\n", &d.addr); e != nil {
		t.Fatalf("the first line is %q (%v), want one with the address: %v\n%s", line, err, e, &d.stderr)
	}
	return d
}

// status returns the status of a commit that creates a container, or 0 if there is no
// response.
func (d *daemon) status(id int) int {
	body := fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`, id)
	resp, err := http.Post("http://"+d.addr+"/v1/commit", "application/json", strings.NewReader(body))
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestProcess(t *testing.T) {
	dir := t.TempDir()
	d := start(t, "-dir", dir, "-log-format", "json")
	if got := d.status(1); got != 200 {
		t.Fatalf("commit: status %d, want 200\n%s", got, &d.stderr)
	}
	var out bytes.Buffer
	if got := run([]string{"-dir", dir}, &out, &out); got != server.ExitLocked {
		t.Errorf("a second daemon: exit code %d, want %d\n%s", got, server.ExitLocked, &out)
	}
	d.Process.Signal(syscall.SIGTERM)
	if err := d.Wait(); err != nil || !strings.Contains(d.stderr.String(), `"msg":"stopping on request"`) {
		t.Errorf("after SIGTERM: got %v, want no error and the log line \"stopping on request\"\n%s", err, &d.stderr)
	}
	d = start(t, "-dir", dir)
	if got := d.status(1); got != 409 {
		t.Errorf("after a restart: status %d, want 409", got)
	}
	d.Process.Signal(syscall.SIGINT)
	if err := d.Wait(); err != nil {
		t.Errorf("after SIGINT: got %v, want no error\n%s", err, &d.stderr)
	}
}

var update = flag.Bool("update", false, "rewrite the descriptions of the flags in docs")

// TestDocs compares the documentation with the flags.
func TestDocs(t *testing.T) {
	c := writer.DefaultConfig()
	p := program(&c)
	settingstest.Docs(t, p, "../../docs", *update)
}

// TestWrongValues checks that each flag rejects invalid values with an example of a valid one.
func TestWrongValues(t *testing.T) {
	c := writer.DefaultConfig()
	p := program(&c)
	settingstest.Wrong(t, p, run, map[string]string{
		"idempotency-keys": "-1", "segment-size": "100000", "max-body": "0", "max-batch-body": "1e6", "max-inflight": "none", "max-lag": "-1", "max-nesting": "0", "queue": "many",
		"driver": "etcd://nowhere", "driver-ca": "nowhere", "driver-cert": "nowhere", "driver-key": "nowhere", "driver-user": "nowhere", "advertise": "nowhere",
		"from-token-file": "nowhere", "from-ca": "nowhere", "from-cert": "nowhere", "from-cert-key": "nowhere",
	})
}
