package wal

import (
	"fmt"
	"hash/crc32"
)

// A segmentHeader is the first 4096 bytes of a segment (layout in doc.go).
type segmentHeader struct {
	ID      LogID
	Size    int64  // size of the file in bytes
	First   uint64 // global_seq of the first record, from 1
	Prev    uint32 // header CRC of the previous seal
	Ordinal uint32 // 0 for the first segment of a log
	Created int64  // Unix nanoseconds; in a later segment the time of the previous frame, see doc.go
}

func (h *segmentHeader) salt() uint32 { return segmentSalt(h.ID, h.First) }
func (h *segmentHeader) name() string { return segmentName(h.First) }

// Marshal returns the 4096 bytes of the header.
func (h *segmentHeader) Marshal() []byte {
	b := make([]byte, segmentHeaderSize)
	copy(b, segmentMagic)
	le.PutUint16(b[8:], formatVersion)
	le.PutUint32(b[12:], frameAlign)
	copy(b[16:32], h.ID[:])
	le.PutUint64(b[32:], uint64(h.Size))
	le.PutUint64(b[40:], h.First)
	le.PutUint32(b[48:], h.Prev)
	le.PutUint32(b[52:], h.Ordinal)
	le.PutUint64(b[56:], uint64(h.Created))
	le.PutUint32(b[segmentHeaderSize-4:], crc32.Checksum(b[:segmentHeaderSize-4], castagnoli))
	return b
}

// Unmarshal parses and validates the 4096 bytes. It returns ErrVersion for an
// intact header of a newer version.
func (h *segmentHeader) Unmarshal(b []byte) error {
	if len(b) != segmentHeaderSize {
		return fmt.Errorf("segment header of %d bytes, need %d", len(b), segmentHeaderSize)
	}
	if string(b[:8]) != segmentMagic {
		return fmt.Errorf("segment magic is %q, need %q", b[:8], segmentMagic)
	}
	want, got := le.Uint32(b[segmentHeaderSize-4:]), crc32.Checksum(b[:segmentHeaderSize-4], castagnoli)
	if got != want {
		return fmt.Errorf("segment header CRC is %08x, but its bytes give %08x", want, got)
	}
	if v := le.Uint16(b[8:]); v != formatVersion {
		return fmt.Errorf("%w: segment version %d, this program supports %d", ErrVersion, v, formatVersion)
	}
	if a := le.Uint32(b[12:]); a != frameAlign {
		return fmt.Errorf("segment alignment is %d, need %d", a, frameAlign)
	}
	if le.Uint16(b[10:]) != 0 || !allZero(b[64:segmentHeaderSize-4]) {
		return fmt.Errorf("reserved bytes of the segment header are not zero")
	}
	copy(h.ID[:], b[16:32])
	h.Size = int64(le.Uint64(b[32:]))
	h.First = le.Uint64(b[40:])
	h.Prev = le.Uint32(b[48:])
	h.Ordinal = le.Uint32(b[52:])
	h.Created = int64(le.Uint64(b[56:]))
	return h.Validate()
}

// Validate checks everything that can be checked without another file.
func (h *segmentHeader) Validate() error {
	if err := checkSegmentSize(h.Size); err != nil {
		return err
	}
	if h.First == 0 {
		return fmt.Errorf("segment begins at global_seq 0; the first is 1")
	}
	if h.Ordinal == 0 && (h.First != 1 || h.Prev != 0) {
		return fmt.Errorf("the first segment begins at global_seq %d with prev %08x, need 1 and 0", h.First, h.Prev)
	}
	if h.Ordinal != 0 && h.First == 1 {
		return fmt.Errorf("segment number %d begins at global_seq 1", h.Ordinal)
	}
	return nil
}
