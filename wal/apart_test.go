package wal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// aliases are names of one directory.
func aliases(t *testing.T, dir string) map[string]string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"the same path":   dir,
		"a dotted path":   dir + "/../" + filepath.Base(dir) + "/.",
		"a symbolic link": link,
	}
}

// TestWritesIntoItself checks that neither an archive nor a backup can go into
// the log that it reads: an archive into DIR/wal once took each segment for
// the copy that an interrupted run had left, and removed it.
func TestWritesIntoItself(t *testing.T) {
	dir, w := longLog(t)
	checkpointAt(t, dir, 100)
	checkpointAt(t, dir, w.LastSeq())
	before := snapshot(t, dir)
	for _, part := range logDirs(dir) {
		for name, to := range aliases(t, part) {
			if _, err := Archive(dir, to, 100, nil); !errors.Is(err, ErrSameDir) {
				t.Errorf("archive to %s by %s: %v", part, name, err)
			}
			if _, err := Backup(dir, to, BackupOptions{}); !errors.Is(err, ErrSameDir) {
				t.Errorf("backup to %s by %s: %v", part, name, err)
			}
		}
	}
	for _, part := range []string{segmentDir, ckptDir, readersDir} {
		for name, alias := range aliases(t, join(dir, part)) {
			out := t.TempDir()
			if err := os.Symlink(alias, join(out, part)); err != nil {
				t.Fatal(err)
			}
			if _, err := Backup(dir, out, BackupOptions{}); !errors.Is(err, ErrSameDir) {
				t.Errorf("backup to a directory whose %s leads to the log by %s: %v", part, name, err)
			}
			if names, _ := (OS{}).List(out); len(names) != 1 {
				t.Errorf("the refused backup wrote %v", names)
			}
		}
	}
	if after := snapshot(t, dir); after != before {
		t.Error("the log was changed")
	}
}

// TestArchiveIntoBindMount does the same by a bind mount, as root.
func TestArchiveIntoBindMount(t *testing.T) {
	const inside = "WAL_TEST_BIND"
	if dir := os.Getenv(inside); dir != "" {
		if _, err := Archive(dir, dir+"-bound", 1<<40, nil); !errors.Is(err, ErrSameDir) {
			t.Errorf("got %v", err)
		}
		return
	}
	dir, _ := longLog(t)
	bound := dir + "-bound"
	if err := os.Mkdir(bound, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 || exec.Command("unshare", "-m", "true").Run() != nil {
		t.Skip("needs root, and unshare")
	}
	before := snapshot(t, dir)
	cmd := exec.Command("unshare", "-m", "sh", "-c", `mount --bind "$0/wal" "$0-bound" || exit 99; exec "$1" -test.run '^TestArchiveIntoBindMount$'`, dir, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"="+dir)
	if out, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() == 99 {
		t.Skipf("no bind mounts here: %s", out)
	} else if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if after := snapshot(t, dir); after != before {
		t.Error("the log was changed")
	}
}

// TestArchiveAmongAnotherLog checks that segments do not go where those of
// another log are, whose order they would break.
func TestArchiveAmongAnotherLog(t *testing.T) {
	dir, w := longLog(t)
	o := small()
	o.Rand = zeroRandom{}
	other := t.TempDir()
	fill(t, mustOpen(t, other, o), 1, 10)
	if report, err := Archive(dir, segmentsPath(other), w.LastSeq(), nil); err == nil || len(report.Moved) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

type zeroRandom struct{}

func (zeroRandom) Read(b []byte) (int, error) { clear(b); return len(b), nil }
