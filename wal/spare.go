package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// The spare is the next segment: a file of the final size, with zeroes that are
// already on disk. So the sync of a frame allocates no blocks and changes no size,
// and a full disk is noticed here instead of in the commit path. On a copy-on-write
// filesystem, zeroes would gain nothing, so the spare only gets its size.

// spareState is the state of the spare; Writer.mu guards it.
type spareState struct {
	size    int64 // size that it has or will have, in bytes; only the appending goroutine changes it
	file    File  // the spare, once it is ready; nil before
	making  bool
	err     error         // shortage in the last attempt to create it
	changed chan struct{} // closed and replaced after an attempt to create it, and when the writer fails
}

// announce wakes the goroutines that wait for a change.
func (s *spareState) announce() {
	if s.changed != nil {
		close(s.changed)
	}
	s.changed = make(chan struct{})
}

// errStopped means that the writer is closing.
var errStopped = errors.New("wal: stopped")

// fillFile creates a file of the given size, with zeroes on disk unless cow is set. It
// calls pause after each MiB except the last, so that the caller can slow it down. If
// pause returns false, the work is canceled.
func fillFile(fsys FS, name string, size int64, cow bool, pause func() bool) (_ File, err error) {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f, err := fsys.Create(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
			fsys.Remove(name) // frees its space; if it fails, the next attempt removes the file
		}
	}()
	if cow { // the filesystem writes every block to a new place, so writing zeroes in advance gains nothing
		if err := f.Grow(size); err != nil {
			return nil, err
		}
		return f, f.Sync()
	}
	for off := int64(0); off < size; {
		n := min(size-off, int64(len(zeroes)))
		if _, err := f.WriteAt(zeroes[:n], off); err != nil {
			return nil, err
		}
		// Sync in steps, because one large sync would delay those of the commits.
		if err := f.Sync(); err != nil {
			return nil, err
		}
		if off += n; off < size && pause != nil && !pause() {
			return nil, errStopped
		}
	}
	return f, nil
}

// makeSpare creates a spare, unless there is one or another goroutine is creating one.
// It records and returns a shortage of space or file descriptors. Any other error,
// except errStopped, fails the writer.
func (w *Writer) makeSpare(pause func() bool) error {
	w.mu.Lock()
	if w.err != nil || w.sp.file != nil || w.sp.making {
		defer w.mu.Unlock()
		return w.err
	}
	w.sp.making = true
	size := w.sp.size
	w.mu.Unlock()

	d := segmentsPath(w.dir)
	f, err := fillFile(w.fs, join(d, spareName), size, w.fs.CopyOnWrite(d), pause)

	w.mu.Lock()
	w.sp.making = false
	switch {
	case err == nil && size != w.sp.size:
		w.mu.Unlock()
		f.Close()
		return w.makeSpare(pause)
	case err == nil:
		w.sp.file, w.sp.err = f, nil
	case isNoSpace(err):
		err = fmt.Errorf("%w on the filesystem of %s: %w", ErrNoSpace, w.dir, err)
		w.sp.err = err
	}
	w.sp.announce()
	w.mu.Unlock()
	if err != nil && !isNoSpace(err) && err != errStopped {
		return w.fail(err)
	}
	return err
}

// resizeSpare sets the size of the next segment. A spare of another size is
// replaced.
func (w *Writer) resizeSpare(size int64) {
	w.mu.Lock()
	f := w.sp.file
	if w.sp.size == size || w.named != nil { // a spare that already has its name stays as it is
		w.mu.Unlock()
		return
	}
	w.sp.size, w.sp.file, w.sp.err = size, nil, nil
	w.mu.Unlock()
	if f != nil {
		f.Close()
	}
}

// wantSpare requests a spare from the shell once a quarter of the segment is used, or
// earlier if the rest has no room for two batches.
func (w *Writer) wantSpare() {
	if w.shell == nil {
		return
	}
	w.mu.Lock()
	want := w.sp.file == nil && (w.room < w.seg.head.Size/4*3 || !w.roomy())
	w.mu.Unlock()
	if want {
		w.shell.askSpare()
	}
}

// roomy reports whether the current segment has room for two batches. The caller
// holds mu.
func (w *Writer) roomy() bool {
	n := maxFrame(w.o.SegmentSize)
	return w.room >= 2*n && n <= maxFrame(w.seg.head.Size)
}

// Room returns nil if there is certainly space for two batches of MaxBody bytes, not
// counting those that are already written. Otherwise it returns ErrNoSpace, or the error
// that ended the writer. Any goroutine may call it.
//
// A sequencer calls Room before it executes the first request of a batch, when at
// most one other batch is in flight. Then both batches certainly fit. For a batch that
// has been executed, Append returns ErrNoSpace only if file descriptors run out. If
// Room returns ErrNoSpace, the sequencer rejects the request, and calls Room again for
// the next one. While a needed spare is being created, Room waits up to 10 s, since the
// disk is then slow rather than full.
func (w *Writer) Room() error {
	w.mu.Lock()
	enough := w.err == nil && (w.sp.file != nil || w.roomy())
	w.mu.Unlock()
	if enough {
		return nil
	}
	return w.awaitSpare()
}

// awaitSpare waits until there is a spare. Without a shell, it creates one.
func (w *Writer) awaitSpare() error {
	if w.shell == nil {
		return w.makeSpare(nil)
	}
	var timeout <-chan time.Time
	for {
		w.mu.Lock()
		err, ready, full, changed := w.err, w.sp.file != nil, w.sp.err, w.sp.changed
		w.mu.Unlock()
		switch {
		case err != nil:
			return err
		case ready:
			return nil
		case full != nil: // the shell retries
			return full
		}
		w.shell.hurrySpare()
		if timeout == nil {
			t := time.NewTimer(w.o.spareWait)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("%w: not ready after %v", ErrNoSpace, w.o.spareWait)
		}
	}
}

// dropSpare removes the spare, if there is one. The shell must have stopped.
func (w *Writer) dropSpare() {
	w.mu.Lock()
	f := w.sp.file
	w.sp.file = nil
	w.mu.Unlock()
	if f != nil {
		f.Close()
		w.fs.Remove(join(segmentsPath(w.dir), spareName)) // if it fails, the next Open removes it
	}
}
