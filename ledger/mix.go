package ledger

import (
	"crypto/rand"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// The mixing hash of the state multiplies two 64-bit words to 128 bits and folds
// the halves, as the wyhash family does. It computes the items of the digest.
// Seeded with secret words, it places records in the indexes, except in those by text,
// and gives the trees their priorities. Digests are written to the log: never change
// the constants.
const (
	mix0 = 0x9e3779b97f4a7c15 // fraction of the golden ratio
	mix1 = 0xa0761d6478bd642f // random odd words, in which about 32 bits are set
	mix2 = 0xe7037ed1a0b428db
	mix3 = 0x8ebc6af09c88c6e3
	mix4 = 0x589965cc75374cc3
	mix5 = 0x1d8e4e27c47d124f
)

// fold multiplies to 128 bits and xors the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// mix4Words hashes four words under a tag that distinguishes kinds of items.
func mix4Words(tag, a, b, c, d uint64) uint64 {
	tag *= mix0
	return fold(fold(a^mix1, b^mix2^tag)^mix5, fold(c^mix3, d^mix4^tag)^mix0)
}

// secret is random for each process. Clients choose most of what is hashed for
// indexes and trees; with a public hash they could choose ids that all collide.
// Nothing that is written or shown depends on the secret.
var secret = newSecret()

type secretWords struct {
	a, b, c uint64
	bytes   maphash.Seed
}

func newSecret() secretWords {
	var b [24]byte
	rand.Read(b[:])
	le := binary.LittleEndian
	return secretWords{le.Uint64(b[:]), le.Uint64(b[8:]), le.Uint64(b[16:]), maphash.MakeSeed()}
}

// place2Words hashes two words under the secret, for indexes and trees.
func place2Words(a, b uint64) uint64 {
	return fold(fold(a^secret.a, b^secret.b)^secret.c, mix4)
}

// placeBytes hashes a string of bytes under the secret, for indexes.
func placeBytes(b []byte) uint64 { return maphash.Bytes(secret.bytes, b) }

// mixBytes hashes a string of bytes together with its length.
func mixBytes(b []byte) uint64 {
	h := uint64(len(b)) ^ mix5
	for len(b) > 8 {
		h = fold(h^mix1, binary.LittleEndian.Uint64(b)^mix2)
		b = b[8:]
	}
	var tail [8]byte
	copy(tail[:], b)
	return fold(h^mix3, binary.LittleEndian.Uint64(tail[:])^mix4)
}
