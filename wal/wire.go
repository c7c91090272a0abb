package wal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
)

// A log can be copied frame by frame from one machine to another, so that the
// copy's segments have the same bytes:
//
//	Reader.Next → Frame.AppendWire ═ any transport ═ ParseFrame → Writer.AppendCopy
//	Writer.Encode → elsewhere first → Writer.AppendCopy
//
// The copy is opened with the Origin of the original. The frames announce where
// segments begin; seals and headers follow from the frames before them.

// An Origin is how a log began, or one of its segments. Together with the frames
// from there on it tells every byte of the segments.
type Origin struct {
	ID          LogID
	SegmentSize int64 // bytes of the segment
	Created     int64 // ns; of the log's first segment when it was made

	// Of a segment that is not the log's first. A copy may begin with one: the
	// log in it is then as if the segments before had been archived.
	Ordinal uint32 // 1 …; of the log's first segment 0
	First   uint64 // global_seq of its first record; 0 counts as 1
	Prev    uint32 // header CRC of the seal before it
}

func originOf(h *segmentHeader) Origin {
	return Origin{ID: h.ID, SegmentSize: h.Size, Created: h.Created, Ordinal: h.Ordinal, First: h.First, Prev: h.Prev}
}

// header is that of the segment that the origin describes.
func (o *Origin) header() segmentHeader {
	return segmentHeader{ID: o.ID, Size: o.SegmentSize, Created: o.Created, Ordinal: o.Ordinal, First: max(o.First, 1), Prev: o.Prev}
}

// Origin returns how the log began, or *ArchivedError if its first segment was
// moved away.
func (r *Reader) Origin() (Origin, error) {
	path := join(segmentsPath(r.dir), segmentName(1))
	h, err := checkSegment(r.fs, path, 1)
	if errors.Is(err, fs.ErrNotExist) {
		err = r.missing(path, 1)
	}
	return originOf(&h), err
}

// Wire is the wire form of a frame that was read or parsed: its header and body,
// as they are on disk, without the zeroes that follow. It is valid as long as
// the frame. A frame that was not read has none.
func (f *Frame) Wire() []byte { return f.wire }

// AppendWire appends the wire form of a frame to dst.
func (f *Frame) AppendWire(dst []byte) []byte { return append(dst, f.wire...) }

// ParseFrame checks the wire form of a frame of the log id at the start of b,
// and returns the bytes after it. segment is the Segment of the frame before, 1
// for the first: the frame must be in that segment or begin the next. The frame
// aliases b. io.ErrUnexpectedEOF means that b ends within the frame.
//
// AppendCopy checks whether it is the next frame; ParseFrame does not.
func ParseFrame(b []byte, id LogID, segment uint64) (f Frame, rest []byte, err error) {
	if len(b) < frameHeaderSize {
		return f, b, io.ErrUnexpectedEOF
	}
	var h frameHeader
	salt := segmentSalt(id, segment)
	if !h.Unmarshal(b, salt) {
		segment = le.Uint64(b[8:])
		if salt = segmentSalt(id, segment); !h.Unmarshal(b, salt) {
			return f, b, errors.New("wal: the CRC of the frame header does not fit")
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
		return f, b, fmt.Errorf("wal: body CRC of the frame at global_seq %d is %08x, its bytes give %08x", h.First, h.BodyCRC, got)
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

// Segment returns the first global_seq of the current segment, for ParseFrame.
// Don't call it during Append.
func (w *Writer) Segment() uint64 { return w.seg.head.First }

// Encode makes of a frame what Append would make of it, and writes nothing: it
// sets Chain and Segment, and appends the wire form to dst, which the frame then
// aliases. AppendCopy writes it. The frame must have its Time.
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

// AppendCopy is Append for a frame that was read or parsed from the original of
// this log. It keeps the frame's time, chain and digest, and begins a segment
// where the original does.
//
// ErrForeign, ErrUnannounced and ErrNoSpace are returned before anything is
// written. Any other error is final.
func (w *Writer) AppendCopy(f *Frame) error {
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
	if cut {
		if err := w.cut(f.begins); err != nil {
			return err
		}
	}
	return w.write(f)
}

// fitsHere compares the frame with the next frame of this log, after a cut or not.
func (w *Writer) fitsHere(f *Frame, cut bool) error {
	prev, salt, free, begins := w.seg.prev, w.seg.salt, w.seg.free(), w.announced()
	if cut {
		if !w.seg.sealed {
			prev = w.encodeSeal()
		}
		salt, free, begins = segmentSalt(w.id, f.First), f.begins-segmentHeaderSize-sealSize, f.begins
	}
	if w.begun && (f.begins == 0 || f.begins == w.seg.head.Size) { // without the frame before, nothing shows which it should be
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
