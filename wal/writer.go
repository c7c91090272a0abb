package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Writer appends to a log.
//
// Only one goroutine at a time may call Append, Encode, PutCopy, AppendCopy, Segment
// and Close. Any goroutine may call the other methods after Start. The core is
// synchronous. Unless Options.Manual is set, a thin shell (background.go) creates
// spares, syncs END and the frames of PutCopy, and wakes readers.
type Writer struct {
	dir  string
	o    Options
	fs   FS
	id   LogID
	lock *logLock // held while open
	end  Page     // END, mapped

	epoch   uint64            // epoch of END, as long as this writer is the only one
	durable *atomic.Uint64    // in END; stored only by moveEnd
	moved   *atomic.Uint64    // in END; Unix nanoseconds, stored before durable
	checks  [2]*atomic.Uint64 // in END; complement of the durable end, stored before it, alternately in one of the two
	wakes   *atomic.Uint32    // in END; changed after durable
	synced  atomic.Uint64     // durable end that the last sync of END covered

	// The appending goroutine owns the following fields.
	seg   activeSegment
	named *segmentHeader // header of a spare that was renamed, but whose new name is not durable yet; nil except during a cut, and after a cut that lacked a file descriptor
	buf   []byte         // image of a frame; reused
	begun bool           // the log was just created to begin with a later segment, and is empty

	mu      sync.Mutex
	last    Frame     // the newest frame, without body; may not be durable yet if PutCopy wrote it
	safe    uint64    // last durable commit
	flight  int64     // bytes that PutCopy wrote and no sync has covered
	syncing bool      // a goroutine syncs frames of PutCopy
	landed  sync.Cond // signals that this sync has ended
	room    int64     // bytes left for data frames in the segment
	sp      spareState
	err     error // the first failure; never reset

	shell *shell   // nil if Manual
	found *finding // between Prepare and Start
}

// An activeSegment is the current segment, to which frames are appended.
type activeSegment struct {
	file   File
	head   segmentHeader
	salt   uint32
	off    int64  // offset of the next frame
	prev   uint32 // header CRC of the previous frame
	sealed bool   // the segment has its seal, so only a cut can follow
}

// free returns the number of bytes left for data frames.
func (s *activeSegment) free() int64 {
	if s.sealed {
		return 0
	}
	return s.head.Size - sealSize - s.off
}

// fits reports whether a frame of n bytes may be written to this segment.
func (s *activeSegment) fits(n int64) bool { return n <= s.free() && n <= maxFrame(s.head.Size) }

// MaxBody returns the maximum size of a body that Append accepts, in bytes: 16 MiB, or
// what fits into half of an empty segment if that is less.
func (w *Writer) MaxBody() int { return maxBody(w.o.SegmentSize) }

// LogID returns the id of the log.
func (w *Writer) LogID() LogID { return w.id }

// Epoch returns the number of times that the log was opened for writing, including
// this time.
func (w *Writer) Epoch() uint64 { return w.epoch }

// LastSeq returns the last commit. It may not be durable yet if PutCopy wrote it. For
// an empty log, LastSeq returns the commit before the first segment: 0, unless the log
// is a copy that begins with a later segment.
func (w *Writer) LastSeq() uint64 {
	f := w.lastFrame()
	return f.Last()
}

// Durable returns the last commit that is durable here. For an empty log, it returns
// the same as LastSeq.
func (w *Writer) Durable() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.safe
}

// LastTime returns the commit time of the last frame in Unix nanoseconds, or 0 if
// there is none.
func (w *Writer) LastTime() int64 { return w.lastFrame().Time }

// LastDigest returns the state digest of the last frame, or 0 if there is none.
func (w *Writer) LastDigest() uint64 { return w.lastFrame().Digest }

func (w *Writer) lastFrame() Frame {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Err returns the error that ended the writer, or nil while it works.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// fail records the first failure and returns the recorded one. Nothing is retried:
// after a failed sync, the page cache shows bytes that may not be on disk.
func (w *Writer) fail(cause error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = fmt.Errorf("%w: %w", ErrFailed, cause)
		w.sp.announce()
	}
	return w.err
}

// Append makes the frame durable and advances END. When it returns nil, the frame
// survives a crash, and readers see it. f.First must be LastSeq()+1. Append keeps
// f.Time, which must not be below LastTime(). If f.Time is 0, Append sets it from
// the clock.
//
// ErrNoSpace, and errors about f itself, are returned before any part of f is written.
// Any other error is final, and all later calls return ErrFailed.
func (w *Writer) Append(f *Frame) error {
	if err := w.Err(); err != nil {
		return err
	}
	if err := w.check(f, w.MaxBody()); err != nil {
		return err
	}
	if err := w.checkEpoch(); err != nil {
		return w.fail(err)
	}
	if !w.seg.fits(frameSize(len(f.Body))) {
		if err := w.cut(w.o.SegmentSize); err != nil {
			return err
		}
	}
	if f.Time == 0 {
		f.Time = max(w.o.Now(), w.LastTime())
	}
	f.begins = w.announced()
	return w.write(f)
}

// write writes a frame that fits at the end of the segment, makes it durable, and
// shows it to readers.
func (w *Writer) write(f *Frame) error {
	if err := w.put(f); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return w.fail(err)
	}
	w.note(f, true)
	return w.show(f.Last())
}

// put writes a frame that fits at the end of the segment.
func (w *Writer) put(f *Frame) error {
	var h frameHeader
	w.buf, h = appendFrame(w.buf[:0], f, w.seg.prev, w.seg.salt)
	if err := w.writeBuf(); err != nil {
		return w.fail(err)
	}
	w.seg.prev, f.Chain, f.Segment, w.begun = h.CRC, h.CRC, w.seg.head.First, false
	return nil
}

// check rejects frames that a reader would reject.
func (w *Writer) check(f *Frame, maxBody int) error {
	if next := w.LastSeq() + 1; f.First != next {
		return fmt.Errorf("wal: frame begins at global_seq %d, but the log continues at %d", f.First, next)
	}
	if last := w.LastTime(); f.Time != 0 && f.Time < last {
		return fmt.Errorf("wal: frame has time %d, but the last one has %d", f.Time, last)
	}
	if len(f.Body) > maxBody {
		return fmt.Errorf("wal: body of %d bytes; the maximum is %d", len(f.Body), maxBody)
	}
	if f.Count == 0 {
		return errors.New("wal: frame without records")
	}
	return checkRecords(f.Body, f.Count)
}

// writeBuf writes buf at the end of the segment.
func (w *Writer) writeBuf() error {
	if _, err := w.seg.file.WriteAt(w.buf, w.seg.off); err != nil {
		return err
	}
	w.seg.off += int64(len(w.buf))
	return nil
}

// sync syncs what was written to the segment.
func (w *Writer) sync() error {
	if w.o.OnSync == nil {
		return w.seg.file.Sync()
	}
	start := time.Now()
	if err := w.seg.file.Sync(); err != nil {
		return err
	}
	w.o.OnSync(time.Since(start))
	return nil
}

// note records a frame as the last one.
func (w *Writer) note(f *Frame, durable bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = Frame{First: f.First, Count: f.Count, Time: f.Time, Digest: f.Digest}
	w.room = w.seg.free()
	if durable {
		w.safe = f.Last()
	} else {
		w.flight += frameSize(len(f.Body))
	}
}

// show makes the frames up to a commit visible to readers.
func (w *Writer) show(seq uint64) error {
	if err := w.storeEnd(seq); err != nil {
		return w.fail(err)
	}
	w.wantSpare()
	return nil
}

// checkEpoch returns an error if another writer has opened the log since this one
// did.
func (w *Writer) checkEpoch() error {
	epoch, there := load(w.end.Bytes(), endEpochAt)
	switch {
	case !there:
		return w.endGone()
	case epoch != w.epoch:
		return errOtherWriter
	}
	return nil
}

// storeEnd advances the durable end and wakes readers. It does not acknowledge a
// frame that another writer may have overwritten meanwhile.
func (w *Writer) storeEnd(seq uint64) error {
	if err := w.checkEpoch(); err != nil {
		return err
	}
	if !touch(func() { w.moveEnd(seq) }) {
		return w.endGone()
	}
	if w.shell != nil {
		w.shell.wakeReaders()
	} else {
		w.end.Wake(endWakeAt)
	}
	return nil
}

// moveEnd stores the wake counter after the durable end. So a reader that finds the
// counter unchanged and sleeps will be woken. moveEnd stores the time before the
// durable end, so that a reader of a new end never gets an older time. At every moment,
// one of the check words matches the durable end.
func (w *Writer) moveEnd(seq uint64) {
	w.moved.Store(uint64(w.o.Now()))
	check := w.checks[0]
	if check.Load() == ^w.durable.Load() {
		check = w.checks[1]
	}
	check.Store(^seq)
	w.durable.Store(seq)
	w.wakes.Add(1)
}

// endGone returns the error for a mapped END that can't be accessed.
func (w *Writer) endGone() error {
	return &fs.PathError{Op: "touch map", Path: w.path(endName), Err: fmt.Errorf("the file was truncated, or its disk failed: %w", syscall.EIO)}
}

// SyncEnd makes the durable end in END itself durable, if it changed since the last
// call. The shell calls it once a second. It fails the writer if END was removed or
// replaced, because another writer may then have opened the log.
func (w *Writer) SyncEnd() error {
	if w.end.Stale() {
		return w.fail(fmt.Errorf("%s is now a different file: %w", w.path(endName), errOtherWriter))
	}
	return w.syncEnd()
}

func (w *Writer) syncEnd() error {
	seq, there := load(w.end.Bytes(), endDurableAt)
	if !there {
		return w.fail(w.endGone())
	}
	if w.synced.Load() == seq {
		return w.Err()
	}
	if err := w.end.Sync(); err != nil {
		return w.fail(err)
	}
	w.synced.Store(seq)
	return w.Err()
}

// Close syncs END, removes the spare and unlocks the log. It does not seal the
// segment. It returns the error that ended the writer, if there was one.
func (w *Writer) Close() error {
	if w.lock == nil {
		return nil
	}
	if w.found != nil {
		err := w.lock.Close()
		w.lock = nil
		return err
	}
	if w.shell != nil {
		w.shell.stop()
	}
	w.SyncCopy() // the writer keeps the error
	err := w.syncEnd()
	w.dropSpare()
	w.mu.Lock()
	if w.err == nil {
		w.err = ErrClosed
	}
	w.mu.Unlock()
	err = errors.Join(err, w.seg.file.Close(), w.end.Close(), w.lock.Close())
	w.lock = nil
	return err
}

func (w *Writer) path(names ...string) string {
	return filepath.Join(append([]string{w.dir}, names...)...)
}
