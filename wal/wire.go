package wal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
)

// A log can be copied frame by frame from one machine to another. The segments of
// the copy have the same bytes:
//
//	Reader.Next → Frame.AppendWire ═ any transport ═ ParseFrame → Writer.PutCopy
//	Writer.Encode → elsewhere first → Writer.PutCopy
//
// The copy is opened with the Origin of the original. The frames announce where
// segments begin. Seals and headers are determined by the frames before them.

// An Origin describes how a log, or one of its segments, began. Together with all
// frames that follow, it determines every byte of the segments.
type Origin struct {
	ID          LogID
	SegmentSize int64 // size of the segment in bytes
	Created     int64 // creation time in Unix nanoseconds; for the first segment, when the log was created

	// The following fields are for a segment that is not the log's first. A copy may
	// begin with such a segment. The copy then looks as if the earlier segments had been
	// archived.
	Ordinal uint32 // 0 for the log's first segment
	First   uint64 // global_seq of its first record; 0 means 1
	Prev    uint32 // header CRC of the previous seal
}

func originOf(h *segmentHeader) Origin {
	return Origin{ID: h.ID, SegmentSize: h.Size, Created: h.Created, Ordinal: h.Ordinal, First: h.First, Prev: h.Prev}
}

// header returns the header of the segment that the origin describes.
func (o *Origin) header() segmentHeader {
	return segmentHeader{ID: o.ID, Size: o.SegmentSize, Created: o.Created, Ordinal: o.Ordinal, First: max(o.First, 1), Prev: o.Prev}
}

// Origin returns the origin of the log, or an *ArchivedError if its first segment was
// moved away.
func (r *Reader) Origin() (Origin, error) {
	path := join(segmentsPath(r.dir), segmentName(1))
	h, err := checkSegment(r.fs, path, 1)
	if errors.Is(err, fs.ErrNotExist) {
		err = r.missing(path, 1)
	}
	return originOf(&h), err
}

// Wire returns the wire form of a frame that was read, parsed or encoded: its header
// and body as on disk, without padding. The result is valid as long as the frame is. It
// is nil for other frames.
func (f *Frame) Wire() []byte { return f.wire }

// AppendWire appends the wire form of a frame to dst.
func (f *Frame) AppendWire(dst []byte) []byte { return append(dst, f.wire...) }

// ParseFrame parses and checks the wire form of a frame at the beginning of b, and
// returns the bytes after it. The parameter id is the log id, and the parameter segment
// is the Segment of the previous frame, or 1 for the first. The frame must be in that
// segment or begin the next one. The frame aliases b. io.ErrUnexpectedEOF means that b
// ends within the frame.
//
// ParseFrame does not check whether the frame is the next one of the log; PutCopy
// does.
func ParseFrame(b []byte, id LogID, segment uint64) (f Frame, rest []byte, err error) {
	if len(b) < frameHeaderSize {
		return f, b, io.ErrUnexpectedEOF
	}
	var h frameHeader
	salt := segmentSalt(id, segment)
	if !h.Unmarshal(b, salt) {
		segment = le.Uint64(b[8:])
		if salt = segmentSalt(id, segment); !h.Unmarshal(b, salt) {
			return f, b, errors.New("wal: the CRC of the frame header does not match")
		}
	}
	if err := h.Validate(b[:frameHeaderSize]); err != nil {
		return f, b, fmt.Errorf("wal: frame header: %w", err)
	}
	if h.Kind != kindData || h.Begins != 0 && h.First != segment {
		return f, b, fmt.Errorf("wal: frame of kind %d at global_seq %d of the segment from %d", h.Kind, h.First, segment)
	}
	n := frameHeaderSize + int(h.BodyLen)
	if len(b) < n {
		return f, b, io.ErrUnexpectedEOF
	}
	body := b[frameHeaderSize:n]
	if got := crc32.Update(salt, castagnoli, body); got != h.BodyCRC {
		return f, b, fmt.Errorf("wal: body CRC of the frame at global_seq %d is %08x, but its bytes give %08x", h.First, h.BodyCRC, got)
	}
	if err := checkRecords(body, h.Count); err != nil {
		return f, b, err
	}
	f = Frame{
		First: h.First, Count: h.Count, Time: h.Time, Digest: h.Digest, Chain: h.CRC, Body: body,
		Segment: segment, begins: h.Begins, wire: b[:n],
	}
	return f, b[n:], nil
}

// Segment returns the first global_seq of the current segment, for ParseFrame. It
// must not be called during Append.
func (w *Writer) Segment() uint64 { return w.seg.head.First }

// Encode encodes a frame as Append would, but writes nothing to the log. It sets
// Chain and Segment, and appends the wire form to dst, which the frame then aliases.
// PutCopy can then write the frame. f.Time must be set.
func (w *Writer) Encode(dst []byte, f *Frame) ([]byte, error) {
	if err := w.Err(); err != nil {
		return dst, err
	}
	if err := w.check(f, w.MaxBody()); err != nil {
		return dst, err
	}
	prev, salt, segment, begins := w.seg.prev, w.seg.salt, w.seg.head.First, w.announced()
	if !w.seg.fits(frameSize(len(f.Body))) {
		if !w.seg.sealed {
			prev = w.encodeSeal()
		}
		salt, segment, begins = segmentSalt(w.id, f.First), f.First, w.o.SegmentSize
	}
	f.begins = begins
	at := len(dst)
	dst, h := appendFrame(dst, f, prev, salt)
	dst = dst[:at+frameHeaderSize+len(f.Body)]
	f.Chain, f.Segment, f.wire = h.CRC, segment, dst[at:]
	return dst, nil
}

// AppendCopy calls PutCopy and SyncCopy.
func (w *Writer) AppendCopy(f *Frame) error {
	if err := w.PutCopy(f); err != nil {
		return err
	}
	return w.SyncCopy()
}

// PutCopy appends a frame that is durable elsewhere: one that was read or parsed from
// the original of this log, or that Encode has encoded. It keeps the frame's time,
// chain and digest, and begins a segment where the original does. The directory must be
// marked as a copy, or be discarded after a crash.
//
// PutCopy returns before the frame is durable here. Unless Options.Manual is set, a
// goroutine syncs: while one sync runs, PutCopy appends more frames, and the next
// sync covers all of them.
//
// ErrForeign, ErrUnannounced and ErrNoSpace are returned before any part of the frame
// is written. Any other error is final.
func (w *Writer) PutCopy(f *Frame) error {
	if err := w.admit(f); err != nil {
		return err
	}
	if err := w.put(f); err != nil {
		return err
	}
	w.note(f, false)
	if w.shell != nil {
		w.shell.askSync()
	}
	return nil
}

// SyncCopy waits until all frames of earlier calls to PutCopy are durable here and
// readers see them. Any goroutine may call it. Any error is final.
func (w *Writer) SyncCopy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for want := w.last.Last(); w.safe < want; {
		switch {
		case w.err != nil:
			return w.err
		case w.syncing:
			w.landed.Wait()
		default:
			w.syncGroup()
		}
	}
	return nil
}

// syncGroup syncs the frames that PutCopy has written, and shows them to readers. The
// caller holds mu, which is released during the sync.
func (w *Writer) syncGroup() {
	upTo, size := w.last.Last(), w.flight
	w.syncing = true
	w.mu.Unlock()
	defer func() { // deferred, because a simulated process may end during the sync
		w.mu.Lock()
		w.syncing = false
		w.landed.Broadcast()
	}()
	if err := w.sync(); err != nil {
		w.fail(err)
		return
	}
	if w.show(upTo) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.safe = upTo
	w.flight -= size
}

// awaitFlight waits until a frame of n bytes may be written. The frames that are not
// synced are together never larger than the largest frame, and never in two segments.
func (w *Writer) awaitFlight(n int64, cut bool) error {
	w.mu.Lock()
	fits := w.flight == 0 || !cut && w.flight+n <= maxFrame(w.seg.head.Size)
	w.mu.Unlock()
	if fits {
		return nil
	}
	return w.SyncCopy()
}

// admit checks that f is the next frame. It begins a segment for it where the
// original does.
func (w *Writer) admit(f *Frame) error {
	if err := w.Err(); err != nil {
		return err
	}
	if err := w.check(f, bodyCap); err != nil {
		return fmt.Errorf("%w: %w", ErrForeign, err)
	}
	if err := w.checkEpoch(); err != nil {
		return w.fail(err)
	}
	cut := f.Segment == f.First && f.First != w.seg.head.First
	if err := w.fitsHere(f, cut); err != nil {
		return err
	}
	if err := w.awaitFlight(frameSize(len(f.Body)), cut); err != nil {
		return err
	}
	if cut {
		return w.cut(f.begins)
	}
	return nil
}

// fitsHere returns an error unless f is exactly what this log would have as its next
// frame. If cut is set, that frame begins a new segment.
func (w *Writer) fitsHere(f *Frame, cut bool) error {
	prev, salt, free, begins := w.seg.prev, w.seg.salt, w.seg.free(), w.announced()
	if cut {
		if !w.seg.sealed {
			prev = w.encodeSeal()
		}
		salt, free, begins = segmentSalt(w.id, f.First), f.begins-segmentHeaderSize-sealSize, f.begins
	}
	if w.begun && (f.begins == 0 || f.begins == w.seg.head.Size) { // without the previous frame, nothing shows whether the frame must begin a segment
		begins = f.begins
	} else if f.Segment == f.First && f.First > 1 && (begins == 0 || f.begins == 0) {
		return fmt.Errorf("%w: the one that begins with commit %d", ErrUnannounced, f.First)
	}
	w.buf, _ = appendFrame(w.buf[:0], f, prev, salt)
	if f.begins != begins || frameSize(len(f.Body)) > free || len(f.wire) < frameHeaderSize || !bytes.Equal(w.buf[:frameHeaderSize], f.wire[:frameHeaderSize]) {
		return fmt.Errorf("%w: the frame of commits %d to %d does not follow commit %d here", ErrForeign, f.First, f.Last(), w.LastSeq())
	}
	return nil
}
