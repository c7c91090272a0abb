package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"
)

// A BootID names the time since the machine was started; zero is unknown.
type BootID [16]byte

// Offsets of the words in END that change.
const (
	endEpochAt   = 48
	endDurableAt = 64 // on one cache line with the next
	endMovedAt   = 72
	endWakeAt    = 128
)

// endHeader is what END holds beside the durable end.
type endHeader struct {
	ID    LogID
	Boot  BootID
	Epoch uint64
}

// errEndAbsent is an END of which nothing was ever written: it has no bytes,
// or zeroes only.
var errEndAbsent = errors.New("END holds nothing")

// Marshal gives the 4096 bytes of an END with the given durable end.
func (h *endHeader) Marshal(durable uint64) []byte {
	b := make([]byte, pageSize)
	copy(b, endMagic)
	le.PutUint32(b[8:], formatVersion)
	copy(b[16:32], h.ID[:])
	copy(b[32:48], h.Boot[:])
	le.PutUint64(b[endEpochAt:], h.Epoch)
	le.PutUint64(b[endDurableAt:], durable)
	return b
}

// Unmarshal reads and validates an END, and gives its durable end.
func (h *endHeader) Unmarshal(b []byte) (durable uint64, err error) {
	if len(b) < pageSize || allZero(b) {
		return 0, errEndAbsent
	}
	if string(b[:8]) != endMagic {
		return 0, fmt.Errorf("END magic is %q, need %q", b[:8], endMagic)
	}
	if v := le.Uint32(b[8:]); v != formatVersion {
		return 0, fmt.Errorf("%w: END version %d, this program knows %d", ErrVersion, v, formatVersion)
	}
	if le.Uint32(b[12:]) != 0 || !allZero(b[56:64]) || !allZero(b[80:128]) || !allZero(b[132:pageSize]) {
		return 0, errors.New("reserved bytes of END are not zero")
	}
	copy(h.ID[:], b[16:32])
	copy(h.Boot[:], b[32:48])
	h.Epoch = le.Uint64(b[endEpochAt:])
	return le.Uint64(b[endDurableAt:]), nil
}

// word64 and word32 are the words of a shared page, for atomic use. The page
// begins at a multiple of 8 bytes.
func word64(page []byte, at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&page[at : at+8][0]))
}

func word32(page []byte, at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&page[at : at+4][0]))
}

// checkHost refuses machines whose atomic stores are not the file's byte order.
func checkHost() error {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		return errors.New("wal: this machine is big-endian; the log is shared in little-endian memory")
	}
	return nil
}
