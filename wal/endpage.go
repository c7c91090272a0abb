package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync/atomic"
	"time"
	"unsafe"
)

// A BootID identifies one boot of the machine. It is zero if unknown.
type BootID [16]byte

// Offsets of words in END; see doc.go.
const (
	endEpochAt   = 48
	endDurableAt = 64 // on the same cache line as the next word
	endMovedAt   = 72
	endCheckAt   = 80 // two words, on the same cache line
	endWakeAt    = 128

	endCRCAt = 56 // CRC32C of the bytes before it
)

// An endHeader is the part of END before the durable end.
type endHeader struct {
	ID    LogID
	Boot  BootID
	Epoch uint64
}

// errEndAbsent is the error for an END that was never written: it is shorter than a
// page, or has only zeroes.
var errEndAbsent = errors.New("END holds nothing")

// Marshal returns the 4096 bytes of an END with the given durable end.
func (h *endHeader) Marshal(durable uint64) []byte {
	b := make([]byte, pageSize)
	copy(b, endMagic)
	le.PutUint32(b[8:], formatVersion)
	copy(b[16:32], h.ID[:])
	copy(b[32:48], h.Boot[:])
	le.PutUint64(b[endEpochAt:], h.Epoch)
	le.PutUint32(b[endCRCAt:], crc32.Checksum(b[:endCRCAt], castagnoli))
	le.PutUint64(b[endDurableAt:], durable)
	le.PutUint64(b[endCheckAt:], ^durable)
	le.PutUint64(b[endCheckAt+8:], ^durable)
	return b
}

// checkEndPage validates an END that no writer is storing into, such as one that a
// crash left. It detects a garbled END by the CRC of the words that change only when
// the log is opened, and by the complement of the durable end. The complement is stored
// before the durable end, alternately in one of two words. So one of them matches the
// durable end at every moment.
func checkEndPage(b []byte) error {
	want, got := le.Uint32(b[endCRCAt:]), crc32.Checksum(b[:endCRCAt], castagnoli)
	if want != got {
		return fmt.Errorf("END CRC is %08x, but its bytes give %08x", want, got)
	}
	durable := le.Uint64(b[endDurableAt:])
	if x, y := ^le.Uint64(b[endCheckAt:]), ^le.Uint64(b[endCheckAt+8:]); durable != x && durable != y {
		return fmt.Errorf("the durable end %d in END matches neither of its check words, %d and %d", durable, x, y)
	}
	return nil
}

// Unmarshal parses an END and returns its durable end. It validates as much as is
// possible while a writer stores into it.
func (h *endHeader) Unmarshal(b []byte) (durable uint64, err error) {
	if len(b) < pageSize || allZero(b) {
		return 0, errEndAbsent
	}
	if string(b[:8]) != endMagic {
		return 0, fmt.Errorf("END magic is %q, need %q", b[:8], endMagic)
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return 0, fmt.Errorf("%w: END version %d, this program supports %d", ErrVersion, v, formatVersion)
	}
	if le.Uint32(b[12:]) != 0 || !allZero(b[60:64]) || !allZero(b[96:128]) || !allZero(b[132:pageSize]) {
		return 0, errors.New("reserved bytes of END are not zero")
	}
	copy(h.ID[:], b[16:32])
	copy(h.Boot[:], b[32:48])
	h.Epoch = le.Uint64(b[endEpochAt:])
	return le.Uint64(b[endDurableAt:]), nil
}

// A fixedPage is an END that never changes. It is used to read a log whose own END
// may not cover all of it.
type fixedPage []byte

func (p fixedPage) Bytes() []byte                           { return p }
func (fixedPage) Sync() error                               { return nil }
func (fixedPage) Wait(_ int, _ uint32, limit time.Duration) { time.Sleep(limit) }
func (fixedPage) Wake(int)                                  {}
func (fixedPage) Stale() bool                               { return false }
func (fixedPage) Close() error                              { return nil }

// word64 and word32 return words of a shared page for atomic use. The address of the
// page must be a multiple of 8.
func word64(page []byte, at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&page[at : at+8][0]))
}

func word32(page []byte, at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&page[at : at+4][0]))
}

// checkHost returns an error on machines whose byte order differs from that of the
// files.
func checkHost() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return errors.New("wal: this machine is big-endian; the log is shared in little-endian memory")
	}
	return nil
}
