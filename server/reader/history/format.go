package history

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"
	"strconv"
	"strings"

	"assetledger/wal"
)

// The sizes and names described in doc.go.
const (
	headerBytes = 64
	footerBytes = 96
	rowBytes    = 32
	blockBytes  = 4096
	version     = 4 // version 1 is rejected: its batches and the container with the highest id share a key
	bareVersion = 2 // the oldest version that can be read; 2 has no runs of carried entries, and neither 2 nor 3 has payers

	fileExt = ".hist"
	tmpName = "next.tmp"
	digits  = 20
)

var magic = [8]byte{'A', 'L', 'H', 'I', 'S', 'T', '\r', '\n'}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// A span is the range of commits that a file covers.
type span struct{ first, last uint64 }

func (s span) name() string { return fmt.Sprintf("%020d-%020d%s", s.first, s.last, fileExt) }

// parseName parses a name that span.name has made.
func parseName(name string) (s span, ok bool) {
	base, isFile := strings.CutSuffix(name, fileExt)
	first, last, two := strings.Cut(base, "-")
	if !isFile || !two || len(first) != digits || len(last) != digits {
		return s, false
	}
	var err1, err2 error
	s.first, err1 = strconv.ParseUint(first, 10, 64)
	s.last, err2 = strconv.ParseUint(last, 10, 64)
	return s, err1 == nil && err2 == nil && s.first > 0 && s.first <= s.last && s.name() == name
}

// A row describes a block: its first entry, its location and its CRC.
type row struct {
	key, seq, offset uint64
	length, crc      uint32
}

func (r row) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, r.key)
	dst = binary.LittleEndian.AppendUint64(dst, r.seq)
	dst = binary.LittleEndian.AppendUint64(dst, r.offset)
	dst = binary.LittleEndian.AppendUint32(dst, r.length)
	return binary.LittleEndian.AppendUint32(dst, r.crc)
}

func parseRow(b []byte) row {
	return row{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:]),
		binary.LittleEndian.Uint32(b[24:]), binary.LittleEndian.Uint32(b[28:])}
}

// header returns the header of a file.
func header(version uint32, id wal.LogID, first uint64, before uint32) []byte {
	b := make([]byte, headerBytes)
	copy(b, magic[:])
	binary.LittleEndian.PutUint32(b[8:], version)
	copy(b[12:28], id[:])
	binary.LittleEndian.PutUint64(b[28:], first)
	binary.LittleEndian.PutUint32(b[36:], before)
	binary.LittleEndian.PutUint32(b[60:], checksum(b[:60]))
	return b
}

// A footer has the locations and CRCs of the parts of a file, the number of its
// changes, and the place of its last commit.
type footer struct {
	filter, rows, end uint64
	entries           uint64
	place             wal.Place
	filterCRC, rowCRC uint32
}

func (f footer) append(head []byte) []byte {
	b := make([]byte, footerBytes)
	for i, v := range []uint64{f.filter, f.rows, f.end, f.entries, f.place.Seq, uint64(f.place.Chain), uint64(f.place.Time), f.place.Digest} {
		binary.LittleEndian.PutUint64(b[8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[72:], f.filterCRC)
	binary.LittleEndian.PutUint32(b[76:], f.rowCRC)
	binary.LittleEndian.PutUint32(b[92:], footerCRC(head, b))
	return b
}

func footerCRC(head, b []byte) uint32 { return crc32.Update(checksum(head), castagnoli, b[:92]) }

func parseFooter(head, b []byte) (f footer, ok bool) {
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
	f = footer{filter: at(0), rows: at(8), end: at(16), entries: at(24),
		place:     wal.Place{Seq: at(32), Chain: uint32(at(40)), Time: int64(at(48)), Digest: at(56)},
		filterCRC: binary.LittleEndian.Uint32(b[72:]), rowCRC: binary.LittleEndian.Uint32(b[76:])}
	return f, binary.LittleEndian.Uint32(b[92:]) == footerCRC(head, b) && string(f.append(head)) == string(b)
}

// A filter is a Bloom filter of the keys in a file. With eight bits for each key
// and three tests, about one absent key in thirty seems present.
type filter []byte

const (
	filterBits  = 8
	filterTests = 3
)

func newFilter(keys int) filter { return make(filter, (max(keys, 1)*filterBits+7)/8) }

// spread mixes the bits of a key.
func spread(key uint64) (uint64, uint64) {
	hi, lo := bits.Mul64(key^0x9e3779b97f4a7c15, 0xd1342543de82ef95)
	x := hi ^ lo
	x = (x ^ x>>32) * 0xff51afd7ed558ccd
	return x ^ x>>29, x>>17 | 1
}

func (f filter) each(key uint64, fn func(bit uint64) bool) bool {
	x, step := spread(key)
	for range filterTests {
		bit, _ := bits.Mul64(x, uint64(len(f))*8)
		if !fn(bit) {
			return false
		}
		x += step * 0x9e3779b97f4a7c15
	}
	return true
}

func (f filter) add(key uint64) {
	f.each(key, func(bit uint64) bool { f[bit/8] |= 1 << (bit % 8); return true })
}

func (f filter) has(key uint64) bool {
	return f.each(key, func(bit uint64) bool { return f[bit/8]>>(bit%8)&1 != 0 })
}
