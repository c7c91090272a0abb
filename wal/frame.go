package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A Frame is one batch of commits, made durable by one sync.
type Frame struct {
	First  uint64 // global_seq of the first record
	Count  uint32
	Time   int64  // Unix nanoseconds, never decreasing
	Digest uint64 // state digest after the batch
	Chain  uint32 // header CRC, which the next frame's prev equals; set when the frame is written, encoded, read or parsed
	Body   []byte // for each record a 4-byte length and the record; valid until the next read if the frame was read

	Segment uint64 // first global_seq of the segment that contains the frame; set when Chain is

	begins int64  // size of the segment that the frame begins; 0 if it announces none
	wire   []byte // header and body as on disk; nil unless the frame was read, parsed or encoded
}

// Last returns the global_seq of the last record.
func (f *Frame) Last() uint64 { return f.First + uint64(f.Count) - 1 }

// AppendRecord appends a record, with its length in 4 bytes before it, to a body.
func AppendRecord(body, record []byte) []byte {
	body = le.AppendUint32(body, uint32(len(record)))
	return append(body, record...)
}

// Each calls fn for every record of the frame, in order, until fn returns an error,
// and returns that error. It also returns an error if the records do not add up to the
// body. The record aliases the body.
func (f *Frame) Each(fn func(seq uint64, record []byte) error) error {
	b := f.Body
	for i := range uint64(f.Count) {
		record, rest, ok := cutRecord(b)
		if !ok {
			return errRecords
		}
		if err := fn(f.First+i, record); err != nil {
			return err
		}
		b = rest
	}
	if len(b) != 0 {
		return errRecords
	}
	return nil
}

var errRecords = errors.New("wal: the records of a frame do not add up to its body")

func cutRecord(b []byte) (record, rest []byte, ok bool) {
	if len(b) < recordPrefix {
		return nil, nil, false
	}
	n := uint64(le.Uint32(b))
	if n > uint64(len(b)-recordPrefix) {
		return nil, nil, false
	}
	return b[recordPrefix : recordPrefix+n], b[recordPrefix+n:], true
}

// checkRecords returns an error unless body consists of exactly count records.
func checkRecords(body []byte, count uint32) error {
	for ; count > 0; count-- {
		_, rest, ok := cutRecord(body)
		if !ok {
			return errRecords
		}
		body = rest
	}
	if len(body) != 0 {
		return errRecords
	}
	return nil
}

const (
	kindData = 1
	kindSeal = 2

	// flagBegins means that the frame is the first of a segment that is not the
	// log's first. The frames before it, and the size that it announces, determine the
	// header of that segment.
	flagBegins = 1
)

// A frameHeader is the 64 bytes before a body (layout in doc.go).
type frameHeader struct {
	CRC     uint32 // CRC of this header; the Prev of the next frame must equal it
	Kind    uint8
	First   uint64
	Count   uint32
	BodyLen uint32
	BodyCRC uint32
	Prev    uint32
	Time    int64
	Digest  uint64
	Begins  int64 // with flagBegins, size in bytes of the segment that begins here; otherwise 0
}

// last returns the global_seq of the last record. For a seal, that is the last record
// of the previous frame.
func (h *frameHeader) last() uint64 { return h.First + uint64(h.Count) - 1 }

// size returns the number of bytes of header, body and padding.
func (h *frameHeader) size() int64 { return frameSize(int(h.BodyLen)) }

// Marshal writes the header with its CRC into b[:64], and sets h.CRC.
func (h *frameHeader) Marshal(b []byte, salt uint32) {
	b = b[:frameHeaderSize]
	b[4], b[5] = h.Kind, 0
	le.PutUint16(b[6:], frameHeaderSize)
	le.PutUint64(b[8:], h.First)
	le.PutUint32(b[16:], h.Count)
	le.PutUint32(b[20:], h.BodyLen)
	le.PutUint32(b[24:], h.BodyCRC)
	le.PutUint32(b[28:], h.Prev)
	le.PutUint64(b[32:], uint64(h.Time))
	le.PutUint64(b[40:], h.Digest)
	clear(b[48:])
	if h.Begins != 0 {
		b[5] = flagBegins
		le.PutUint64(b[48:], uint64(h.Begins))
	}
	h.CRC = crc32.Update(salt, castagnoli, b[4:])
	le.PutUint32(b, h.CRC)
}

// Unmarshal parses b[:64]. It returns false if the kind is 0 or the CRC is wrong.
func (h *frameHeader) Unmarshal(b []byte, salt uint32) bool {
	b = b[:frameHeaderSize]
	h.CRC = le.Uint32(b)
	if b[4] == 0 || h.CRC != crc32.Update(salt, castagnoli, b[4:]) {
		return false
	}
	h.Kind = b[4]
	h.First = le.Uint64(b[8:])
	h.Count = le.Uint32(b[16:])
	h.BodyLen = le.Uint32(b[20:])
	h.BodyCRC = le.Uint32(b[24:])
	h.Prev = le.Uint32(b[28:])
	h.Time = int64(le.Uint64(b[32:]))
	h.Digest = le.Uint64(b[40:])
	h.Begins = 0
	if b[5] == flagBegins {
		h.Begins = int64(le.Uint64(b[48:]))
	}
	return true
}

// Validate checks a header whose CRC is right. b contains its 64 bytes.
func (h *frameHeader) Validate(b []byte) error {
	reserved := b[48:frameHeaderSize]
	switch b[5] {
	case 0:
	case flagBegins:
		if err := checkSegmentSize(h.Begins); err != nil {
			return fmt.Errorf("frame that begins a segment: %w", err)
		}
		reserved = reserved[8:]
	default:
		return fmt.Errorf("%w: unknown frame flags %#02x", ErrVersion, b[5])
	}
	if n := le.Uint16(b[6:]); n != frameHeaderSize {
		return fmt.Errorf("frame header length is %d, need %d", n, frameHeaderSize)
	}
	if !allZero(reserved) {
		return errors.New("reserved bytes of the frame header are not zero")
	}
	switch h.Kind {
	case kindData:
		if h.Count == 0 || uint64(h.Count)*recordPrefix > uint64(h.BodyLen) {
			return fmt.Errorf("%d records in a body of %d bytes", h.Count, h.BodyLen)
		}
	case kindSeal:
		if h.Count != 0 || h.BodyLen != 0 || h.Begins != 0 {
			return fmt.Errorf("a seal with %d records and %d bytes that begins a segment of %d", h.Count, h.BodyLen, h.Begins)
		}
	default:
		return fmt.Errorf("%w: unknown frame kind %d", ErrVersion, h.Kind)
	}
	if h.BodyLen > bodyCap {
		return fmt.Errorf("body of %d bytes; the maximum is %d", h.BodyLen, bodyCap)
	}
	if h.First == 0 || h.First > math.MaxUint64-uint64(h.Count) {
		return fmt.Errorf("frame of %d records begins at global_seq %d", h.Count, h.First)
	}
	return nil
}

// appendFrame appends a complete data frame with its padding to dst, and returns
// its header.
func appendFrame(dst []byte, f *Frame, prev, salt uint32) ([]byte, frameHeader) {
	h := frameHeader{
		Kind: kindData, First: f.First, Count: f.Count, BodyLen: uint32(len(f.Body)),
		BodyCRC: crc32.Update(salt, castagnoli, f.Body), Prev: prev, Time: f.Time, Digest: f.Digest, Begins: f.begins,
	}
	return appendRaw(dst, &h, f.Body, salt), h
}

// appendSeal appends a seal to dst. The parameters time and digest are those of the
// previous frame.
func appendSeal(dst []byte, next uint64, prev uint32, time int64, digest uint64, salt uint32) ([]byte, frameHeader) {
	h := frameHeader{Kind: kindSeal, First: next, BodyCRC: crc32.Update(salt, castagnoli, nil), Prev: prev, Time: time, Digest: digest}
	return appendRaw(dst, &h, nil, salt), h
}

func appendRaw(dst []byte, h *frameHeader, body []byte, salt uint32) []byte {
	at := len(dst)
	dst = append(dst, zeroes[:frameHeaderSize]...)
	h.Marshal(dst[at:], salt)
	dst = append(dst, body...)
	return append(dst, zeroes[:h.size()-frameHeaderSize-int64(len(body))]...)
}
