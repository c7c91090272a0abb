package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// longLog returns the directory of a log of several segments, and its open
// writer.
func longLog(t *testing.T) (string, *Writer) {
	t.Helper()
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 60, 2000)
	return dir, w
}

func checkpointAt(t *testing.T, dir string, seq uint64) {
	t.Helper()
	err := WriteCheckpoint(dir, seq, Options{}, func(w io.Writer) error { _, err := fmt.Fprintf(w, "state %d", seq); return err })
	if err != nil {
		t.Fatal(err)
	}
}

func TestCheckpointFiles(t *testing.T) {
	dir, _ := longLog(t)
	claim, err := ClaimCheckpoints(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ClaimCheckpoints(dir, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("second ClaimCheckpoints: got %v, want ErrLocked", err)
	}
	for _, seq := range []uint64{10, 20, 30} {
		checkpointAt(t, dir, seq)
	}
	failed := errors.New("no")
	for _, late := range []bool{false, true} {
		err := WriteCheckpoint(dir, 40, Options{}, func(w io.Writer) error {
			if late {
				w.Write([]byte("half"))
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Errorf("got %v, want %v", err, failed)
		}
	}
	seqs, err := ListCheckpoints(dir, Options{})
	if err != nil || !slices.Equal(seqs, []uint64{20, 30}) {
		t.Errorf("checkpoints %v, %v; want 20 and 30", seqs, err)
	}
	names, _ := (OS{}).List(join(dir, ckptDir))
	if slices.Contains(names, spareName) {
		t.Error("a temporary file was left behind")
	}
	f, err := OpenCheckpoint(dir, 30, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); err != nil || string(b) != "state 30" {
		t.Errorf("read %q, %v; want \"state 30\"", b, err)
	}
	claim.Close()
	again, err := ClaimCheckpoints(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestSeekAfter(t *testing.T) {
	dir, w := longLog(t)
	r := mustReader(t, dir, small())
	var places []Place
	for {
		f, err := r.Next()
		if err == ErrEnd {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, f.Place())
	}
	for i, p := range places { // includes the last frame of each segment
		s := mustReader(t, dir, small())
		if err := s.SeekAfter(p); err != nil {
			t.Fatalf("SeekAfter(%d): %v", p.Seq, err)
		}
		f, err := s.Next()
		if i == len(places)-1 {
			if err != ErrEnd {
				t.Errorf("Next after the last frame: got %v, want ErrEnd", err)
			}
		} else if err != nil || f.First != p.Seq+1 {
			t.Errorf("Next after commit %d: got %v, %v; want the frame of commit %d", p.Seq, f, err, p.Seq+1)
		}
		for name, change := range map[string]func(p *Place){
			"chain": func(p *Place) { p.Chain++ }, "time": func(p *Place) { p.Time++ },
			"digest": func(p *Place) { p.Digest++ }, "seq": func(p *Place) { p.Seq-- },
		} {
			q := p
			change(&q)
			var mismatch *MismatchError
			if err := s.SeekAfter(q); !errors.As(err, &mismatch) {
				t.Errorf("SeekAfter with another %s at %d: got %v, want a MismatchError", name, p.Seq, err)
			}
		}
	}
	if err := r.SeekAfter(Place{Seq: w.LastSeq() + 1}); !errors.Is(err, ErrBeyond) {
		t.Errorf("SeekAfter beyond the end: got %v, want ErrBeyond", err)
	}
}

func TestBackupContinues(t *testing.T) {
	dir, w := longLog(t)
	out := filepath.Join(t.TempDir(), "out")
	checkpointAt(t, dir, 50)
	first, err := Backup(dir, out, BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first.End != w.LastSeq() || first.Continued || first.Copied != first.Segments || first.Checkpoints != 1 {
		t.Errorf("first backup: got %+v; want End %d, every segment and one checkpoint copied", first, w.LastSeq())
	}
	fill(t, w, 40, 2000)
	second, err := Backup(dir, out, BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !second.Continued || second.Copied != second.Segments-first.Segments+1 || second.End != w.LastSeq() || second.Checkpoints != 0 {
		t.Errorf("second backup: got %+v; want End %d, %d segments and no checkpoint copied", second, w.LastSeq(), second.Segments-first.Segments+1)
	}
	if third, err := Backup(dir, out, BackupOptions{}); err != nil || third.Copied != 0 || third.Bytes != 0 || third.Segments != second.Segments {
		t.Errorf("with nothing new: got %+v, %v; want nothing copied", third, err)
	}
	if got := readAll(t, mustReader(t, out, small())); got != w.LastSeq() {
		t.Errorf("the copy ends at %d, the log at %d", got, w.LastSeq())
	}
	copied := mustOpen(t, out, small())
	fill(t, copied, 3, 100)
	if _, err := Backup(dir, out, BackupOptions{}); !errors.Is(err, ErrLocked) {
		t.Errorf("onto a log in use: got %v, want ErrLocked", err)
	}
	copied.Close()
	if _, err := Backup(dir, out, BackupOptions{}); err == nil || !strings.Contains(err.Error(), "no longer the same log") {
		t.Errorf("onto a copy that continued on its own: got %v, want \"no longer the same log\"", err)
	}
	o := small()
	o.Rand = bytes.NewReader([]byte("another log id.."))
	other := mustOpen(t, filepath.Join(t.TempDir(), "other"), o)
	fill(t, other, 1, 10)
	if _, err := Backup(other.dir, out, BackupOptions{}); err == nil || !strings.Contains(err.Error(), "a log other than") {
		t.Errorf("backup of another log: got %v, want \"a log other than\"", err)
	}
}

// TestBackupIsNeverHalf interrupts a backup at each operation in the directory of the
// copy. A new copy is then either rejected or a complete log. An earlier copy that was
// being continued is still a complete log.
func TestBackupIsNeverHalf(t *testing.T) {
	dir, w := longLog(t)
	checkpointAt(t, dir, 50)
	for _, continued := range []bool{false, true} {
		whole := filepath.Join(t.TempDir(), "whole")
		if continued {
			if _, err := Backup(dir, whole, BackupOptions{}); err != nil {
				t.Fatal(err)
			}
			fill(t, w, 40, 2000)
		}
		for n := 0; ; n++ {
			out := filepath.Join(t.TempDir(), "out")
			if continued {
				out = copyDir(t, whole)
			}
			stop := errors.New("stopped")
			fsys := &faultFS{FS: noSync{}}
			fsys.setFail(func(i int, op, name string) error {
				if i >= n && strings.HasPrefix(name, out) {
					return stop
				}
				return nil
			})
			_, err := Backup(dir, out, BackupOptions{FS: fsys})
			if err == nil {
				if n < 20 {
					t.Errorf("only %d steps, want at least 20", n)
				}
				break
			}
			if !errors.Is(err, stop) {
				t.Fatalf("step %d: got %v, want %v", n, err, stop)
			}
			report, err := Verify(out, VerifyOptions{})
			if continued && err != nil || !continued && err == nil && report.End != w.LastSeq() {
				t.Fatalf("step %d, continued %v: Verify of what is left: %+v, %v", n, continued, report, err)
			}
			if _, err := Backup(dir, out, BackupOptions{FS: noSync{}}); err != nil {
				t.Fatalf("step %d: the next backup failed: %v", n, err)
			}
		}
	}
}

// TestBackupWithoutEnd backs up a stopped log whose END is missing or garbled. The copy
// has all frames. A log that is itself an unfinished backup is rejected.
func TestBackupWithoutEnd(t *testing.T) {
	for name, change := range map[string]func(end string) error{
		"with a garbled durable end": func(end string) error {
			patch(t, end, endDurableAt, func(b []byte) { b[0] = 50 }, 1)
			return nil
		},
		"garbled": func(end string) error { patch(t, end, 0, flip, 1); return nil },
		"empty":   func(end string) error { return os.Truncate(end, 0) },
		"missing": os.Remove,
	} {
		dir, w := longLog(t)
		w.Close()
		out := filepath.Join(t.TempDir(), "out")
		if err := change(filepath.Join(dir, endName)); err != nil {
			t.Fatal(err)
		}
		if report, err := Backup(dir, out, BackupOptions{}); err != nil || report.End != w.LastSeq() {
			t.Errorf("END %s: got %+v, %v; want End %d", name, report, err, w.LastSeq())
			continue
		}
		if got := readAll(t, mustReader(t, out, small())); got != w.LastSeq() {
			t.Errorf("END %s: the copy ends at %d, the log at %d", name, got, w.LastSeq())
		}
	}
	dir, w := longLog(t)
	w.Close()
	patch(t, filepath.Join(dir, endName), 0, func(b []byte) { copy(b, unfinished) }, pageSize)
	_, err := Backup(dir, filepath.Join(t.TempDir(), "out"), BackupOptions{})
	wantRule(t, err, "unfinished backup")
}

func TestBackupCheckFails(t *testing.T) {
	dir, _ := longLog(t)
	out := filepath.Join(t.TempDir(), "out")
	bad := errors.New("bad digest")
	if _, err := Backup(dir, out, BackupOptions{Check: func() error { return bad }}); !errors.Is(err, bad) {
		t.Errorf("got %v, want %v", err, bad)
	}
	_, err := Open(out, small())
	wantRule(t, err, "unfinished backup")
}

func TestSalvage(t *testing.T) {
	dir, w := longLog(t)
	last := w.LastSeq()
	w.Close()
	patch(t, segPath(t, dir, 0), segmentHeaderSize+100, flip, 1) // the first frame, which holds commits 1 and 2
	patch(t, segPath(t, dir, 1), 50, flip, 1)                    // in a segment header
	var got []uint64
	if err := Salvage(dir, 4, Options{}, func(f *Frame) error { got = append(got, f.First, f.Last()); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || got[0] != 5 || got[len(got)-1] != last || uint64(len(got)) != last-4 {
		t.Errorf("found %v, want 5 to %d", got, last)
	}
}

// TestBesideArchive archives segments during a backup, a Stat and a Verify of
// the same log.
func TestBesideArchive(t *testing.T) {
	setUp := func(t *testing.T) (dir string, archive func(), first uint64, last uint64) {
		dir, w := longLog(t)
		firsts, _ := listSeqs(OS{}, segmentsPath(dir), segmentExt)
		below, to, done := firsts[len(firsts)-2], filepath.Join(t.TempDir(), "to"), false
		checkpointAt(t, dir, below)
		checkpointAt(t, dir, w.LastSeq())
		return dir, func() {
			if done {
				return
			}
			done = true
			if r, err := Archive(dir, to, below, nil); err != nil || len(r.Moved) < 2 {
				t.Errorf("archive: got %+v, %v; want at least two segments moved", r, err)
			}
		}, below, w.LastSeq()
	}
	// The function when returns a filesystem that calls the function do at the n-th
	// opening of a segment of dir.
	when := func(dir string, n int, do func()) FS {
		f := &faultFS{FS: OS{}}
		f.fail = func(_ int, op, name string) error {
			if op == "open" && filepath.Dir(name) == segmentsPath(dir) {
				if n--; n == 0 {
					do()
				}
			}
			return nil
		}
		return f
	}
	t.Run("backup", func(t *testing.T) {
		for n := range 12 {
			dir, archive, first, last := setUp(t)
			out := filepath.Join(t.TempDir(), "out")
			if r, err := Backup(dir, out, BackupOptions{FS: when(dir, n+1, archive)}); err != nil || r.End != last {
				t.Fatalf("archived at opening %d: got %+v, %v; want End %d", n+1, r, err, last)
			}
			if r, err := Verify(out, VerifyOptions{}); err != nil || r.LastSeq != last {
				t.Fatalf("archived at opening %d: Verify of the copy: got %+v, %v; want LastSeq %d", n+1, r, err, last)
			}
			r := mustReader(t, out, small())
			if err := r.Seek(first); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("stat", func(t *testing.T) {
		for n := range 8 {
			dir, archive, _, last := setUp(t)
			list, _, err := Stat(dir, when(dir, n+1, archive))
			if err != nil || list[len(list)-1].Last != last {
				t.Fatalf("archived at opening %d: got %+v, %v; want Last %d", n+1, list, err, last)
			}
		}
	})
	t.Run("verify", func(t *testing.T) {
		dir, archive, _, _ := setUp(t)
		_, err := Verify(dir, VerifyOptions{OnFrame: func(*FrameInfo) error { archive(); return nil }})
		if !errors.Is(err, ErrArchiving) {
			t.Errorf("got %v, want ErrArchiving", err)
		}
	})
}
