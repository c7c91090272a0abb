package wal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// aliases returns different names of one directory.
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

// TestWritesIntoItself checks that neither an archive nor a backup is written into
// the log that it reads. An archive into DIR/wal once took each segment for the
// copy that an interrupted run had left, and removed it.
func TestWritesIntoItself(t *testing.T) {
	dir, w := longLog(t)
	checkpointAt(t, dir, 100)
	checkpointAt(t, dir, w.LastSeq())
	for _, part := range []string{historyDir, beginName} {
		if err := os.Mkdir(join(dir, part), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, dir)
	for _, part := range logDirs(dir) {
		for name, to := range aliases(t, part) {
			if _, err := Archive(dir, to, 100, nil); !errors.Is(err, ErrSameDir) {
				t.Errorf("archive to %s by %s: got %v, want ErrSameDir", part, name, err)
			}
			if _, err := Backup(dir, to, BackupOptions{}); !errors.Is(err, ErrSameDir) {
				t.Errorf("backup to %s by %s: got %v, want ErrSameDir", part, name, err)
			}
		}
	}
	for _, part := range []string{segmentDir, ckptDir, readersDir, historyDir, beginName} {
		for name, alias := range aliases(t, join(dir, part)) {
			out := t.TempDir()
			if err := os.Symlink(alias, join(out, part)); err != nil {
				t.Fatal(err)
			}
			if _, err := Backup(dir, out, BackupOptions{}); !errors.Is(err, ErrSameDir) {
				t.Errorf("backup to a directory whose %s leads to the log by %s: got %v, want ErrSameDir", part, name, err)
			}
			if names, _ := (OS{}).List(out); len(names) != 1 {
				t.Errorf("after a rejected backup, the target contains %v, want only %s", names, part)
			}
		}
	}
	if after := snapshot(t, dir); after != before {
		t.Error("the log was changed")
	}
}

// TestWritesWithinTheLogsDirectories checks that neither an archive nor a backup is
// written below a directory of the log that programs or people clear. A mirror removes
// everything in begin/, and people remove history/. However, an archive may be in a
// directory of its own within the log's directory.
func TestWritesWithinTheLogsDirectories(t *testing.T) {
	dir, w := longLog(t)
	for _, part := range logDirs(dir)[1:] {
		if err := os.MkdirAll(join(part, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		link := join(t.TempDir(), "link")
		if err := os.Symlink(join(part, "sub"), link); err != nil {
			t.Fatal(err)
		}
		for _, to := range []string{part + "/new", part + "/sub", part + "/sub/new", link, link + "/new"} {
			before := snapshot(t, dir)
			if _, err := Archive(dir, to, w.LastSeq(), nil); !errors.Is(err, ErrSameDir) {
				t.Errorf("archive to %s: got %v, want ErrSameDir", to, err)
			}
			if _, err := Backup(dir, to, BackupOptions{}); !errors.Is(err, ErrSameDir) {
				t.Errorf("backup to %s: got %v, want ErrSameDir", to, err)
			}
			if after := snapshot(t, dir); after != before {
				t.Errorf("%s: the log was changed", to)
			}
			if _, err := os.Stat(part + "/new"); err == nil {
				t.Fatalf("%s: the directory was created", to)
			}
		}
	}
	for _, to := range []string{join(dir, "archive"), dir + "-archive"} {
		if report, err := Archive(dir, to, w.LastSeq(), nil); err != nil || len(report.Moved) == 0 && to == join(dir, "archive") {
			t.Errorf("archive to %s: moved %v, %v; want segments to be moved", to, report.Moved, err)
		}
	}
}

// TestBackupBesideTheLog checks that a backup is neither written below the log's
// directory nor restored to a directory above its own.
func TestBackupBesideTheLog(t *testing.T) {
	dir, _ := longLog(t)
	store := t.TempDir()
	copied := join(store, "copy")
	if _, err := Backup(dir, copied, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	sub := join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	refused := func(from, to string) {
		before := snapshot(t, dir) + snapshot(t, store)
		if _, err := Backup(from, to, BackupOptions{}); !errors.Is(err, ErrSameDir) {
			t.Errorf("backup from %s to %s: got %v, want ErrSameDir", from, to, err)
		}
		if after := snapshot(t, dir) + snapshot(t, store); after != before {
			t.Fatalf("backup from %s to %s was rejected, but wrote files", from, to)
		}
	}
	for _, out := range aliases(t, sub) {
		refused(dir, out)
		refused(dir, out+"/new")
	}
	for _, log := range aliases(t, dir) {
		refused(log, sub)
		refused(log, join(dir, "new"))
	}
	for _, out := range aliases(t, store) {
		refused(copied, out)
	}
}

// TestWritesWithinAnotherLog checks that neither an archive nor a backup is written
// into the directories of another copy of the log, such as a mirror. Segments in the
// mirror's wal/ would count as its own, and would leave a gap after those that it has
// copied so far.
func TestWritesWithinAnotherLog(t *testing.T) {
	dir, w := longLog(t)
	other := t.TempDir()
	if _, err := Backup(dir, other, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir) + snapshot(t, other)
	if _, err := Archive(dir, other, w.LastSeq(), nil); !errors.Is(err, ErrSameDir) {
		t.Errorf("archive to the directory of another log: got %v, want ErrSameDir", err)
	}
	running := mustOpen(t, other, small())
	if _, err := Archive(dir, other, w.LastSeq(), nil); !errors.Is(err, ErrSameDir) {
		t.Errorf("archive to the directory of another log that is in use: got %v, want ErrSameDir", err)
	}
	running.Close()
	before = snapshot(t, dir) + snapshot(t, other)
	for _, part := range []string{segmentDir, ckptDir, readersDir, segmentDir + "/new", beginName + "/new"} {
		if part == beginName+"/new" {
			if err := os.Mkdir(join(other, beginName), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Archive(dir, join(other, part), w.LastSeq(), nil); !errors.Is(err, ErrSameDir) {
			t.Errorf("archive to %s of another log: got %v, want ErrSameDir", part, err)
		}
		if _, err := Backup(dir, join(other, part), BackupOptions{}); !errors.Is(err, ErrSameDir) {
			t.Errorf("backup to %s of another log: got %v, want ErrSameDir", part, err)
		}
	}
	if after := snapshot(t, dir) + snapshot(t, other); after != before {
		t.Error("a log was changed")
	}
	if report, err := Archive(dir, join(other, "archive"), w.LastSeq(), nil); err != nil || len(report.Moved) == 0 {
		t.Errorf("archive next to the other log's directories: moved %v, %v; want segments to be moved", report.Moved, err)
	}
}

// TestNewLogWithinAnother checks that no log is created within the directories of
// another, whether those directories exist or not. A log may be created next to them, and
// one that already exists within them may be opened.
func TestNewLogWithinAnother(t *testing.T) {
	dir, _ := longLog(t)
	if err := os.Symlink(join(dir, segmentDir), dir+"-link"); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{segmentDir, ckptDir, readersDir, historyDir, beginName, segmentDir + "/new", historyDir + "/new/log"} {
		err := NotPartOfLog(join(dir, part), Options{})
		if want := join(dir, part) + " is part of the log in " + dir; !errors.Is(err, ErrSameDir) || err.Error() != want {
			t.Errorf("%s: got %v, want %s", part, err, want)
		}
	}
	if err := NotPartOfLog(dir+"-link", Options{}); !errors.Is(err, ErrSameDir) {
		t.Errorf("a symbolic link to %s: got %v, want ErrSameDir", segmentDir, err)
	}
	before := join(dir, ckptDir, "before")
	w, err := Open(before, Options{})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	for _, at := range []string{dir, before, join(dir, "beside"), dir + "-new", "new"} {
		if err := NotPartOfLog(at, Options{}); err != nil {
			t.Errorf("NotPartOfLog(%s): got %v, want nil", at, err)
		}
	}
}

// TestArchiveIntoHistory checks that history/ is part of the log even if it is missing.
func TestArchiveIntoHistory(t *testing.T) {
	dir, w := longLog(t)
	if _, err := Archive(dir, join(dir, historyDir), w.LastSeq(), nil); !errors.Is(err, ErrSameDir) {
		t.Errorf("got %v, want ErrSameDir", err)
	}
	if _, err := os.Stat(join(dir, historyDir)); err == nil {
		t.Error("the directory was created")
	}
}

// TestLinksAreNoCopies puts links to the log's files where an archive or a
// backup expects the copies of an earlier run. The log must lose nothing.
func TestLinksAreNoCopies(t *testing.T) {
	links := map[string]func(old, new string) error{"symbolic": os.Symlink, "hard": os.Link}
	for kind, link := range links {
		for _, which := range []string{"one", "all"} {
			t.Run(kind+"/"+which, func(t *testing.T) {
				dir, w := longLog(t)
				checkpointAt(t, dir, 100)
				checkpointAt(t, dir, w.LastSeq())
				before := snapshot(t, dir)
				to := t.TempDir()
				put := func(from, to string) {
					names, _ := (OS{}).List(from)
					for _, name := range names {
						if err := link(join(from, name), join(to, name)); err != nil {
							t.Fatal(err)
						}
						if which == "one" {
							return
						}
					}
				}
				put(segmentsPath(dir), to)
				report, err := Archive(dir, to, w.LastSeq(), nil)
				if kind == "symbolic" && (!errors.Is(err, ErrSameDir) || len(report.Moved) > 0) {
					t.Errorf("archive among %s links: moved %v, %v", kind, report.Moved, err)
				}
				if kind == "hard" { // as an interrupted run leaves them: the bytes stay
					for _, name := range report.Moved {
						if st, err := os.Lstat(join(to, name)); err != nil || !st.Mode().IsRegular() {
							t.Errorf("archive: %s is not a regular file: %v", name, err)
						}
					}
					if err != nil || len(report.Moved) == 0 {
						t.Errorf("archive among %s links: moved %v, %v", kind, report.Moved, err)
					}
				} else if after := snapshot(t, dir); after != before {
					t.Error("archive changed the log")
				}
				for _, parts := range [][]string{{segmentDir}, {ckptDir}, {segmentDir, ckptDir}} {
					dir, _ := longLog(t)
					checkpointAt(t, dir, 100)
					out := t.TempDir()
					if _, err := Backup(dir, out, BackupOptions{}); err != nil {
						t.Fatal(err)
					}
					for _, part := range parts {
						os.RemoveAll(join(out, part))
						os.Mkdir(join(out, part), 0o700)
						put(join(dir, part), join(out, part))
					}
					if _, err := Backup(dir, out, BackupOptions{}); !errors.Is(err, ErrSameDir) || strings.Contains(err.Error(), "\n") {
						t.Errorf("backup to a directory with links in %s: got %v, want one ErrSameDir", parts, err)
					}
				}
			})
		}
	}
}

// TestArchiveIntoBindMount checks that an archive into a bind mount of the log's own
// segments is rejected. Only root can run it.
func TestArchiveIntoBindMount(t *testing.T) {
	const inside = "WAL_TEST_BIND"
	if dir := os.Getenv(inside); dir != "" {
		if _, err := Archive(dir, dir+"-bound", 1<<40, nil); !errors.Is(err, ErrSameDir) {
			t.Errorf("got %v, want ErrSameDir", err)
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

// TestArchiveAmongAnotherLog checks that segments are not moved to a directory
// with segments of another log, whose order they would break.
func TestArchiveAmongAnotherLog(t *testing.T) {
	dir, w := longLog(t)
	o := small()
	o.Rand = zeroRandom{}
	other := t.TempDir()
	fill(t, mustOpen(t, other, o), 1, 10)
	archive := t.TempDir() // with the segments of other, as its own archive would have them
	if _, err := Archive(other, archive, 1, nil); err != nil {
		t.Fatal(err)
	}
	names, _ := (OS{}).List(segmentsPath(other))
	for _, name := range names {
		if err := os.Link(join(segmentsPath(other), name), join(archive, name)); err != nil {
			t.Fatal(err)
		}
	}
	if report, err := Archive(dir, archive, w.LastSeq(), nil); err == nil || len(report.Moved) > 0 {
		t.Errorf("got %+v, %v; want an error and no moved segment", report, err)
	}
}

type zeroRandom struct{}

func (zeroRandom) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// TestOtherFilesInTheTarget checks that neither an archive nor a backup is written to a
// directory with other files, unless it continues an earlier one. A rejected run leaves
// the target as it was.
func TestOtherFilesInTheTarget(t *testing.T) {
	runs := map[string]func(dir, to string) error{
		"archive": func(dir, to string) error {
			_, err := Archive(dir, to, 1<<40, nil)
			return err
		},
		"backup": func(dir, to string) error {
			_, err := Backup(dir, to, BackupOptions{})
			return err
		},
	}
	put := func(to, name string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(join(to, name)), 0o700), os.WriteFile(join(to, name), []byte("text"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, run := range runs {
		dir, _ := longLog(t)
		for _, file := range []string{"a.txt", "wal/foo", "END", "1.seg"} {
			to := t.TempDir()
			put(to, file)
			if err := run(dir, to); err == nil {
				t.Errorf("%s to a directory with %s succeeds", name, file)
			}
			if left, _ := filepath.Glob(to + "/*"); len(left) != 1 {
				t.Errorf("%s to a directory with %s: it now contains %v", name, file, left)
			}
		}
		to := t.TempDir()
		put(to, "lost+found/x") // as on a new filesystem
		put(to, ".snapshot/x")
		for range 2 {
			if err := run(dir, to); err != nil {
				t.Errorf("%s to an empty disk: %v", name, err)
			}
			put(to, "notes.txt")
		}
	}
}

// TestTargetIsAFile checks that the error for a file as a target, or a path within one,
// says so.
func TestTargetIsAFile(t *testing.T) {
	dir, w := longLog(t)
	file := filepath.Join(t.TempDir(), "file")
	writeTestFile(t, file, []byte("text"))
	for _, to := range []string{file, join(file, "new")} {
		_, archived := Archive(dir, to, w.LastSeq(), nil)
		_, copied := Backup(dir, to, BackupOptions{})
		for _, err := range []error{archived, copied} {
			if want := "wal: " + to + " is a file, or within one; give a directory"; err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}
