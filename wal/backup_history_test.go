package wal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ownFrame appends a frame that no other log in these tests has.
func ownFrame(t *testing.T, w *Writer) {
	t.Helper()
	f := testFrame(w.LastSeq()+1, 2, 2000)
	f.Digest++
	if err := w.Append(f); err != nil {
		t.Fatal(err)
	}
}

// started opens the log of dir, calls the function do, and closes the log, like a
// daemon that is started and stopped.
func started(t *testing.T, dir string, do func(w *Writer)) {
	t.Helper()
	w := mustOpen(t, dir, small())
	do(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// files returns the content of all files below dir.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// placeIn reads the position in a checkpoint. It is the inverse of placed.
func placeIn(r io.Reader) (p Place, err error) {
	_, err = fmt.Fscan(r, &p.Seq, &p.Chain, &p.Time, &p.Digest)
	return p, err
}

func placed(t *testing.T, dir string, p Place) {
	t.Helper()
	err := WriteCheckpoint(dir, p.Seq, Options{}, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, p.Seq, p.Chain, p.Time, p.Digest)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestBackupOntoOwnHistory backs up onto a copy that is no longer part of the log's
// history. The backup must be rejected before anything in the copy is changed.
func TestBackupOntoOwnHistory(t *testing.T) {
	const shared = 120 // last commit when the copy was made
	own := fmt.Sprintf("commits of its own after global_seq %d:", shared)
	last := func(t *testing.T, dir string) string {
		list, _ := listSeqs(OS{}, segmentsPath(dir), segmentExt)
		return segPath(t, dir, len(list)-1)
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, out string) // changes the copy
		more int                            // frames that the log gets after that
		want string
	}{
		{"as long as the log", func(t *testing.T, out string) {
			started(t, out, func(w *Writer) { ownFrame(t, w) })
		}, 1, own},
		{"shorter than the log", func(t *testing.T, out string) {
			started(t, out, func(w *Writer) { ownFrame(t, w) })
		}, 40, own},
		{"longer than the log", func(t *testing.T, out string) {
			started(t, out, func(w *Writer) { ownFrame(t, w) })
		}, 0, "no longer the same log"},
		{"killed", func(t *testing.T, out string) {
			w := mustOpen(t, out, small())
			ownFrame(t, w)
			crash(w)
		}, 2, own},
		{"in later segments", func(t *testing.T, out string) {
			started(t, out, func(w *Writer) {
				for range 40 {
					ownFrame(t, w)
				}
			})
		}, 60, own},
		{"beyond its END", func(t *testing.T, out string) {
			end := filepath.Join(out, endName)
			was, err := os.ReadFile(end)
			if err != nil {
				t.Fatal(err)
			}
			started(t, out, func(w *Writer) { ownFrame(t, w) })
			if err := os.WriteFile(end, was, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0, own},
		{"a torn batch", func(t *testing.T, out string) {
			seg := last(t, out)
			list, _, err := Stat(out, nil)
			if err != nil {
				t.Fatal(err)
			}
			patch(t, seg, list[len(list)-1].Used+frameAlign, flip, 1)
		}, 3, fmt.Sprintf("after global_seq %d, that are not a whole batch:", shared)},
		{"a damaged last batch", func(t *testing.T, out string) {
			list, _, err := Stat(out, nil)
			if err != nil {
				t.Fatal(err)
			}
			patch(t, last(t, out), list[len(list)-1].Used-frameAlign, flip, 1)
		}, 3, fmt.Sprintf("its END says %d: it is damaged", shared)},
		{"in an unfinished copy", func(t *testing.T, out string) {
			started(t, out, func(w *Writer) { ownFrame(t, w) })
			b := &backup{fs: OS{}, out: out}
			if err := b.putEnd([]byte(unfinished)); err != nil {
				t.Fatal(err)
			}
		}, 3, own},
		{"a checkpoint beyond", func(t *testing.T, out string) {
			placed(t, out, Place{Seq: shared + 2})
		}, 3, own},
		{"a checkpoint of another history", func(t *testing.T, out string) {
			placed(t, out, Place{Seq: shared, Chain: 1})
		}, 3, fmt.Sprintf("a checkpoint of its own, after global_seq %d,", shared)},
		{"a checkpoint under the name of another", func(t *testing.T, out string) {
			f, err := mustReader(t, out, small()).Next()
			if err != nil {
				t.Fatal(err)
			}
			placed(t, out, f.Place())
			if err := os.Rename(CheckpointPath(out, f.Last()), CheckpointPath(out, shared)); err != nil {
				t.Fatal(err)
			}
		}, 3, "holds the state after commit 2"},
		{"without segments", func(t *testing.T, out string) {
			if err := os.RemoveAll(segmentsPath(out)); err != nil {
				t.Fatal(err)
			}
		}, 3, "its END says 120"},
		{"only checkpoints", func(t *testing.T, out string) {
			placed(t, out, Place{Seq: 7})
			if err := errors.Join(os.RemoveAll(segmentsPath(out)), os.Remove(filepath.Join(out, endName))); err != nil {
				t.Fatal(err)
			}
		}, 3, "commits of its own after global_seq 0:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, w := longLog(t)
			out := filepath.Join(t.TempDir(), "out")
			if r, err := Backup(dir, out, BackupOptions{Place: placeIn}); err != nil || r.End != shared {
				t.Fatalf("first backup: got %+v, %v; want End %d", r, err, shared)
			}
			c.do(t, out)
			fill(t, w, c.more, 2000)
			before := files(t, out)
			for range 2 { // it stays rejected
				_, err := Backup(dir, out, BackupOptions{Place: placeIn})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want an error with %q", err, c.want)
				}
			}
			if !maps.Equal(before, files(t, out)) {
				t.Error("the copy was changed")
			}
		})
	}
}

// TestBackupOfDamagedLog continues a backup of a log that has since been damaged. The error
// is about the log, not about the copy.
func TestBackupOfDamagedLog(t *testing.T) {
	for name, c := range map[string]struct {
		at     int64
		damage func(b []byte)
		rule   string
	}{
		"a header that the copy has": {segmentHeaderSize, flip, "frame header"},
		"nothing there":              {segmentHeaderSize, func(b []byte) { clear(b) }, "acknowledged frames missing"},
	} {
		dir, _ := longLog(t)
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Backup(dir, out, BackupOptions{}); err != nil {
			t.Fatal(err)
		}
		list, _, err := Stat(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		seg := segPath(t, dir, len(list)-1)
		patch(t, seg, c.at, c.damage, frameHeaderSize)
		before := files(t, out)
		_, err = Backup(dir, out, BackupOptions{})
		if damage := wantRule(t, err, c.rule); damage.File != seg || damage.Offset != c.at {
			t.Errorf("%s: got %v, want damage in %s at offset %d", name, err, seg, c.at)
		}
		if !maps.Equal(before, files(t, out)) {
			t.Errorf("%s: the copy was changed", name)
		}
	}
}

// TestBackupOntoTornMirror backs up onto the directory of a mirror that was killed.
// The mirror's last batch has the same header as in the log, but not its whole body.
func TestBackupOntoTornMirror(t *testing.T) {
	dir, w := longLog(t)
	out, later := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "later")
	_, err := Backup(dir, out, BackupOptions{})
	at := w.LastSeq()
	fill(t, w, 1, 2000)
	if _, more := Backup(dir, later, BackupOptions{}); err != nil || more != nil {
		t.Fatalf("the two backups returned %v and %v", err, more)
	}
	list, _, err := Stat(later, nil)
	if err != nil {
		t.Fatal(err)
	}
	seg := segPath(t, out, len(list)-1)
	if err := os.Rename(segPath(t, later, len(list)-1), seg); err != nil {
		t.Fatal(err)
	}
	patch(t, seg, list[len(list)-1].Used-frameAlign, flip, 1)
	before := files(t, out)
	_, err = Backup(dir, out, BackupOptions{})
	if want := fmt.Sprintf("%s has bytes at offset", seg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("after global_seq %d,", at)) {
		t.Errorf("got %v, want an error with %q, after global_seq %d", err, want, at)
	}
	if !maps.Equal(before, files(t, out)) {
		t.Error("the copy was changed")
	}
}

// TestBackupOntoStartedCopy checks that no backup is made onto a copy while a daemon is
// running on it. After the daemon has stopped without making commits, and a read daemon
// of the copy has made a checkpoint, the next backup continues the copy.
func TestBackupOntoStartedCopy(t *testing.T) {
	dir, w := longLog(t)
	out := filepath.Join(t.TempDir(), "out")
	if _, err := Backup(dir, out, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	running := mustOpen(t, out, small())
	fill(t, w, 3, 2000)
	before := files(t, out)
	if _, err := Backup(dir, out, BackupOptions{Place: placeIn}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), out) {
		t.Errorf("onto a log in use: got %v, want ErrLocked with %s", err, out)
	}
	if !maps.Equal(before, files(t, out)) {
		t.Error("the copy was changed")
	}
	running.Close()
	r := mustReader(t, out, small())
	var place Place
	for f, err := r.Next(); err != ErrEnd; f, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		place = f.Place()
	}
	placed(t, out, place)
	if report, err := Backup(dir, out, BackupOptions{Place: placeIn}); err != nil || !report.Continued || report.End != w.LastSeq() {
		t.Errorf("got %+v, %v; want Continued and End %d", report, err, w.LastSeq())
	}
	if report, err := Verify(out, VerifyOptions{}); err != nil || report.LastSeq != w.LastSeq() {
		t.Errorf("Verify of the copy: got %+v, %v; want LastSeq %d", report, err, w.LastSeq())
	}
}

// TestRestoredIsBackedUpAgain restores a log from a backup, and backs it up into the
// same backup after it has continued. It can't be backed up into a newer backup of the
// original log, because that backup has other commits.
func TestRestoredIsBackedUpAgain(t *testing.T) {
	dir, w := longLog(t)
	at := t.TempDir()
	older, newer, restored := filepath.Join(at, "older"), filepath.Join(at, "newer"), filepath.Join(at, "restored")
	backUp := func(from, to string) error { _, err := Backup(from, to, BackupOptions{}); return err }
	err := backUp(dir, older)
	fill(t, w, 5, 2000)
	if err = errors.Join(err, backUp(dir, newer), backUp(older, restored)); err != nil {
		t.Fatal(err)
	}
	started(t, restored, func(w *Writer) {
		for range 10 {
			ownFrame(t, w)
		}
	})
	if err := backUp(restored, older); err != nil {
		t.Error(err)
	}
	before := files(t, newer)
	if err := backUp(restored, newer); err == nil || !strings.Contains(err.Error(), "after global_seq 120:") {
		t.Errorf("got %v, want an error with \"after global_seq 120:\"", err)
	}
	if !maps.Equal(before, files(t, newer)) {
		t.Error("the newer backup was changed")
	}
}

// TestArchiveAmongAnotherHistory tries to archive a copy, which has continued on its own,
// to the archive of its original. A segment that both have, with different commits, is
// not moved.
func TestArchiveAmongAnotherHistory(t *testing.T) {
	dir, w := longLog(t)
	out, archive := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "archive")
	if _, err := Backup(dir, out, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	started(t, out, func(w *Writer) {
		for range 40 {
			ownFrame(t, w)
		}
	})
	fill(t, w, 40, 2000)
	if _, err := Archive(dir, archive, w.LastSeq(), nil); err != nil {
		t.Fatal(err)
	}
	before := files(t, archive)
	report, err := Archive(out, archive, w.LastSeq(), nil)
	var damaged *CorruptError
	if err == nil || !strings.Contains(err.Error(), "another history of this log") || errors.As(err, &damaged) {
		t.Errorf("got %+v, %v; want an error about another history, and no CorruptError", report, err)
	}
	if !maps.Equal(before, files(t, archive)) {
		t.Error("the archive was changed")
	}
	if list, err := readSegments(OS{}, out); err != nil || list[0].head.First > 120 {
		t.Errorf("the copy has lost commits of its own: %+v, %v", list, err)
	}
}
