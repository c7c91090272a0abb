package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestAppendReopenRead(t *testing.T) {
	dir := t.TempDir()
	want := uint64(0)
	for round := range 4 {
		w := mustOpen(t, dir, small())
		if w.LastSeq() != want {
			t.Fatalf("round %d: last is %d, want %d", round, w.LastSeq(), want)
		}
		if want > 0 && (w.LastDigest() != testFrame(want-1, 1, 1).Digest || w.LastTime() == 0) {
			t.Fatalf("round %d: digest %x, time %d", round, w.LastDigest(), w.LastTime())
		}
		fill(t, w, 20, 2000) // a cut each round
		want = w.LastSeq()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := w.Append(testFrame(want+1, 1, 1)); err != ErrClosed {
			t.Errorf("Append after Close: %v", err)
		}
	}
	if got := readAll(t, mustReader(t, dir, Options{})); got != want {
		t.Fatalf("read up to %d, want %d", got, want)
	}
	if names, _ := (OS{}).List(segmentsPath(dir)); strings.Contains(strings.Join(names, " "), spareName) {
		t.Error("the spare is left after Close")
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
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if want := fs.FileMode(fileMode); !d.IsDir() && st.Mode().Perm() != want || d.IsDir() && st.Mode().Perm() != dirMode {
			t.Errorf("%s: mode %v", path, st.Mode())
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
			t.Fatalf("frame %d: time %d, %v; want %d", i, f.Time, err, at)
		}
	}
	f := testFrame(w.LastSeq()+1, 1, 1)
	f.Time = 6999
	if err := w.Append(f); err == nil || errors.Is(err, ErrFailed) {
		t.Fatalf("a frame older than the last one: %v", err)
	}
	if err := w.Append(testFrame(w.LastSeq()+1, 1, 1)); err != nil || w.LastTime() != 9000 {
		t.Fatalf("a frame without a time: %d, %v", w.LastTime(), err)
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
		t.Fatalf("time %d, %v", f.Time, err)
	}
	for range 20 { // also across a cut
		fill(t, w, 1, 2000)
	}
	if w.LastTime() != 5000 || w.seg.head.Ordinal == 0 {
		t.Fatalf("time %d in segment %d", w.LastTime(), w.seg.head.Ordinal)
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
			t.Errorf("%s: got %v", name, err)
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
		t.Fatalf("second writer: %v", err)
	}
	w.Close()
	mustOpen(t, dir, small())
}

// TestLockRemoved removes what tells a second writer of the first, as people
// do when they take LOCK for something that a crash has left. Never may both
// acknowledge.
func TestLockRemoved(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 3, 100)
	if err := os.Remove(join(dir, lockName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, small()); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), endName) {
		t.Errorf("second writer without LOCK: %v", err)
	}
	if _, err := Repair(dir, RepairOptions{FS: noSync{}, Accept: true}); !errors.Is(err, ErrLocked) {
		t.Errorf("repair without LOCK: %v", err)
	}
	if r, err := Verify(dir, VerifyOptions{}); err != nil || !r.Live {
		t.Errorf("verify without LOCK: %+v, %v", r, err)
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
		t.Errorf("the first writer, without LOCK and END: %v", err)
	}
	if err := w.Append(testFrame(w.LastSeq()+1, 1, 1)); err == nil {
		t.Error("the first writer goes on")
	}
}

// TestEpochChanges lets another writer open the log between two appends, and
// between the sync of a frame and its acknowledgement.
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
			t.Errorf("%s: %v", when, err)
		}
		if durable, _ := load(w.end.Bytes(), endDurableAt); durable != end {
			t.Errorf("%s: END was moved to %d", when, durable)
		}
		if !armed && snapshot(t, dir) != before {
			t.Errorf("%s: something was written", when)
		}
	}
}

var errBroken = syscall.EIO

// TestSyncFailureIsFinal fails one sync of a frame; the next would work.
func TestSyncFailureIsFinal(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		dir := t.TempDir()
		o := small()
		f := &faultFS{FS: OS{}}
		o.FS = f
		w := mustOpen(t, dir, o)
		fill(t, w, 3, 100)
		var fired atomic.Int32
		f.setFail(func(_ int, did, name string) error {
			if did == op && strings.HasSuffix(name, spareName) == false && fired.Add(1) == 1 {
				return errBroken
			}
			return nil
		})
		for i := range 3 {
			err := w.Append(testFrame(7, 2, 100))
			if !errors.Is(err, ErrFailed) || !errors.Is(err, errBroken) || w.LastSeq() != 6 {
				t.Fatalf("%s, try %d: %v, last %d", op, i, err, w.LastSeq())
			}
		}
		if !errors.Is(w.Room(), ErrFailed) || !errors.Is(w.Err(), ErrFailed) {
			t.Errorf("%s: Room %v, Err %v", op, w.Room(), w.Err())
		}
		if got := readAll(t, mustReader(t, dir, o)); got != 6 {
			t.Errorf("%s: a reader sees %d", op, got)
		}
		w.Close()
		// The outcome was unknown; now it is decided. A torn one is gone.
		again := mustOpen(t, dir, small())
		if got := again.LastSeq(); got != 8 && op == "sync" || got != 6 && op == "write" {
			t.Errorf("%s: after opening again the last is %d", op, got)
		}
	}
}

// TestNoSpace fills the disk for all new files.
func TestNoSpace(t *testing.T) {
	o := small()
	f := &faultFS{FS: OS{}}
	o.FS = f
	dir := t.TempDir()
	w := mustOpen(t, dir, o)
	full := func(_ int, op, name string) error {
		if op == "write" && strings.HasSuffix(name, spareName) {
			return syscall.ENOSPC
		}
		return nil
	}
	f.setFail(full)
	var err error
	for err == nil {
		err = w.Append(testFrame(w.LastSeq()+1, 2, 2000))
	}
	last, used := w.LastSeq(), w.seg.off
	if !errors.Is(err, ErrNoSpace) || errors.Is(err, ErrFailed) || last == 0 {
		t.Fatalf("got %v after %d", err, last)
	}
	if err := w.Room(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Room: %v", err)
	}
	if w.seg.off != used || w.seg.sealed {
		t.Error("something was written")
	}
	f.setFail(nil)
	if err := w.Room(); err != nil {
		t.Errorf("Room when there is space again: %v", err)
	}
	fill(t, w, 30, 2000)
	w.Close()
	if got := readAll(t, mustReader(t, dir, o)); got != last+60 {
		t.Errorf("read up to %d, want %d", got, last+60)
	}
}

// TestRoomKeepsItsPromise: whenever Room is nil, two batches of any size fit,
// though no spare can be made from that moment on.
func TestRoomKeepsItsPromise(t *testing.T) {
	for first := 100; first < maxBody(minSegment); first += 3001 {
		o := small()
		f := &faultFS{FS: OS{}}
		o.FS = f
		w := mustOpen(t, t.TempDir(), o)
		for i := range 12 {
			if i%3 == 2 {
				f.setFail(func(_ int, op, name string) error {
					if op == "create" {
						return syscall.ENOSPC
					}
					return nil
				})
			}
			room := w.Room()
			if room != nil && !errors.Is(room, ErrNoSpace) {
				t.Fatal(room)
			}
			for j := range 2 {
				size := first
				if j == 1 {
					size = w.MaxBody() - recordPrefix
				}
				f.setFail(func(_ int, op, name string) error {
					if op == "create" {
						return syscall.ENOSPC
					}
					return nil
				})
				if err := w.Append(testFrame(w.LastSeq()+1, 1, size)); room == nil && err != nil {
					t.Fatalf("body %d, batch %d: Room was nil, but %v", first, j, err)
				}
			}
			f.setFail(nil)
		}
		w.Close()
	}
}

// TestShellResumesAfterFullDisk does it with the goroutines.
func TestShellResumesAfterFullDisk(t *testing.T) {
	f := &faultFS{FS: OS{}}
	var full atomic.Bool
	full.Store(true)
	f.setFail(func(_ int, op, name string) error {
		if full.Load() && op == "create" && strings.HasSuffix(name, spareName) {
			return syscall.ENOSPC
		}
		return nil
	})
	dir := t.TempDir()
	full.Store(false)
	w := mustOpen(t, dir, Options{SegmentSize: minSegment, FS: f, spareRetry: time.Millisecond})
	fill(t, w, 3, 2000)
	if err := w.Room(); err != nil {
		t.Fatal(err)
	}
	full.Store(true)
	for w.Append(testFrame(w.LastSeq()+1, 2, 2000)) == nil {
	}
	if err := w.Room(); !errors.Is(err, ErrNoSpace) {
		t.Fatalf("Room on a full disk: %v", err)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	full.Store(false)
	for deadline := time.Now().Add(30 * time.Second); w.Room() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("service does not resume")
		}
	}
	fill(t, w, 30, 2000)
}

// TestCrashAtEveryOperation kills the process, as it were, at its n-th
// operation on the filesystem, n = 0, 1, 2 … until none is left: the n-th
// write lands half, and nothing happens after it.
func TestCrashAtEveryOperation(t *testing.T) {
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "log")
		var fired bool
		f := &faultFS{FS: noSync{}, fail: func(i int, op, name string) error {
			if i >= n && op != "remove" {
				fired = true
				return errBroken
			}
			return nil
		}}
		o := small()
		o.FS = f
		acked := scenario(dir, o)
		w, err := Open(dir, small())
		if err != nil {
			t.Fatalf("crash at operation %d (%s): %v", n, f.log[n], err)
		}
		if w.LastSeq() < acked || w.LastSeq() > acked+2 {
			t.Fatalf("crash at operation %d (%s): last is %d, acknowledged %d", n, f.log[n], w.LastSeq(), acked)
		}
		if err := w.Append(testFrame(w.LastSeq()+1, 2, 2000)); err != nil {
			t.Fatalf("crash at operation %d (%s): %v", n, f.log[n], err)
		}
		want := w.LastSeq()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		r := mustReader(t, dir, small())
		if got := readAll(t, r); got != want {
			t.Fatalf("crash at operation %d: read up to %d, want %d", n, got, want)
		}
		r.Close()
		if v, err := Verify(dir, VerifyOptions{}); err != nil || v.LastSeq != want || v.Torn != 0 {
			t.Fatalf("crash at operation %d: %+v, %v", n, v, err)
		}
		if !fired {
			t.Logf("%d operations", n)
			if n < 60 {
				t.Fatal("too few operations: the scenario does not cut")
			}
			return
		}
	}
}

// scenario makes a log, fills a segment and a half, opens it again, and gives
// the last sequence that was acknowledged.
func scenario(dir string, o Options) (acked uint64) {
	for range 2 {
		w, err := Open(dir, o)
		if err != nil {
			return acked
		}
		for range 10 {
			if w.Append(testFrame(w.LastSeq()+1, 2, 2000)) != nil {
				break
			}
			acked = w.LastSeq()
		}
		crash(w)
	}
	return acked
}

// TestErrorAtEveryOperation fails the n-th operation alone. The writer must
// stop for good, or go on as if nothing had been.
func TestErrorAtEveryOperation(t *testing.T) {
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "log")
		var fired string
		f := &faultFS{FS: noSync{}, fail: func(i int, op, name string) error {
			if i == n {
				fired = op + " " + filepath.Base(name)
				return errBroken
			}
			return nil
		}}
		o := small()
		o.FS = f
		var acked uint64
		w, err := Open(dir, o)
		if err == nil {
			for range 20 {
				err := w.Append(testFrame(w.LastSeq()+1, 2, 2000))
				switch {
				case err == nil && w.Err() != nil:
					t.Fatalf("%s failed, Append went on", fired)
				case err == nil:
					acked = w.LastSeq()
				case !errors.Is(err, ErrFailed) || !errors.Is(err, errBroken):
					t.Fatalf("%s failed, but Append says %v", fired, err)
				}
			}
			err = errors.Join(w.Err(), w.Close())
		}
		if fired == "" {
			return
		}
		if err == nil && !strings.HasPrefix(fired, "remove") {
			t.Errorf("%s failed, and nobody said so", fired)
		}
		w = mustOpen(t, dir, small())
		if w.LastSeq() < acked || w.LastSeq() > acked+2 {
			t.Fatalf("%s failed: last is %d, acknowledged %d", fired, w.LastSeq(), acked)
		}
		w.Close()
	}
}

// TestHalfMadeLogs opens directories as a crash in the first start leaves them.
func TestHalfMadeLogs(t *testing.T) {
	for name, make := range map[string]func(dir string){
		"empty directory": func(string) {},
		"empty wal":       func(dir string) { os.Mkdir(segmentsPath(dir), 0o700) },
		"half a spare": func(dir string) {
			os.Mkdir(segmentsPath(dir), 0o700)
			writeTestFile(t, join(segmentsPath(dir), spareName), zeroes[:999])
		},
		"END without a byte": func(dir string) { writeTestFile(t, join(dir, endName), nil) },
		"END half long":      func(dir string) { writeTestFile(t, join(dir, endName), zeroes[:100]) },
		"END of zeroes":      func(dir string) { writeTestFile(t, join(dir, endName), zeroes[:4096]) },
		"a segment, no END":  func(dir string) { mustOpen(t, dir, small()).Close(); os.Remove(join(dir, endName)) },
		"a segment, zero END": func(dir string) {
			mustOpen(t, dir, small()).Close()
			writeTestFile(t, join(dir, endName), zeroes[:4096])
		},
	} {
		dir := t.TempDir()
		make(dir)
		if _, err := OpenReader(dir, Options{}); err != ErrNoLog {
			t.Errorf("%s: reader gets %v", name, err)
		}
		w, err := Open(dir, small())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fill(t, w, 2, 10)
		if got := readAll(t, mustReader(t, dir, Options{})); got != 4 {
			t.Errorf("%s: read up to %d", name, got)
		}
		w.Close()
	}
}

// TestSealedWithoutNext: a crash between seal and rename.
func TestSealedWithoutNext(t *testing.T) {
	dir := t.TempDir()
	o := small()
	f := &faultFS{FS: OS{}}
	o.FS = f
	w := mustOpen(t, dir, o)
	fill(t, w, 5, 2000)
	f.setFail(func(_ int, op, _ string) error {
		if op == "rename" {
			return errBroken
		}
		return nil
	})
	for w.Append(testFrame(w.LastSeq()+1, 2, 2000)) == nil {
	}
	last := w.LastSeq()
	crash(w)
	w = mustOpen(t, dir, small())
	if !w.seg.sealed || w.LastSeq() != last {
		t.Fatalf("sealed %v, last %d, want %d", w.seg.sealed, w.LastSeq(), last)
	}
	w.Close()
	w = mustOpen(t, dir, small()) // once more, and nothing was written
	fill(t, w, 3, 2000)
	if got := readAll(t, mustReader(t, dir, Options{})); got != last+6 {
		t.Errorf("read up to %d, want %d", got, last+6)
	}
}
