package ctl

import (
	"bytes"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/writer"
)

// A devLog is a directory with a log, and the ledgerctl dev that runs on it, if any.
type devLog struct {
	t    *testing.T
	dir  string
	dev  *running
	urls map[string]string
}

// start starts ledgerctl dev.
func (d *devLog) start() {
	d.t.Helper()
	d.dev = startRunning(d.t, d.t.TempDir(), "dev", d.dir, "-write-listen", "127.0.0.1:0", "-read-listen", "127.0.0.1:0")
	d.urls = map[string]string{}
	for d.urls["log"] == "" {
		fields := strings.Fields(d.dev.line())
		d.urls[fields[0]] = fields[1]
	}
}

// commit runs a command that commits, and waits until dev shows the commit.
func (d *devLog) commit(args ...string) {
	d.t.Helper()
	d.run(exitDone, args...)
	d.dev.line()
}

// run runs ledgerctl, and returns what it wrote.
func (d *devLog) run(code int, args ...string) string {
	d.t.Helper()
	var out bytes.Buffer
	env := map[string]string{"LEDGER_WRITE_URL": d.urls["write"], "LEDGER_READ_URL": d.urls["read"]}
	if got := Main(args, strings.NewReader(""), &out, &out, func(name string) (string, bool) { v := env[name]; return v, v != "" }); got != code {
		d.t.Fatalf("ledgerctl %v: exit code %d, want %d\n%s", args, got, code, &out)
	}
	awaitForks()
	return out.String()
}

// content returns the CRC of every file in the directory. It does not return the
// contents, because allocating the 64 MiB of each segment would take too long.
func (d *devLog) content() map[string]uint32 {
	all := map[string]uint32{}
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := crc32.NewIEEE()
		_, err = io.Copy(sum, f)
		all[path] = sum.Sum32()
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all
}

// TestBackupOntoStartedCopy checks that a copy with commits of its own is rejected, and
// not changed.
func TestBackupOntoStartedCopy(t *testing.T) {
	t.Parallel()
	class, box := []string{"register", "class", "1", "gold"}, []string{"create", "wallet"}
	for _, c := range []struct {
		name   string
		hold   []string                      // committed before the copy is made, with expiry turned off
		copied func(t *testing.T, d *devLog) // called while dev runs on the copy
		after  [][]string                    // commits to the original afterwards
	}{
		{"as long", nil, func(t *testing.T, d *devLog) {
			d.commit("create", "copied")
			d.dev.interrupt()
		}, [][]string{{"create", "a"}}},
		{"shorter", nil, func(t *testing.T, d *devLog) {
			d.commit("create", "copied")
			d.dev.interrupt()
		}, [][]string{{"create", "a"}, {"create", "b"}}},
		{"killed", nil, func(t *testing.T, d *devLog) {
			d.commit("create", "copied")
			d.dev.cmd.Process.Kill()
			d.dev.cmd.Wait()
		}, [][]string{{"create", "a"}, {"create", "b"}}},
		{"by an expired hold", []string{"hold", "300", "wallet", "1", "1", "-expires-in", "1s"}, func(t *testing.T, d *devLog) {
			d.run(exitDone, "freshness", "-min-seq", "5", "-wait", "30s")
			if commit := d.run(exitDone, "read", "commit", "5"); !strings.Contains(commit, "ReleaseHold") {
				t.Errorf("the copy must release the expired hold in commit 5, which is %s", commit)
			}
			d.dev.interrupt()
		}, [][]string{{"create", "a"}, {"create", "b"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			log := &devLog{t: t, dir: filepath.Join(t.TempDir(), "main")}
			log.start()
			for _, args := range [][]string{class, box, {"add", "wallet", "5", "1"}} {
				log.commit(args...)
			}
			if c.hold != nil {
				log.dev.interrupt()
				d := startDaemonsWith(t, log.dir, func(c *writer.Config) { c.Expire = false })
				log.urls = map[string]string{"write": d.writeURL, "read": d.readURL}
				log.run(exitDone, c.hold...)
				d.stop()
			}
			out := &devLog{t: t, dir: filepath.Join(t.TempDir(), "copy")}
			out.run(exitDone, "backup", log.dir, out.dir)
			out.start()
			if words := out.run(exitFailure, "backup", log.dir, out.dir); !strings.Contains(words, out.dir) {
				t.Errorf("a backup onto a running copy does not name the copy: %s", words)
			}
			c.copied(t, out)
			if c.hold != nil {
				log.start()
			}
			for _, args := range c.after {
				log.commit(args...)
			}
			log.dev.interrupt()
			before := out.content()
			for range 2 {
				if words := out.run(exitFailure, "backup", log.dir, out.dir); !strings.Contains(words, "commits of its own after global_seq") {
					t.Errorf("backup must report commits of the copy's own, and says %s", words)
				}
			}
			if !maps.Equal(before, out.content()) {
				t.Error("the copy was changed")
			}
			out.run(exitDone, "wal", "verify", out.dir)
		})
	}
}

// TestBackupContinuesStartedCopy checks that a copy that was started and stopped without
// commits is continued.
func TestBackupContinuesStartedCopy(t *testing.T) {
	t.Parallel()
	log := &devLog{t: t, dir: filepath.Join(t.TempDir(), "main")}
	log.start()
	log.commit("create", "a")
	out := &devLog{t: t, dir: filepath.Join(t.TempDir(), "copy")}
	out.run(exitDone, "backup", log.dir, out.dir)
	out.start()
	out.dev.interrupt()
	log.commit("create", "b")
	if words := out.run(exitDone, "backup", log.dir, out.dir); !strings.Contains(words, "copied and checked") {
		t.Errorf("backup must continue the copy, and says %s", words)
	}
	out.start()
	out.commit("create", "c")
	out.dev.interrupt()
	log.dev.interrupt()
	out.run(exitDone, "wal", "verify", out.dir)
}
