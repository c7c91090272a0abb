package httpserver

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// ContentHash returns a 64-bit hash of b. Each step folds 16 bytes with a 64 x
// 64-bit multiplication, as wyhash does. The hash need not resist chosen input: a
// client that can write to the ledger gains nothing from a wrong "not modified"
// response. The algorithm is fixed, so that an ETag stays valid across restarts and
// is the same on every read daemon of a ledger.
func ContentHash(b []byte) uint64 {
	const k0, k1, k2 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb
	h := uint64(len(b)) ^ k0
	for len(b) >= 16 {
		h = fold(binary.LittleEndian.Uint64(b)^h^k1, binary.LittleEndian.Uint64(b[8:])^k2)
		b = b[16:]
	}
	var rest [16]byte
	copy(rest[:], b)
	h = fold(binary.LittleEndian.Uint64(rest[:])^h^k2, binary.LittleEndian.Uint64(rest[8:])^k0)
	return fold(h^k1, k2)
}

func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

const ETagLength = 18 // of "0123456789abcdef" with its quotes

// AppendETag appends the strong entity tag of a hash.
func AppendETag(dst []byte, hash uint64) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, digits[hash>>shift&15])
	}
	return append(dst, '"')
}

// MatchesETag reports whether an If-None-Match header contains tag, by the weak
// comparison of RFC 9110, section 13.1.2. The values of the header are lists of
// tags, each optionally marked W/, or * for any tag.
func MatchesETag(values []string, tag string) bool {
	for _, list := range values {
		for list != "" {
			list = strings.TrimLeft(list, " \t,")
			if strings.HasPrefix(list, "*") {
				return true
			}
			list = strings.TrimPrefix(list, "W/")
			if !strings.HasPrefix(list, `"`) {
				break // not a list of tags, so nothing in it matches
			}
			end := strings.IndexByte(list[1:], '"')
			if end < 0 {
				break
			}
			if list[:end+2] == tag {
				return true
			}
			list = list[end+2:]
		}
	}
	return false
}
