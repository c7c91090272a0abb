package wal

import (
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

var errBroken = syscall.EIO

// TestSyncFailureIsFinal makes one write or sync of a frame fail. The next one would
// succeed, but the writer must not continue.
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
				t.Fatalf("%s, attempt %d: got %v, want ErrFailed; the log ends at %d, want 6", op, i, err, w.LastSeq())
			}
		}
		if !errors.Is(w.Room(), ErrFailed) || !errors.Is(w.Err(), ErrFailed) {
			t.Errorf("%s: Room returns %v, Err %v; want ErrFailed", op, w.Room(), w.Err())
		}
		if got := readAll(t, mustReader(t, dir, o)); got != 6 {
			t.Errorf("%s: a reader sees commits up to %d, want 6", op, got)
		}
		w.Close()
		// The outcome was unknown. Now it is decided, and a torn frame is gone.
		again := mustOpen(t, dir, small())
		if got := again.LastSeq(); got != 8 && op == "sync" || got != 6 && op == "write" {
			t.Errorf("%s: after opening again, the last commit is %d; want 8 after a failed sync, 6 after a failed write", op, got)
		}
	}
}

// TestNoSpace leaves no space on the disk for new files.
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
		t.Fatalf("append on a full disk: got %v after commit %d, want ErrNoSpace", err, last)
	}
	if err := w.Room(); !errors.Is(err, ErrNoSpace) {
		t.Errorf("Room on a full disk: got %v, want ErrNoSpace", err)
	}
	if w.seg.off != used || w.seg.sealed {
		t.Error("a rejected append has written to the segment")
	}
	f.setFail(nil)
	if err := w.Room(); err != nil {
		t.Errorf("Room after space was freed: %v", err)
	}
	fill(t, w, 30, 2000)
	w.Close()
	if got := readAll(t, mustReader(t, dir, o)); got != last+60 {
		t.Errorf("read up to %d, want %d", got, last+60)
	}
}

// TestRoomKeepsItsPromise checks that after Room returns nil, two batches of
// any size fit, even if no spare segment can be created from then on.
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
				t.Fatalf("got %v, want ErrNoSpace or nil", room)
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
					t.Fatalf("body of %d bytes, batch %d: Room returned nil, but then Append returned %v", first, j, err)
				}
			}
			f.setFail(nil)
		}
		w.Close()
	}
}

// TestShellResumesAfterFullDisk checks that the background goroutines create a spare
// once a full disk has space again.
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
		t.Fatalf("Room on a full disk: got %v, want ErrNoSpace", err)
	}
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	full.Store(false)
	for deadline := time.Now().Add(30 * time.Second); w.Room() != nil; {
		if time.Now().After(deadline) {
			t.Fatal("Room still returns an error 30 s after space was freed")
		}
	}
	fill(t, w, 30, 2000)
}
