package systemtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/etcd/etcdtest"
)

// TestServiceManager starts the programs as systemd would: with a socket that is
// already open, and a socket for notifications. The umask removes no permissions, so
// the daemons themselves must restrict the modes of the log's files.
func TestServiceManager(t *testing.T) {
	t.Parallel()
	programs := buildPrograms(t) // before any deadline is set
	dir := filepath.Join(t.TempDir(), "log")
	for _, name := range []string{"ledger-write", "ledger-read"} {
		notify := filepath.Join(t.TempDir(), "notify")
		manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer manager.Close()
		manager.SetReadDeadline(time.Now().Add(time.Minute))
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		url := "http://" + ln.Addr().String()
		early := make(chan error, 1)
		go func() { // before there is a daemon
			a, err := get(http.DefaultClient, url+"/v1/readyz")
			if err == nil && a.body != `{"status":"ready"}` {
				err = fmt.Errorf("%d %s", a.status, a.body)
			}
			early <- err
		}()
		// exec keeps the shell's process id, so LISTEN_PID is that of the daemon.
		cmd := exec.Command("sh", "-c", `umask 000; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" "$@"`, filepath.Join(programs, name), "-dir", dir)
		cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify, "WATCHDOG_USEC=20000")
		cmd.ExtraFiles = []*os.File{file}
		var words strings.Builder
		cmd.Stderr = &words
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p := &process{name: name, cmd: cmd, url: url}
		hear := func(want string) (before []string) {
			t.Helper()
			for b := make([]byte, 4096); ; {
				n, err := manager.Read(b)
				if err != nil {
					t.Fatalf("%s did not send %s: %v\n%s", name, want, err, words.String())
				}
				if strings.Contains(string(b[:n]), want) {
					return before
				}
				before = append(before, string(b[:n]))
			}
		}
		if before := hear("READY=1"); len(before) == 0 || !strings.Contains(before[0], "EXTEND_TIMEOUT_USEC=") {
			t.Errorf("%s sent %q before it was ready, want EXTEND_TIMEOUT_USEC first", name, before)
		}
		if err := <-early; err != nil {
			t.Errorf("a client that connected before %s was running: %v", name, err)
		}
		hear("WATCHDOG=1")
		hear("WATCHDOG=1")
		if name == "ledger-write" {
			mustCommit(t, url, goodContainers)
		}
		http.DefaultClient.CloseIdleConnections()
		p.cmd.Process.Signal(syscall.SIGTERM)
		hear("STOPPING=1")
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s did not exit with code 0 when it was asked to stop: %v\n%s", name, err, words.String())
		}
		// The socket still belongs to the manager, and waits for the next daemon.
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Error(err)
		} else {
			c.Close()
		}
		ln.Close()
		file.Close()
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v, want %v", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Errorf("the log has %d files, want at least 4: %v", files, err)
	}
}

// TestSocketActivation opens the socket with systemd's own tool, on the network
// and in the filesystem. Without an auth file or -insecure, the daemon does not serve a
// socket that other machines can reach, whoever opened it.
func TestSocketActivation(t *testing.T) {
	t.Parallel()
	activate := tool(t, "systemd-socket-activate", "systemd")
	programs, dir := buildPrograms(t), t.TempDir()
	socket := filepath.Join(dir, "write")
	start := func(listen string) (*exec.Cmd, *strings.Builder) {
		cmd := exec.Command(activate, "-l", listen, filepath.Join(programs, "ledger-write"), "-dir", filepath.Join(dir, "log"))
		var words strings.Builder
		cmd.Stderr = &words
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		return cmd, &words
	}
	// ready sends requests until a process listens, and then waits as long as the
	// daemon needs.
	ready := func(network, address string) (answer, error) {
		client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
			Dial: func(string, string) (net.Conn, error) { return net.Dial(network, address) }}}
		var a answer
		var err error
		awaits(t, "a process listens", func() bool {
			a, err = get(client, "http://ledger/v1/readyz")
			return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, syscall.ENOENT)
		})
		return a, err
	}
	for _, at := range [][2]string{{"tcp", etcdtest.FreeAddress(t)}, {"unix", socket}} {
		cmd, words := start(at[1])
		if a, err := ready(at[0], at[1]); err != nil || a.body != `{"status":"ready"}` {
			t.Errorf("%v: readyz is %v %+v, want ready", at, err, a)
		}
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: the daemon did not exit with code 0 when it was asked to stop: %v\n%s", at, err, words)
		}
	}
	_, port, _ := net.SplitHostPort(etcdtest.FreeAddress(t))
	cmd, words := start("0.0.0.0:" + port)
	if a, err := ready("tcp", "127.0.0.1:"+port); err == nil {
		t.Errorf("other machines are served: %+v", a)
	}
	cmd.Wait()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(words.String(), "-auth-file") {
		t.Errorf("%v, want exit code 2 and a message that names -auth-file\n%s", cmd.ProcessState, words)
	}
}
