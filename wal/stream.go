package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A stream carries the frames of a log to another machine:
//
//	stream header ═ frame ═ frame ═ heartbeat ═ frame …
//
// A frame is its wire form. The stream header says of which log it is, and all
// of the header of the segment in which the first frame stands, so that a copy
// can begin with that segment:
//
//	 0  4  magic "ASLG"
//	 4  2  version, 1
//	 6  2  zero
//	 8  4  ordinal of the segment
//	12  4  prev: header CRC of the seal before it
//	16 16  log id
//	32  8  epoch: how often the log that is read was opened for writing
//	40  8  global_seq of the segment's first record
//	48  8  creation time of the segment, ns
//	56  4  size of the segment in units of 4096 bytes
//	60  4  CRC32C of bytes 0..59
//
// A heartbeat stands where a frame header can, and has none of its kinds:
//
//	 0  4  CRC32C of bytes 4..63, begun with that of the log id
//	 4  1  kind: 3
//	 5  1  zero
//	 6  2  its length, 64
//	 8  8  the durable end of the log that is read
//	16  8  time of the sender's clock, ns
//	24 40  zeroes

const (
	streamMagic   = "ASLG"
	streamVersion = 1
	kindBeat      = 3

	// StreamHeaderSize is also the size of a heartbeat and of a frame's header, in bytes.
	StreamHeaderSize = frameHeaderSize
)

// A StreamHead is the first thing of a stream.
type StreamHead struct {
	Epoch uint64
	// Segment is that in which the first frame stands. If there is no frame yet
	// it is that of the frame before.
	Segment Origin
}

// Append appends the 64 bytes to dst.
func (h *StreamHead) Append(dst []byte) []byte {
	at, o := len(dst), h.Segment.header()
	dst = append(dst, streamMagic...)
	dst = le.AppendUint16(dst, streamVersion)
	dst = append(dst, 0, 0)
	dst = le.AppendUint32(dst, o.Ordinal)
	dst = le.AppendUint32(dst, o.Prev)
	dst = append(dst, o.ID[:]...)
	dst = le.AppendUint64(dst, h.Epoch)
	dst = le.AppendUint64(dst, o.First)
	dst = le.AppendUint64(dst, uint64(o.Created))
	dst = le.AppendUint32(dst, uint32(o.Size/segmentHeaderSize))
	return le.AppendUint32(dst, crc32.Checksum(dst[at:], castagnoli))
}

// Parse reads and validates the 64 bytes: ErrVersion for those of a newer program.
func (h *StreamHead) Parse(b []byte) error {
	if len(b) != StreamHeaderSize || string(b[:4]) != streamMagic {
		return errors.New("wal: this is no stream of a log: its header is another")
	}
	if got := crc32.Checksum(b[:60], castagnoli); got != le.Uint32(b[60:]) {
		return fmt.Errorf("wal: the CRC of the stream header is %08x, its bytes give %08x", le.Uint32(b[60:]), got)
	}
	if v := le.Uint16(b[4:]); v != streamVersion || b[6] != 0 || b[7] != 0 {
		return fmt.Errorf("%w: stream version %d, this program knows %d", ErrVersion, v, streamVersion)
	}
	h.Epoch = le.Uint64(b[32:])
	h.Segment = Origin{
		Ordinal: le.Uint32(b[8:]), Prev: le.Uint32(b[12:]), ID: LogID(b[16:32]), First: le.Uint64(b[40:]),
		Created: int64(le.Uint64(b[48:])), SegmentSize: int64(le.Uint32(b[56:])) * segmentHeaderSize,
	}
	head := h.Segment.header()
	if h.Segment.First == 0 {
		return errors.New("wal: the stream header names a segment that begins at global_seq 0")
	}
	return head.Validate()
}

// AppendBeat appends a heartbeat of the log id to dst. now is in ns.
func AppendBeat(dst []byte, id LogID, durable uint64, now int64) []byte {
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, kindBeat, 0, StreamHeaderSize, 0)
	dst = le.AppendUint64(dst, durable)
	dst = le.AppendUint64(dst, uint64(now))
	dst = append(dst, zeroes[:40]...)
	le.PutUint32(dst[at:], beatCRC(dst[at:], id))
	return dst
}

func beatCRC(b []byte, id LogID) uint32 {
	return crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, b[4:StreamHeaderSize])
}

// Head describes the segment in which Next will read, as the head of a stream
// that begins there. The log must have been sought in.
func (r *Reader) Head() (StreamHead, error) {
	if r.src == nil {
		if err := r.enter(1, nil); err != nil {
			return StreamHead{}, err
		}
	}
	return StreamHead{Epoch: r.epoch, Segment: originOf(&r.seg.head)}, nil
}

// Forget gives back the memory that a large frame took. The frame that Next
// returned last is no longer valid.
func (r *Reader) Forget() {
	if r.w != nil {
		r.w.buf = make([]byte, frameAlign)
	}
}

// A StreamReader reads a stream. It checks all that a frame and its place in a
// segment tell; whether it follows the frame before is for AppendCopy to check.
// Its memory is bounded by the largest frame.
type StreamReader struct {
	StreamHead
	Durable uint64 // the end of the log that is read, as far as the stream has told

	src     io.Reader
	segment uint64 // of the frame before
	buf     []byte
}

// NewStreamReader reads the header of a stream. src should be buffered.
func NewStreamReader(src io.Reader) (*StreamReader, error) {
	s := &StreamReader{src: src, buf: make([]byte, StreamHeaderSize)}
	if _, err := io.ReadFull(src, s.buf); err != nil {
		return nil, fmt.Errorf("reading the header of the stream: %w", err)
	}
	if err := s.Parse(s.buf); err != nil {
		return nil, err
	}
	s.segment = s.Segment.First
	return s, nil
}

// Next returns the next frame, valid until the next call, or nil for a
// heartbeat. io.EOF says that the stream ended between two of them; any other
// error that what came is not to be used.
func (s *StreamReader) Next() (*Frame, error) {
	s.buf = s.buf[:StreamHeaderSize]
	if _, err := io.ReadFull(s.src, s.buf); err != nil {
		return nil, err
	}
	if s.buf[4] == kindBeat {
		return nil, s.beat()
	}
	f, _, err := ParseFrame(s.buf, s.Segment.ID, s.segment)
	if err == io.ErrUnexpectedEOF { // the header is good, so its length can be believed
		n := frameHeaderSize + int(le.Uint32(s.buf[20:]))
		if cap(s.buf) < n {
			s.buf = append(make([]byte, 0, n), s.buf...)
		}
		s.buf = s.buf[:n]
		if _, err := io.ReadFull(s.src, s.buf[frameHeaderSize:]); err != nil {
			return nil, fmt.Errorf("reading a frame of the stream: %w", err)
		}
		f, _, err = ParseFrame(s.buf, s.Segment.ID, s.segment)
	}
	if err != nil {
		return nil, err
	}
	s.segment, s.Durable = f.Segment, max(s.Durable, f.Last())
	return &f, nil
}

func (s *StreamReader) beat() error {
	if le.Uint32(s.buf) != beatCRC(s.buf, s.Segment.ID) || s.buf[5] != 0 || le.Uint16(s.buf[6:]) != StreamHeaderSize || !allZero(s.buf[24:]) {
		return errors.New("wal: the CRC of a heartbeat does not fit, or it is of another form")
	}
	s.Durable = max(s.Durable, le.Uint64(s.buf[8:]))
	return nil
}
