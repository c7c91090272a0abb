package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A cursor is a place between two frames, with the values that the next frame must
// match.
type cursor struct {
	off    int64
	next   uint64 // global_seq of the next record
	prev   uint32 // header CRC of the previous frame
	time   int64  // commit time of the previous frame
	digest uint64 // state digest after the previous frame
}

// segmentStart returns the cursor before the first frame of a segment.
func segmentStart(h *segmentHeader) cursor {
	return cursor{off: segmentHeaderSize, next: h.First, prev: h.Prev}
}

// A flaw is the reason why the bytes at a cursor are not the next frame of the log.
type flaw struct {
	rule   string
	misfit bool // the header is intact, so this is not the result of a torn write
	err    error
}

func (f *flaw) Error() string { return f.rule + ": " + f.err.Error() }
func (f *flaw) Unwrap() error { return f.err }

// errVoid means that nothing was written at the cursor. It is not a flaw.
var errVoid = errors.New("nothing here")

// A walker steps over the frames of one segment. Recovery, readers and
// verification all read frames through a walker, so that they agree on what is
// valid. Its memory is bounded by the largest frame.
type walker struct {
	src  io.ReaderAt
	head segmentHeader
	salt uint32
	at   cursor
	h    frameHeader // header of the frame at the cursor, after peek
	buf  []byte      // bytes of the frame: the first 512 after peek, all after load
}

// newWalker returns a walker before the first frame of a segment. It uses buf if that
// has room for 512 bytes.
func newWalker(src io.ReaderAt, head segmentHeader, buf []byte) *walker {
	if cap(buf) < frameAlign {
		buf = make([]byte, frameAlign)
	}
	return &walker{
		src: src, head: head, salt: head.salt(), buf: buf[:frameAlign],
		at: segmentStart(&head),
	}
}

// peek reads and checks the header of the frame at the cursor. It returns
// errVoid, a *flaw, or an I/O error.
func (w *walker) peek() error {
	if w.at.off > w.head.Size-frameAlign {
		return &flaw{rule: "no seal", err: errors.New("the segment ends without a seal")}
	}
	w.buf = w.buf[:frameAlign]
	if err := readFull(w.src, w.buf, w.at.off); err != nil {
		return err
	}
	b := w.buf[:frameHeaderSize]
	if !w.h.Unmarshal(b, w.salt) {
		if allZero(b) {
			return errVoid
		}
		return &flaw{rule: "frame header", err: errors.New("the CRC of the frame header does not match")}
	}
	if err := w.h.Validate(b); err != nil {
		return &flaw{rule: "frame fields", misfit: true, err: err}
	}
	return w.link()
}

// link checks that the frame follows the previous one and fits the segment.
func (w *walker) link() error {
	var err error
	room := w.head.Size - w.at.off
	if w.h.Kind == kindData {
		room -= sealSize
	}
	switch {
	case w.h.First != w.at.next:
		err = fmt.Errorf("frame begins at global_seq %d, need %d", w.h.First, w.at.next)
	case w.h.Prev != w.at.prev:
		err = fmt.Errorf("frame follows one with header CRC %08x, but the previous one has %08x", w.h.Prev, w.at.prev)
	case w.h.Time < w.at.time:
		err = fmt.Errorf("commit time %d is before that of the previous frame, %d", w.h.Time, w.at.time)
	case w.h.Begins != 0 && (w.at.off != segmentHeaderSize || w.head.Ordinal == 0 || w.h.Begins != w.head.Size):
		err = fmt.Errorf("the frame states that it begins a segment of %d bytes, but it is in segment number %d, of %d bytes", w.h.Begins, w.head.Ordinal, w.head.Size)
	case w.h.size() > room:
		err = fmt.Errorf("frame of %d bytes, but the segment has room for %d", w.h.size(), room)
	default:
		return nil
	}
	return &flaw{rule: "frame chain", misfit: true, err: err}
}

// load reads and checks the body of the frame that peek found.
func (w *walker) load() error {
	size, have := int(w.h.size()), len(w.buf)
	if cap(w.buf) < size {
		grown := make([]byte, size, max(size, min(2*cap(w.buf), int(frameSize(bodyCap)))))
		copy(grown, w.buf)
		w.buf = grown
	}
	w.buf = w.buf[:size]
	if size > have {
		if err := readFull(w.src, w.buf[have:], w.at.off+int64(have)); err != nil {
			return err
		}
	}
	body := w.body()
	if got := crc32.Update(w.salt, castagnoli, body); got != w.h.BodyCRC {
		return &flaw{rule: "frame body", err: fmt.Errorf("body CRC is %08x, but its bytes give %08x", w.h.BodyCRC, got)}
	}
	if !allZero(w.buf[frameHeaderSize+len(body):]) {
		return &flaw{rule: "frame padding", err: errors.New("the padding is not zero")}
	}
	if err := checkRecords(body, w.h.Count); err != nil {
		return &flaw{rule: "frame records", misfit: true, err: err}
	}
	return nil
}

func (w *walker) body() []byte { return w.buf[frameHeaderSize : frameHeaderSize+int(w.h.BodyLen)] }

// step moves the cursor past the frame that peek found.
func (w *walker) step() {
	w.at = cursor{
		off: w.at.off + w.h.size(), next: w.h.First + uint64(w.h.Count),
		prev: w.h.CRC, time: w.h.Time, digest: w.h.Digest,
	}
}

// frame returns the loaded frame. It aliases the walker's memory.
func (w *walker) frame() Frame {
	return Frame{
		First: w.h.First, Count: w.h.Count, Time: w.h.Time, Digest: w.h.Digest, Chain: w.h.CRC, Body: w.body(),
		Segment: w.head.First, begins: w.h.Begins, wire: w.buf[:frameHeaderSize+int(w.h.BodyLen)],
	}
}

// scan walks over all valid frames and returns the reason why it stopped. It
// returns nil after a seal, whose header is then in w.h. Otherwise it returns
// errVoid, a *flaw, an I/O error, or the error of the function each, which it calls for
// every frame unless that function is nil. If bodies is set, it checks the bodies too.
func (w *walker) scan(bodies bool, each func() error) error {
	for {
		if err := w.peek(); err != nil {
			return err
		}
		if bodies || w.h.Kind == kindSeal { // the body of a seal is only the padding
			if err := w.load(); err != nil {
				return err
			}
		}
		if each != nil {
			if err := each(); err != nil {
				return err
			}
		}
		w.step()
		if w.h.Kind == kindSeal {
			return nil
		}
	}
}

// readFull reads len(p) bytes at off. It returns an error if the file ends early.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readSegmentHeader reads the header of a segment file.
func readSegmentHeader(r io.ReaderAt) (h segmentHeader, err error) {
	b := make([]byte, segmentHeaderSize)
	if err := readFull(r, b, 0); err != nil {
		return h, err
	}
	err = h.Unmarshal(b)
	return h, err
}
