package wal

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestReaderStartedFirst(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReader(filepath.Join(dir, "none"), Options{}); err != ErrNoLog {
		t.Fatalf("without a directory: got %v, want ErrNoLog", err)
	}
	if _, err := OpenReader(dir, Options{}); err != ErrNoLog {
		t.Fatalf("without a log: got %v, want ErrNoLog", err)
	}
	w := mustOpen(t, dir, small())
	r := mustReader(t, dir, Options{})
	if _, err := r.Next(); err != ErrEnd || r.Durable() != 0 {
		t.Fatalf("empty log: got %v, want ErrEnd and durable end 0", err)
	}
	if err := r.Seek(1); err != nil {
		t.Fatal(err)
	}
	if err := r.Seek(2); !errors.Is(err, ErrBeyond) {
		t.Fatalf("got %v, want ErrBeyond", err)
	}
	fill(t, w, 1, 10)
	if f, err := r.Next(); err != nil || f.First != 1 || r.Durable() != 2 || r.LogID() != w.LogID() {
		t.Fatalf("got %v, %v; want the frame of commit 1", f, err)
	}
}

// TestFollow has several readers follow a live writer at the same time, across
// rotations.
func TestFollow(t *testing.T) {
	const frames = 300
	for name, fsys := range map[string]FS{"mmap": OS{}, "pread": &faultFS{FS: OS{}}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := Options{SegmentSize: minSegment, FS: fsys}
			w := mustOpen(t, dir, o)
			var wg sync.WaitGroup
			errs := make(chan error, 4)
			for range 3 {
				r := mustReader(t, dir, o)
				wg.Go(func() {
					if err := follow(r, 2*frames); err != nil {
						errs <- err
					}
				})
			}
			for i := range frames {
				if err := w.Append(testFrame(w.LastSeq()+1, 2, 500+i*7)); err != nil {
					t.Fatal(err)
				}
			}
			wg.Wait()
			select {
			case err := <-errs:
				t.Fatal(err)
			default:
			}
		})
	}
}

func follow(r *Reader, to uint64) error {
	deadline := time.Now().Add(60 * time.Second)
	var last uint64
	for last < to {
		f, err := r.Next()
		if err == ErrEnd {
			if time.Now().After(deadline) {
				return fmt.Errorf("no frame after commit %d within 60 s", last)
			}
			r.Wait(last, time.Second)
			continue
		}
		if err != nil {
			return err
		}
		if f.First != last+1 || f.Last() > r.Durable() || f.Digest != testFrame(f.First, 1, 1).Digest {
			return fmt.Errorf("wrong frame %d..%d after commit %d, with END at %d", f.First, f.Last(), last, r.Durable())
		}
		last = f.Last()
	}
	return nil
}

func TestNotDurableIsNotShown(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 2, 100)
	r := mustReader(t, dir, Options{})
	readAll(t, r)
	f := testFrame(5, 2, 100)
	f.Time = 1 << 40
	b, _ := appendFrame(nil, f, w.seg.prev, w.seg.salt)
	if _, err := w.seg.file.WriteAt(b, w.seg.off); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err != ErrEnd {
		t.Fatalf("Next before a frame beyond END: got %v, want ErrEnd", err)
	}
	w.durable.Store(6)
	if f, err := r.Next(); err != nil || f.First != 5 {
		t.Fatal(err)
	}
}

func TestSeekEverywhere(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 120, 600)
	last := w.LastSeq()
	for name, fsys := range map[string]FS{"mmap": OS{}, "pread": &faultFS{FS: OS{}}} {
		r := mustReader(t, dir, Options{FS: fsys})
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 600 {
			seq := 1 + rng.Uint64N(last+1)
			if i == 0 {
				seq = last // with an empty index
			}
			if err := r.Seek(seq); err != nil {
				t.Fatal(err)
			}
			f, err := r.Next()
			if seq == last+1 {
				if err != ErrEnd {
					t.Fatalf("%s: Next at the end: got %v, want ErrEnd", name, err)
				}
				continue
			}
			if err != nil || f.First > seq || f.Last() < seq {
				t.Fatalf("%s: Next after Seek(%d): got %v, %v; want the frame of that commit", name, seq, f, err)
			}
			checkFrame(t, f)
			if f, err := r.Next(); f != nil && f.First != seq+2-(seq+1)%2 {
				t.Fatalf("%s: the second frame after Seek(%d) begins at %d, %v", name, seq, f.First, err)
			}
		}
		if err := r.Seek(last + 2); !errors.Is(err, ErrBeyond) {
			t.Errorf("%s: Seek beyond the end: got %v, want ErrBeyond", name, err)
		}
	}
}

func TestSparseIndexIsBounded(t *testing.T) {
	var x sparseIndex
	for seg := uint64(1); seg <= 200; seg++ {
		for i := range int64(1000) {
			x.note(seg, cursor{off: i * indexStride, next: seg + uint64(i)})
		}
	}
	if x.total > indexMax || len(x.places) != len(x.recent) || len(x.places) < 60 {
		t.Errorf("the index has %d places, want at most %d; of %d segments, want at least 60, with %d in recent", x.total, indexMax, len(x.places), len(x.recent))
	}
	if _, ok := x.find(1, 1); ok {
		t.Error("the index still has the oldest segment")
	}
	if c, ok := x.find(200, 203); !ok || c.next != 203 {
		t.Errorf("find(200, 203): got %+v, %v; want commit 203", c, ok)
	}
}

func TestReplaced(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir string){
		"END goes back": func(t *testing.T, dir string) {
			patch(t, join(dir, endName), endDurableAt, func(b []byte) { b[0]-- }, 8)
		},
		"epoch goes back": func(t *testing.T, dir string) {
			patch(t, join(dir, endName), endEpochAt, func(b []byte) { b[0]-- }, 8)
		},
		"another log id": func(t *testing.T, dir string) {
			patch(t, join(dir, endName), 16, flip, 1)
		},
		"directory created again": func(t *testing.T, dir string) {
			os.RemoveAll(segmentsPath(dir))
			os.Remove(join(dir, endName))
			mustOpen(t, dir, Options{SegmentSize: minSegment, Manual: true})
		},
		"directory gone": func(t *testing.T, dir string) { os.RemoveAll(dir) },
	} {
		dir := filepath.Join(t.TempDir(), "log")
		w := mustOpen(t, dir, small())
		fill(t, w, 3, 10)
		r := mustReader(t, dir, Options{})
		readAll(t, r)
		w.Close()
		replace(t, dir)
		var err error
		for range 2 { // Next checks the name of END only if the previous Next returned ErrEnd
			if _, err = r.Next(); err != ErrEnd {
				break
			}
		}
		if !errors.Is(err, ErrReplaced) {
			t.Errorf("%s: got %v, want ErrReplaced", name, err)
		}
	}
}

func TestReaderRefusesDamage(t *testing.T) {
	for name, c := range map[string]struct {
		rule   string
		damage func(d *damage)
	}{
		"body":            {"frame body", func(d *damage) { patch(d.t, d.seg(0), segmentHeaderSize+100, flip, 1) }},
		"header":          {"frame header", func(d *damage) { patch(d.t, d.seg(1), segmentHeaderSize+20, flip, 1) }},
		"padding":         {"frame padding", func(d *damage) { patch(d.t, d.seg(0), segmentHeaderSize+bigFrame-1, flip, 1) }},
		"seal":            {"acknowledged frames missing", func(d *damage) { d.zeroSeal(0) }},
		"segment missing": {ruleGap, func(d *damage) { os.Remove(d.seg(1)) }},
		"segment header":  {ruleHeader, func(d *damage) { patch(d.t, d.seg(2), 50, flip, 1) }},
		"other log": {ruleForeign, func(d *damage) {
			patch(d.t, d.seg(1), 0, func(b []byte) { b[16]++; reseal(b) }, segmentHeaderSize)
		}},
		"chain": {ruleLink, func(d *damage) {
			patch(d.t, d.seg(1), 0, func(b []byte) { b[48]++; reseal(b) }, segmentHeaderSize)
		}},
		"END within a frame": {"END within a frame", func(d *damage) { d.staleEnd(1) }},
	} {
		r := mustReader(t, damaged(t, c.damage), Options{})
		var err error
		for err == nil {
			_, err = r.Next()
		}
		wantRule(t, err, c.rule)
		if _, again := r.Next(); again == nil {
			t.Errorf("%s: the reader continues after damage", name)
		}
	}
}

// TestMapFault truncates a mapped file. The fault must become an error.
func TestMapFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	writeTestFile(t, path, zeroes[:16384])
	v, err := (OS{}).Map(path, 16384)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	b := make([]byte, 100)
	if n, err := v.ReadAt(b, 16334); n != 50 || err != io.EOF {
		t.Errorf("ReadAt across the end: got %d, %v; want 50, EOF", n, err)
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := v.ReadAt(b, 8192); !errors.Is(err, syscall.EIO) {
		t.Errorf("ReadAt beyond the truncated file: got %v, want EIO", err)
	}
	if _, err := v.ReadAt(b, 100); err != nil {
		t.Errorf("ReadAt within the truncated file: %v", err)
	}
	if _, err := (OS{}).Map(path, 8192); err == nil {
		t.Error("a short file is mapped")
	}
}

func TestWait(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, Options{SegmentSize: minSegment})
	r := mustReader(t, dir, Options{})
	r.Wait(0, time.Millisecond) // times out
	if r.Durable() != 0 {
		t.Fatal("Durable changed, but nothing was appended")
	}
	const waiters = 50
	var wg sync.WaitGroup
	var early atomic.Int32
	for i := range uint64(waiters) {
		wg.Go(func() {
			for after := i % 5; r.Durable() <= after; {
				r.Wait(after, time.Minute)
				if r.Durable() <= after {
					early.Add(1)
				}
			}
		})
	}
	for range 6 {
		fill(t, w, 1, 10)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	within(t, done, "the waking of all waiters")
	if early.Load() != 0 {
		t.Errorf("%d calls of Wait returned too early", early.Load())
	}
	last := r.Durable()
	closed := make(chan struct{})
	go func() { r.Wait(last, time.Hour); close(closed) }()
	r.Close()
	within(t, closed, "the end of Wait after Close")
	if r.Durable() != 0 {
		t.Error("Durable after Close is not 0")
	}
	r.Wait(0, time.Hour) // returns at once
	if _, err := r.Next(); err != ErrClosed {
		t.Errorf("Next after Close: got %v, want ErrClosed", err)
	}
}

// TestFirstWait advances END after the first waiter has read it, and before the
// goroutine that watches END runs.
func TestFirstWait(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := mustOpen(t, t.TempDir(), small())
	for range 20 {
		r := mustReader(t, w.dir, Options{})
		if !r.wait.join(r) {
			t.Fatal("join returned false before Close")
		}
		moved := r.wait.channel()
		fill(t, w, 1, 10)
		within(t, moved, "the wakeup of the first waiter")
		r.wait.leave()
		r.Close()
	}
}
