package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
)

// A Reader follows a log, even while another process writes it. Only one goroutine
// at a time may use it, except for Durable, Moved, Wait and LogID, which any
// goroutine may call.
//
// It returns a frame only when END covers the frame's last record, and only after a
// complete check: header, body, padding, and the chain from the previous frame.
// Frames are copied out of the memory map before they are checked, so that the
// bytes that are used are the bytes that were checked. A second Reader of the same
// directory shares the operating system's pages, and costs little beyond its index.
type Reader struct {
	dir string
	o   Options
	fs  FS
	id  LogID

	endMu sync.RWMutex // Close unmaps END while holding it
	end   Page         // nil after Close
	wait  watcher

	epoch uint64 // highest epoch read from END
	high  uint64 // highest durable end read from END
	idle  bool   // the last Next returned ErrEnd

	seg   segmentFile
	src   View    // the current segment; nil if none is open
	w     *walker // walks over src
	at    cursor  // place of the next frame; the same as w's while src is open
	last  int64   // start of the previous frame, whose header CRC is at.prev; 0 if unknown or in another segment
	frame Frame   // the last result of Next
	index sparseIndex

	firsts []uint64 // first global_seqs of the segments, as of Seek's last listing
	listed uint64   // durable end at that time; the list is complete up to it
}

// OpenReader opens the log of DIR and positions the reader before the first frame.
// It returns ErrNoLog if there is no log yet; the caller may try again later.
func OpenReader(dir string, o Options) (*Reader, error) {
	o = o.withDefaults()
	state, err := readEnd(o.FS, dir)
	switch {
	case err != nil:
		return nil, err
	case errors.Is(state.bad, ErrVersion):
		return nil, fmt.Errorf("%s: %w", join(dir, endName), state.bad)
	case state.bad != nil:
		return nil, &CorruptError{File: join(dir, endName), Rule: "END damaged", Err: state.bad}
	case !state.there:
		return nil, ErrNoLog
	}
	page, err := o.FS.Share(join(dir, endName), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNoLog
	}
	if err != nil {
		return nil, err
	}
	return newReader(dir, o, state.endHeader, page), nil
}

func newReader(dir string, o Options, h endHeader, end Page) *Reader {
	r := &Reader{dir: dir, o: o, fs: o.FS, id: h.ID, end: end, epoch: h.Epoch, at: cursor{next: 1}}
	r.wait.init()
	return r
}

// LogID returns the id of the log.
func (r *Reader) LogID() LogID { return r.id }

// Durable returns the last durable global_seq according to END. It returns 0 after
// Close, and if END was truncated, which Next then reports. Any goroutine may call
// it.
func (r *Reader) Durable() uint64 {
	r.endMu.RLock()
	defer r.endMu.RUnlock()
	if r.end == nil {
		return 0
	}
	durable, _ := load(r.end.Bytes(), endDurableAt)
	return durable
}

// Moved returns when the durable end last changed, in Unix nanoseconds by the
// writer's clock. It returns 0 if that is unknown, and after Close. Once Durable
// has returned N, the result is never earlier than the time when commit N became
// durable. Any goroutine may call it.
func (r *Reader) Moved() int64 {
	r.endMu.RLock()
	defer r.endMu.RUnlock()
	if r.end == nil {
		return 0
	}
	moved, _ := load(r.end.Bytes(), endMovedAt)
	return int64(moved)
}

// Next returns the next durable frame, or ErrEnd if there is none yet. The frame is
// valid until the next call to any method except Durable, Moved, Wait and LogID.
// *CorruptError and ErrReplaced are final for the Reader.
func (r *Reader) Next() (*Frame, error) {
	durable, err := r.checkEnd()
	if err != nil {
		return nil, err
	}
	for r.at.next <= durable {
		if err := r.readAt(true); err != nil {
			return nil, err
		}
		if r.w.h.Kind == kindSeal {
			seal, last := r.at, r.last
			if err := r.enterNext(); err != nil {
				r.at, r.last, r.w.at = seal, last, seal // the caller calls again after a temporary error
				return nil, err
			}
			continue
		}
		if r.w.h.last() > durable {
			return nil, r.corrupt("END within a frame", fmt.Errorf("END is %d, but the frame ends at %d", durable, r.w.h.last()))
		}
		r.index.note(r.seg.head.First, r.at)
		r.frame = r.w.frame()
		r.step()
		r.idle = false
		return &r.frame, nil
	}
	if err := r.checkStill(); err != nil {
		return nil, err
	}
	r.idle = true
	return nil, ErrEnd
}

// step moves the cursor past the current frame or seal.
func (r *Reader) step() {
	r.last = r.at.off
	r.w.step()
	r.at = r.w.at
}

// checkEnd reads END. As long as the log is the same, its epoch and durable end can
// only increase.
func (r *Reader) checkEnd() (durable uint64, err error) {
	if r.end == nil {
		return 0, ErrClosed
	}
	b := r.end.Bytes()
	epoch, there := load(b, endEpochAt)
	durable, still := load(b, endDurableAt)
	if !there || !still {
		return 0, fmt.Errorf("%w: END in %s can't be read: it was truncated, or its disk failed", ErrReplaced, r.dir)
	}
	if epoch < r.epoch || durable < r.high {
		return 0, fmt.Errorf("%w: END went from %d back to %d, its epoch from %d to %d", ErrReplaced, r.high, durable, r.epoch, epoch)
	}
	r.epoch, r.high = epoch, durable
	return durable, nil
}

// readAt reads the frame at the cursor, which END covers. If the frame is not
// valid, readAt reads it once more from the file, bypassing the map, before it
// reports damage.
func (r *Reader) readAt(bodies bool) error {
	if r.src == nil {
		if err := r.enter(1, nil); err != nil { // an ArchivedError if the log begins later
			return err
		}
	}
	err := r.readOnce(bodies)
	if err == nil {
		return nil
	}
	f, ferr := r.fs.Open(r.seg.path, false)
	if ferr != nil {
		return ferr
	}
	defer f.Close()
	r.w.src = f
	defer func() { r.w.src = r.src }()
	if err = r.readOnce(bodies); err == nil {
		return nil
	}
	if gone := r.checkLast(); gone != nil {
		return gone
	}
	why, bad := errors.AsType[*flaw](err)
	switch {
	case err == errVoid:
		return r.corrupt("acknowledged frames missing", fmt.Errorf("there is no frame here, but END is %d", r.high))
	case errors.Is(err, ErrVersion):
		return fmt.Errorf("%s at offset %d: %w", r.seg.path, r.at.off, err)
	case bad:
		return r.corrupt(why.rule, why.err)
	}
	return r.corrupt(ruleUnreadable, err)
}

func (r *Reader) readOnce(bodies bool) error {
	if err := r.w.peek(); err != nil {
		return err
	}
	if !bodies && r.w.h.Kind == kindData {
		return nil
	}
	return r.w.load()
}

func (r *Reader) corrupt(rule string, err error) error {
	return &CorruptError{File: r.seg.path, Offset: r.at.off, Seq: r.at.next - 1, Rule: rule, Err: err}
}

// enterNext steps over the seal at the cursor and enters the next segment. After an
// error, the cursor is where it was.
func (r *Reader) enterNext() error {
	seg, at, last := r.seg, r.at, r.last
	r.step()
	err := r.enter(r.at.next, func(h *segmentHeader, path string) error {
		return checkLink(path, h, seg.head.ID, seg.head.Ordinal, &r.at)
	})
	if err != nil {
		r.w.at, r.at, r.last = at, at, last
	}
	return err
}

// enter opens the segment that begins at first, and positions the reader before its
// first frame. If check is not nil, it may reject the header.
func (r *Reader) enter(first uint64, check func(h *segmentHeader, path string) error) error {
	s := segmentFile{path: join(segmentsPath(r.dir), segmentName(first))}
	var err error
	if s.head, err = checkSegment(r.fs, s.path, first); err != nil {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return r.missing(s.path, first)
		case errors.Is(err, syscall.EIO):
			return &CorruptError{File: s.path, Seq: first - 1, Rule: ruleUnreadable, Err: err}
		}
		return err
	}
	if s.head.ID != r.id {
		return &CorruptError{File: s.path, Seq: first - 1, Rule: ruleForeign, Err: fmt.Errorf("log id %s, but END has %s", s.head.ID, r.id)}
	}
	if check != nil {
		if err := check(&s.head, s.path); err != nil {
			return err
		}
	}
	src, err := openView(r.fs, s.path, s.head.Size)
	if err != nil {
		return err
	}
	r.leave()
	var buf []byte
	if r.w != nil {
		buf = r.w.buf
	}
	time, digest := r.at.time, r.at.digest
	r.seg, r.src, r.w = s, src, newWalker(src, s.head, buf)
	if check != nil { // times continue from the previous segment
		r.w.at.time, r.w.at.digest = time, digest
	}
	r.at, r.last = r.w.at, 0
	return nil
}

// missing returns the error for a segment that END covers and that does not exist: it
// was moved to an archive, the log was replaced, or the file is lost.
func (r *Reader) missing(path string, first uint64) error {
	firsts, err := listSeqs(r.fs, segmentsPath(r.dir), segmentExt)
	if err != nil {
		return err
	}
	if len(firsts) > 0 && first < firsts[0] {
		return &ArchivedError{Seq: first, First: firsts[0]}
	}
	if r.end.Stale() {
		return fmt.Errorf("%w: %s is gone, and END is gone or a different file", ErrReplaced, path)
	}
	return &CorruptError{File: path, Seq: first - 1, Rule: ruleGap, Err: fmt.Errorf("the file is missing, but END is %d", r.high)}
}

func (r *Reader) leave() {
	if r.src != nil {
		r.src.Close()
		r.src = nil
	}
}

// Close closes the log and ends all calls to Wait.
func (r *Reader) Close() error {
	if r.end == nil {
		return nil
	}
	r.wait.stop(r.end)
	r.leave()
	r.endMu.Lock()
	defer r.endMu.Unlock()
	err := r.end.Close()
	r.end = nil
	return err
}
