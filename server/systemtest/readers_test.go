package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSecondWriterHarmsNothing starts additional write daemons under load, on a
// log whose segments rotate constantly, with a read daemon that never stops.
// Before the third additional daemon starts, LOCK is removed.
func TestSecondWriterHarmsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "log"), "65536", 6)
	r.start()
	r.load()
	segments := func() int {
		list, _ := filepath.Glob(filepath.Join(r.dir, "wal", "*.seg"))
		return len(list)
	}
	for i := 0; i < 5 || i < 100 && segments() < 3; i++ {
		if i == 2 {
			if err := os.Remove(filepath.Join(r.dir, "LOCK")); err != nil {
				t.Fatal(err)
			}
		}
		code, out, words := runProgram(t, "ledger-write", "-dir", r.dir, "-listen", "127.0.0.1:0")
		if code != 4 || out != "" || !strings.Contains(words, "another write daemon owns the directory") {
			t.Errorf("exit code %d, want 4\n%s%s", code, out, words)
		}
	}
	r.endLoad()
	r.verify()
	if err := r.check(); err != nil {
		t.Error(err)
	}
	if n := segments(); n < 3 {
		t.Errorf("the log has only %d segments, want at least 3", n)
	}
}

// TestGrownUnderSleepingReader restores an older backup in place while a read
// daemon is suspended. Before the daemon resumes, other commits take the place of the
// lost ones: as many, or more. The log's id and epoch are the same, and END has not
// gone back. The daemon must notice.
func TestGrownUnderSleepingReader(t *testing.T) {
	t.Parallel()
	const add = `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":%d}}]}`
	for name, commits := range map[string]int{"as many": 20, "more": 30} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, backup := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "backup")
			w := startWriteProcess(t, dir)
			mustCommit(t, w.url, setUp())
			w.stop(t)
			run(t, "cp", "-a", dir, backup)
			w = startWriteProcess(t, dir)
			for range 20 {
				mustCommit(t, w.url, fmt.Sprintf(add, 1))
			}
			reader := startProcess(t, "ledger-read", "-dir", dir)
			mustShow(t, reader.url, 1, 21)
			reader.cmd.Process.Signal(syscall.SIGSTOP)
			w.stop(t)
			run(t, "cp", "-a", backup+"/.", dir)
			w = startWriteProcess(t, dir)
			for range commits {
				mustCommit(t, w.url, fmt.Sprintf(add, 1000))
			}
			began := time.Now()
			reader.cmd.Process.Signal(syscall.SIGCONT)
			code := reader.exit(t)
			words := reader.words.String()
			if code != 1 || !strings.Contains(words, "replaced") || strings.Contains(words, "goroutine ") {
				t.Errorf("exit code %d, want 1, a message that the log was replaced, and no stack trace\n%.3000s", code, words)
			}
			t.Logf("exited %v after it resumed", time.Since(began).Round(time.Millisecond))
			again := startProcess(t, "ledger-read", "-dir", dir)
			mustShow(t, again.url, 1, int64(1+commits))
		})
	}
}

// TestRestoredUnderReader replaces the log that a read daemon serves, or part of it,
// with an older backup, as a restore does. Some cases only empty or remove files. The
// daemon must not serve the backup: it responds with 503, and exits.
func TestRestoredUnderReader(t *testing.T) {
	copyOver := func(flags ...string) func(t *testing.T, backup, dir string) {
		return func(t *testing.T, backup, dir string) { run(t, "cp", append(flags, backup+"/.", dir)...) }
	}
	swap := func(t *testing.T, from, to string) {
		if err := os.Rename(to, to+".old"); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		restore func(t *testing.T, backup, dir string)
	}{
		{"copied in place", copyOver("-a")},
		{"files replaced", copyOver("-a", "--remove-destination")},
		{"directories renamed", swap},
		{"END replaced", func(t *testing.T, backup, dir string) {
			swap(t, filepath.Join(backup, "END"), filepath.Join(dir, "END"))
		}},
		{"END emptied, as by a copy that has just begun", func(t *testing.T, _, dir string) {
			if err := os.Truncate(filepath.Join(dir, "END"), 0); err != nil {
				t.Fatal(err)
			}
		}},
		{"readers emptied too", func(t *testing.T, _, dir string) {
			for _, name := range []string{"readers/read", "END"} {
				if err := os.Truncate(filepath.Join(dir, name), 0); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"directory gone", func(t *testing.T, backup, dir string) {
			if err := os.Rename(dir, dir+".old"); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, backup := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "backup")
			w := startWriteProcess(t, dir)
			mustCommit(t, w.url, setUp())
			w.stop(t)
			if out, err := exec.Command("cp", "-a", dir, backup).CombinedOutput(); err != nil {
				t.Fatalf("cp: %v\n%s", err, out)
			}
			w = startWriteProcess(t, dir)
			for range 20 {
				mustCommit(t, w.url, `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}]}`)
			}
			reader := startProcess(t, "ledger-read", "-dir", dir)
			mustShow(t, reader.url, 1, 21)
			w.stop(t)
			began := time.Now()
			c.restore(t, backup, dir)
			for { // until the daemon notices, it serves the newer ledger
				a, err := get(http.DefaultClient, reader.url+"/v1/health")
				if err != nil || a.status == 503 {
					break
				}
				if !strings.Contains(a.body, `"checkpoint_seq":21`) || time.Since(began) > time.Minute {
					t.Fatalf("the health is %d %s, want commit 21, and 503 within a minute", a.status, a.body)
				}
			}
			t.Logf("noticed after %v", time.Since(began).Round(time.Millisecond))
			code := reader.exit(t)
			words := reader.words.String()
			if code != 1 && code != 3 || strings.Contains(words, "goroutine ") {
				t.Errorf("exit code %d, want 1 or 3, without a stack trace\n%.3000s", code, words)
			}
		})
	}
}
