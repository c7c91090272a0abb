package ledger

import (
	"math/bits"
	"strconv"
)

// Uint128 is an unsigned 128-bit integer, for totals that may exceed 2^63.
type Uint128 struct{ Hi, Lo uint64 }

// Add returns u + v modulo 2^128.
func (u Uint128) Add(v uint64) Uint128 {
	lo, carry := bits.Add64(u.Lo, v, 0)
	return Uint128{u.Hi + carry, lo}
}

// Sub returns u - v modulo 2^128.
func (u Uint128) Sub(v uint64) Uint128 {
	lo, borrow := bits.Sub64(u.Lo, v, 0)
	return Uint128{u.Hi - borrow, lo}
}

// Append appends u in decimal.
func (u Uint128) Append(dst []byte) []byte {
	if u.Hi == 0 {
		return strconv.AppendUint(dst, u.Lo, 10)
	}
	const e19 = 10_000_000_000_000_000_000 // largest power of ten in a uint64
	hi, rem := u.Hi/e19, u.Hi%e19
	lo, digits := bits.Div64(rem, u.Lo, e19)
	dst = Uint128{hi, lo}.Append(dst)
	var tail [19]byte
	for i := len(tail) - 1; i >= 0; i-- {
		tail[i] = byte('0' + digits%10)
		digits /= 10
	}
	return append(dst, tail[:]...)
}

// String returns u in decimal.
func (u Uint128) String() string { return string(u.Append(nil)) }
