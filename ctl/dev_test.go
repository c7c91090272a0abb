package ctl

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A running is a ledgerctl process that runs until it is interrupted.
type running struct {
	t      *testing.T
	cmd    *exec.Cmd
	out    *bufio.Scanner
	stderr bytes.Buffer
}

func startRunning(t *testing.T, dir string, args ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: exec.Command(os.Args[0], args...)}
	r.cmd.Dir, r.cmd.Stderr = dir, &r.stderr
	r.cmd.Env = []string{asProgram + "=1", "GORACE=atexit_sleep_ms=0"}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewScanner(out)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(time.Minute, func() { r.cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		r.cmd.Process.Kill()
	})
	return r
}

// line returns the next line of standard output.
func (r *running) line() string {
	r.t.Helper()
	if !r.out.Scan() {
		r.cmd.Wait()
		r.t.Fatalf("ledgerctl ended before it wrote a line: %s", &r.stderr)
	}
	return r.out.Text()
}

// interrupt stops ledgerctl in the same way as Ctrl-C, and returns the exit code.
func (r *running) interrupt() int {
	r.cmd.Process.Signal(syscall.SIGINT)
	for r.out.Scan() {
	}
	r.cmd.Wait()
	return r.cmd.ProcessState.ExitCode()
}

func TestDev(t *testing.T) {
	dir := t.TempDir()
	dev := startRunning(t, dir, "dev", "-write-listen", "127.0.0.1:0", "-read-listen", "127.0.0.1:0")
	urls := map[string]string{}
	for urls["log"] == "" {
		fields := strings.Fields(dev.line())
		urls[fields[0]] = fields[1]
	}
	if urls["log"] != "ledger-data" {
		t.Errorf("the log is in %s, want ledger-data", urls["log"])
	}
	if urls["page"] != urls["read"]+"/" {
		t.Errorf("the page is at %s, want %s/", urls["page"], urls["read"])
	}
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"LEDGER_WRITE_URL": urls["write"], "LEDGER_READ_URL": urls["read"]}[name]
		return v, ok
	}
	run := func(args ...string) (int, string) {
		var out bytes.Buffer
		return Main(args, nil, &out, &out, env), out.String()
	}
	if code, out := run("register", "class", "1", "gold", "-key", "k"); code != exitDone {
		t.Fatalf("register: exit code %d, want 0: %s", code, out)
	}
	if line := dev.line(); !strings.HasPrefix(line, "     1  ") || !strings.HasSuffix(line, "  RegisterClass class_id=1 name=gold  key k") {
		t.Errorf("the commit is shown as %q, want number 1, its operation and its key", line)
	}
	watch := startRunning(t, dir, "watch", "-after", "0", "-read-url", urls["read"])
	if line := watch.line(); !strings.Contains(line, "RegisterClass") {
		t.Errorf("watch shows %q, want RegisterClass", line)
	}
	if code := watch.interrupt(); code != exitDone {
		t.Errorf("watch: exit code %d after an interrupt, want 0: %s", code, &watch.stderr)
	}
	// A second ledgerctl uses the same directory, then the same address.
	code, out := run("dev", "-auth", "-dir", filepath.Join(dir, "ledger-data"), "-write-listen", "127.0.0.1:0", "-read-listen", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(out, "another write daemon uses ") {
		t.Errorf("on a directory in use: exit code %d, want %d and the reason: %s", code, exitFailure, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "ledger-data", "dev-auth")); err == nil {
		t.Error("it created tokens although another ledgerctl dev is running")
	}
	taken := strings.TrimPrefix(urls["write"], "http://")
	code, out = run("dev", "-dir", filepath.Join(dir, "other"), "-read-listen", taken, "-write-listen", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(out, taken+": bind: address already in use") || !strings.Contains(out, "-read-listen") {
		t.Errorf("on an address in use: exit code %d, want %d, the address and its flag: %s", code, exitFailure, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
		t.Error("it created a directory although the address is in use")
	}
	if code := dev.interrupt(); code != exitDone {
		t.Errorf("dev: exit code %d after an interrupt, want 0: %s", code, &dev.stderr)
	}
	conn, err := net.Dial("tcp", taken)
	if err == nil {
		conn.Close()
		t.Error("the write daemon still listens")
	}
	if code, out := run("wal", "verify", "-dir", filepath.Join(dir, "ledger-data")); code != exitDone {
		t.Errorf("wal verify: exit code %d, want 0: %s", code, out)
	}
}

// TestDevSeeds starts a ledger with each example in a temporary folder, and checks what
// each token allows.
func TestDevSeeds(t *testing.T) {
	for name, want := range map[string]string{"wallet": "wallet/ada", "warehouse": "shelf/1", "inventory": "bag/ada"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dev := startRunning(t, t.TempDir(), "dev", "-memory", "-auth", "-seed", name, "-o", "json",
				"-write-listen", "127.0.0.1:0", "-read-listen", "127.0.0.1:0")
			var told struct {
				Write  string            `json:"write_url"`
				Read   string            `json:"read_url"`
				Dir    string            `json:"dir"`
				Tokens map[string]string `json:"tokens"`
			}
			if err := json.Unmarshal([]byte(dev.line()), &told); err != nil || len(told.Tokens) != 3 {
				t.Fatalf("dev must print three tokens: %v (%v)", told, err)
			}
			as := func(token string) func(string) (string, bool) {
				return func(name string) (string, bool) {
					v, ok := map[string]string{"LEDGER_WRITE_URL": told.Write, "LEDGER_READ_URL": told.Read, "LEDGER_TOKEN": token}[name]
					return v, ok
				}
			}
			for _, c := range []struct {
				token, args string
				code        int
				want        string
			}{
				{"service", "read containers", 0, want},
				{"", "read containers", exitRefused, "Unauthorized"},
				{"user-501", "create mine -owner 501", exitRefused, "Forbidden"},
				{"admin", "create mine -owner 501", 0, "global_seq"},
			} {
				var out, words bytes.Buffer
				code := Main(strings.Fields(c.args), strings.NewReader(""), &out, &words, as(told.Tokens[c.token]))
				if text := out.String() + words.String(); code != c.code || !strings.Contains(text, c.want) {
					t.Errorf("%s as %q: exit code %d, want %d and %q: %s", c.args, c.token, code, c.code, c.want, text)
				}
			}
			if code := dev.interrupt(); code != 0 {
				t.Errorf("exit code %d after an interrupt, want 0: %s", code, &dev.stderr)
			}
			if _, err := os.Stat(told.Dir); !os.IsNotExist(err) {
				t.Errorf("%s is still there: %v", told.Dir, err)
			}
		})
	}
}
