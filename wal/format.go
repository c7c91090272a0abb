package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// On-disk constants. Changing any of them except DefaultSegmentSize requires a new
// version.
const (
	formatVersion = 1

	segmentMagic = "ASTLSEG\n"
	endMagic     = "ASTLEND\n"

	segmentHeaderSize = 4096
	frameHeaderSize   = 64
	frameAlign        = 512
	sealSize          = frameAlign
	recordPrefix      = 4 // length prefix of each record

	pageSize   = 4096 // size of END and of readers' files
	bodyCap    = 16 << 20
	minSegment = 64 << 10
	maxSegment = 4 << 30

	// DefaultSegmentSize is the default size of a segment in bytes.
	DefaultSegmentSize = 64 << 20
)

// Names and permissions in the log's directory, and the size of buffers for copying.
const (
	lockName    = "LOCK"
	endName     = "END"
	segmentDir  = "wal"
	ckptDir     = "ckpt"
	readersDir  = "readers"
	spareName   = "next.tmp"
	segmentExt  = ".seg"
	ckptExt     = ".ckpt"
	seqDigits   = 20
	dirMode     = 0o700
	fileMode    = 0o600
	copyBufSize = 1 << 20
)

var (
	le         = binary.LittleEndian
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	// zeroes fills spares and torn tails. It must not be written to.
	zeroes [copyBufSize]byte
)

// A LogID identifies a log. It is random and never changes.
type LogID [16]byte

func (id LogID) String() string { return fmt.Sprintf("%x", id[:]) }

// segmentSalt returns the initial value of the CRCs of a segment's frames.
func segmentSalt(id LogID, first uint64) uint32 {
	var b [24]byte
	copy(b[:16], id[:])
	le.PutUint64(b[16:], first)
	return crc32.Checksum(b[:], castagnoli)
}

// alignUp rounds n up to the alignment of frames.
func alignUp(n int64) int64 { return (n + frameAlign - 1) &^ (frameAlign - 1) }

// frameSize returns the size on disk, in bytes, of a frame with a body of n bytes.
func frameSize(n int) int64 { return alignUp(frameHeaderSize + int64(n)) }

// maxFrame returns the maximum size of a data frame in a segment of the given size,
// in bytes: half of the segment's room, or the size of a frame with a body of bodyCap
// bytes if that is less. So an empty segment always has room for the two batches that
// may be executed but not written yet (see Writer.Room).
func maxFrame(segmentSize int64) int64 {
	half := (segmentSize - segmentHeaderSize - sealSize) / 2 &^ (frameAlign - 1)
	return min(half, frameSize(bodyCap))
}

// maxBody returns the maximum size of the body of such a frame, in bytes.
func maxBody(segmentSize int64) int {
	return int(min(maxFrame(segmentSize)-frameHeaderSize, bodyCap))
}

// checkSegmentSize returns an error if a segment can't have a size of n bytes.
func checkSegmentSize(n int64) error {
	if n < minSegment || n > maxSegment || n%segmentHeaderSize != 0 {
		return fmt.Errorf("wal: segment size %d: need a multiple of %d from %d to %d",
			n, segmentHeaderSize, minSegment, int64(maxSegment))
	}
	return nil
}

// segmentName returns the file name of the segment whose first record is seq.
func segmentName(seq uint64) string { return seqName(seq, segmentExt) }

func seqName(seq uint64, ext string) string { return fmt.Sprintf("%0*d%s", seqDigits, seq, ext) }

// parseSeqName parses a name made by seqName.
func parseSeqName(name, ext string) (seq uint64, ok bool) {
	digits, found := strings.CutSuffix(name, ext)
	if !found || len(digits) != seqDigits {
		return 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	return seq, err == nil
}

// allZero reports whether b holds only zeroes.
func allZero(b []byte) bool {
	for len(b) >= 8 {
		if le.Uint64(b) != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}
