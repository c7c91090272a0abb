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
// A frame is sent in its wire form. The stream header identifies the log. It also
// has the complete header of the segment that contains the first frame, so that a
// copy can begin with that segment:
//
//	 0  4  magic "ASLG"
//	 4  2  version, 1
//	 6  2  zero
//	 8  4  ordinal of the segment
//	12  4  prev: header CRC of the previous seal
//	16 16  log id
//	32  8  epoch: number of times that the sender's log was opened for writing
//	40  8  global_seq of the segment's first record
//	48  8  creation time of the segment, ns
//	56  4  size of the segment in units of 4096 bytes
//	60  4  CRC32C of bytes 0..59
//
// A heartbeat takes the place of a frame header, and has a kind that no frame has:
//
//	 0  4  CRC32C of bytes 4..63, with the CRC32C of the log id as initial value
//	 4  1  kind: 3
//	 5  1  zero
//	 6  2  its length, 64
//	 8  8  durable end of the sender's log
//	16  8  time by the sender's clock, ns
//	24 40  zeroes

const (
	streamMagic   = "ASLG"
	streamVersion = 1
	kindBeat      = 3

	// StreamHeaderSize is the size in bytes of a stream header, of a heartbeat and
	// of a frame's header.
	StreamHeaderSize = frameHeaderSize
)

// A StreamHead is the header of a stream.
type StreamHead struct {
	Epoch uint64
	// Segment is the segment that contains the first frame of the stream. If that frame
	// does not exist yet, it is the segment that contains the previous frame.
	Segment Origin
}

// Append appends the 64 bytes of the header to dst.
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

// Parse parses and validates the 64 bytes. It returns ErrVersion if a newer program
// wrote them.
func (h *StreamHead) Parse(b []byte) error {
	if len(b) != StreamHeaderSize || string(b[:4]) != streamMagic {
		return fmt.Errorf("wal: this is not a log stream: its header does not begin with %q", streamMagic)
	}
	if got := crc32.Checksum(b[:60], castagnoli); got != le.Uint32(b[60:]) {
		return fmt.Errorf("wal: the CRC of the stream header is %08x, but its bytes give %08x", le.Uint32(b[60:]), got)
	}
	if v := le.Uint16(b[4:]); v != streamVersion || b[6] != 0 || b[7] != 0 {
		return fmt.Errorf("%w: stream version %d, this program supports %d", ErrVersion, v, streamVersion)
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

// AppendBeat appends a heartbeat to dst, for the log whose id is id. The parameter now
// is in Unix nanoseconds.
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

// Head returns the header for a stream that begins at the reader's position. The
// reader must have been positioned with Seek or SeekAfter.
func (r *Reader) Head() (StreamHead, error) {
	if r.src == nil {
		if err := r.enter(1, nil); err != nil {
			return StreamHead{}, err
		}
	}
	return StreamHead{Epoch: r.epoch, Segment: originOf(&r.seg.head)}, nil
}

// Forget releases the memory of a large frame. The frame that Next returned last is
// no longer valid.
func (r *Reader) Forget() {
	if r.w != nil {
		r.w.buf = make([]byte, frameAlign)
	}
}

// A StreamReader reads a stream. It checks each frame in isolation, with ParseFrame.
// PutCopy checks whether the frame follows the previous one. A StreamReader's memory
// is bounded by the largest frame.
type StreamReader struct {
	StreamHead
	Durable uint64 // durable end of the sender's log, as far as frames and heartbeats have shown it

	src     io.Reader
	segment uint64 // segment of the previous frame
	buf     []byte
}

// NewStreamReader returns a reader for a stream, after it has read the stream's
// header. src should be buffered.
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

// Next returns the next frame, or nil for a heartbeat. The frame is valid until the
// next call. io.EOF means that the stream ended between two frames or heartbeats. Any
// other error means that the received bytes must not be used.
func (s *StreamReader) Next() (*Frame, error) {
	s.buf = s.buf[:StreamHeaderSize]
	if _, err := io.ReadFull(s.src, s.buf); err != nil {
		return nil, err
	}
	if s.buf[4] == kindBeat {
		return nil, s.beat()
	}
	f, _, err := ParseFrame(s.buf, s.Segment.ID, s.segment)
	if err == io.ErrUnexpectedEOF { // the header is valid, so its length can be trusted
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
		return errors.New("wal: a heartbeat has a wrong CRC or an unknown form")
	}
	s.Durable = max(s.Durable, le.Uint64(s.buf[8:]))
	return nil
}
