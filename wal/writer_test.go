package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAppendReopenRead(t *testing.T) {
	dir := t.TempDir()
	want := uint64(0)
	for round := range 4 {
		w := mustOpen(t, dir, small())
		if w.LastSeq() != want {
			t.Fatalf("round %d: the log ends at %d, want %d", round, w.LastSeq(), want)
		}
		if want > 0 && (w.LastDigest() != testFrame(want-1, 1, 1).Digest || w.LastTime() == 0) {
			t.Fatalf("round %d: digest %x, want %x; time %d, want more than 0", round, w.LastDigest(), testFrame(want-1, 1, 1).Digest, w.LastTime())
		}
		fill(t, w, 20, 2000) // at least one rotation per round
		want = w.LastSeq()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(testFrame(want+1, 1, 1)); err != ErrClosed {
			t.Errorf("Append after Close: got %v, want ErrClosed", err)
		}
	}
	if got := readAll(t, mustReader(t, dir, Options{})); got != want {
		t.Fatalf("read up to %d, want %d", got, want)
	}
	if names, _ := (OS{}).List(segmentsPath(dir)); strings.Contains(strings.Join(names, " "), spareName) {
		t.Error("Close did not remove the spare")
	}
}

func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	w := mustOpen(t, dir, small())
	fill(t, w, 1, 1)
	g, err := Register(dir, "r1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := fs.FileMode(fileMode); !d.IsDir() && st.Mode().Perm() != want || d.IsDir() && st.Mode().Perm() != dirMode {
			t.Errorf("%s: got mode %v, want %o for a file, %o for a directory", path, st.Mode(), fileMode, dirMode)
		}
		return nil
	})
}

func TestAppendKeepsTheTimeOfAFrame(t *testing.T) {
	o := small()
	o.Now = func() int64 { return 9000 }
	w := mustOpen(t, t.TempDir(), o)
	for i, at := range []int64{5000, 5000, 7000} {
		f := testFrame(w.LastSeq()+1, 1, 1)
		f.Time = at
		if err := w.Append(f); err != nil || f.Time != at || w.LastTime() != at {
			t.Fatalf("frame %d: got time %d, %v; want %d", i, f.Time, err, at)
		}
	}
	f := testFrame(w.LastSeq()+1, 1, 1)
	f.Time = 6999
	if err := w.Append(f); err == nil || errors.Is(err, ErrFailed) {
		t.Fatalf("a frame older than the last one: got %v, want an error other than ErrFailed", err)
	}
	if err := w.Append(testFrame(w.LastSeq()+1, 1, 1)); err != nil || w.LastTime() != 9000 {
		t.Fatalf("a frame without a time: LastTime is %d, %v; want 9000", w.LastTime(), err)
	}
}

func TestCommitTimeNeverGoesBack(t *testing.T) {
	now := int64(5000)
	o := small()
	o.Now = func() int64 { return now }
	w := mustOpen(t, t.TempDir(), o)
	fill(t, w, 1, 1)
	now = 4000
	f := testFrame(3, 1, 1)
	if err := w.Append(f); err != nil || f.Time != 5000 {
		t.Fatalf("after the clock went back: time %d, %v; want 5000", f.Time, err)
	}
	for range 20 { // includes a rotation
		fill(t, w, 1, 2000)
	}
	if w.LastTime() != 5000 || w.seg.head.Ordinal == 0 {
		t.Fatalf("time %d, want 5000, in segment %d, want a later one than 0", w.LastTime(), w.seg.head.Ordinal)
	}
}

func TestAppendRefuses(t *testing.T) {
	w := mustOpen(t, t.TempDir(), small())
	fill(t, w, 1, 10)
	for name, f := range map[string]*Frame{
		"gap":         testFrame(4, 1, 1),
		"repetition":  testFrame(1, 2, 1),
		"no records":  {First: 3},
		"count":       {First: 3, Count: 2, Body: testBody(3, 1, 5)},
		"cut body":    {First: 3, Count: 1, Body: []byte{9, 0, 0, 0, 1}},
		"bytes after": {First: 3, Count: 1, Body: append(testBody(3, 1, 5), 0)},
		"too long":    {First: 3, Count: 1, Body: testBody(3, 1, w.MaxBody()-recordPrefix+1)},
	} {
		if err := w.Append(f); err == nil || errors.Is(err, ErrFailed) {
			t.Errorf("%s: got %v, want an error other than ErrFailed", name, err)
		}
	}
	if err := w.Append(testFrame(3, 1, w.MaxBody()-recordPrefix)); err != nil {
		t.Fatalf("the largest body: %v", err)
	}
}

func TestTwoWriters(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	if _, err := Open(dir, small()); !errors.Is(err, ErrLocked) {
		t.Fatalf("second writer: got %v, want ErrLocked", err)
	}
	w.Close()
	mustOpen(t, dir, small())
}

// TestLockRemoved removes the files that tell a second writer about the first. People
// do that when they mistake LOCK for a leftover from a crash. The two writers must never
// both acknowledge commits.
func TestLockRemoved(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 3, 100)
	if err := os.Remove(join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), endName) {
		t.Errorf("second writer without LOCK: got %v, want ErrLocked", err)
	}
	if _, err := Repair(dir, RepairOptions{FS: noSync{}, Accept: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("repair without LOCK: got %v, want ErrLocked", err)
	}
	if r, err := Verify(dir, VerifyOptions{}); err != nil || !r.Live {
		t.Errorf("verify without LOCK: got %+v, %v; want Live", r, err)
	}
	fill(t, w, 1, 100)
	for _, name := range []string{lockName, endName} {
		if err := os.Remove(join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	second := mustOpen(t, dir, small())
	fill(t, second, 1, 100)
	if err := w.SyncEnd(); !errors.Is(err, ErrFailed) || !errors.Is(err, errOtherWriter) {
		t.Errorf("SyncEnd of the first writer, without LOCK and END: got %v, want errOtherWriter", err)
	}
	if err := w.Append(testFrame(w.LastSeq()+1, 1, 1)); err == nil {
		t.Error("the first writer still appends")
	}
}

// TestEpochChanges changes the epoch in END, as another writer does when it opens the
// log: between two appends, and between the sync of a frame and its acknowledgement.
func TestEpochChanges(t *testing.T) {
	for _, when := range []string{"before the write", "after the sync"} {
		dir := t.TempDir()
		o := small()
		bump := func(b []byte) { b[0]++ }
		armed := false
		o.OnSync = func(time.Duration) {
			if armed {
				patch(t, join(dir, endName), endEpochAt, bump, 1)
			}
		}
		w := mustOpen(t, dir, o)
		fill(t, w, 1, 100)
		before := snapshot(t, dir)
		if armed = when == "after the sync"; !armed {
			patch(t, join(dir, endName), endEpochAt, bump, 1)
			before = snapshot(t, dir)
		}
		end := w.LastSeq()
		if err := w.Append(testFrame(end+1, 1, 1)); !errors.Is(err, ErrFailed) || !errors.Is(err, errOtherWriter) {
			t.Errorf("%s: got %v, want errOtherWriter", when, err)
		}
		if durable, _ := load(w.end.Bytes(), endDurableAt); durable != end {
			t.Errorf("%s: END was moved to %d, want %d", when, durable, end)
		}
		if !armed && snapshot(t, dir) != before {
			t.Errorf("%s: the append has changed the log", when)
		}
	}
}
