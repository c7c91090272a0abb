package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A checkpoint is a serialized state, from which a daemon can start without
// replaying the whole log. Equal logs give equal bytes if the capacity for idempotency
// keys is equal too: the order of the items is fixed, and nothing in them depends on
// how the state came about. The version is 1 or 2, and the byte order is
// little-endian:
//
//	header   128 bytes
//	block    16 bytes and 1 byte to 1 MiB of items; as many as are needed
//	trailer  24 bytes; the end of the file
//
//	header                                      block
//	  0  8  magic "ASTLCKP\n"                    0  4  CRC32C of the rest of the block, with the
//	  8  2  version, 1 or 2                              CRC of the header as its initial value
//	 10  2  zero                                 4  4  length of the items in bytes
//	 12  4  prev: header CRC of the last frame   8  8  number of the block, from 0
//	 16 16  id of the log                       16     items; none spans two blocks
//	 32  8  global_seq of the last commit
//	 40  8  time of the last frame, ns          trailer
//	 48  8  state digest                         0  4  CRC32C of bytes 4..23, initial value as in a block
//	 56  8  id of the next instance              4  4  zero
//	 64  8  number of classes                    8  8  number of blocks
//	 72  8  number of shapes                    16  4  CRC32C of the CRCs of all blocks
//	 80  8  number of containers                20  4  zero
//	 88  8  number of stacks
//	 96  8  number of instances
//	104  8  number of idempotency keys
//	112  8  capacity for idempotency keys
//	120  4  zero
//	124  4  CRC32C of bytes 0..123
//
// An item is one byte for its kind, then unsigned LEB128 numbers in their
// shortest form. A string is its length and its bytes. Items come in this order,
// unless their description says otherwise:
//
//	1 class       id, registered_seq, decimals*2+fungible, name, added (high and low 64 bits),
//	              removed (the same), minted, burned; by id
//	2 shape       of the class before it: key+1 (0: all keys), width, height; by key
//	3 container   id, owner (0: none), created_seq, updated_seq, kind;
//	              Slots: slot_count; Grid: width, height; by id
//	4 stack       of the container before it: class_id, key, quantity; by class_id and key
//	              in a Grid: place
//	5 stack       of the same container and class as the stack before it: key, quantity
//	              in a Grid: place
//	6 instance    id, class_id, key, minted_seq, where; in a slot: container_id, slot_index;
//	              in a Grid: container_id, place; attached: parent; by id
//	7 key         (idempotency key) global_seq, batch_seq, endpoint, 16 bytes of request hash,
//	              first minted id, number minted, the key itself, metadata; oldest first
//	8 hold        id, container_id, class_id, key, quantity, held_seq, expires_at (0: never); by id
//	9 name        of the container before it, or code of the class before it
//	10 assigned   next ids to assign to a container and to a class, each minus 2^52; present
//	              only if a name or code was ever given, and then the first item
//	11 long key   as key, but metadata longer than 256 bytes is replaced by its length and the
//	              first 16 bytes of its SHA-256; the log holds the text. Ordered among the keys
//	12 reversal   commit reversed, commit that reversed it; by the first
//	  place       x, y, width, height*2+turned
//
// Only version 2 has items of kind 8 and above. A state without such an item is
// written as version 1. In the key item of a registration, the first minted id is the
// id of the class if a name or code had been given by then, else 0.
//
// The counts in the header are not trusted: once all items have been read, the counts
// are compared with them.
const (
	checkpointVersion1 = 1
	checkpointVersion2 = 2
)

const (
	checkpointMagic   = "ASTLCKP\n"
	checkpointHeader  = 128
	checkpointBlock   = 16      // bytes before the items
	checkpointTrailer = 24      // bytes
	maxBlock          = 1 << 20 // bytes of items
	maxItem           = 20 << 10
)

const (
	itemClass = iota + 1
	itemShape
	itemContainer
	itemStack
	itemNextStack
	itemInstance
	itemKey
	itemHold
	itemName
	itemAssigned
	itemLongKey
	itemReversal
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrCheckpointVersion means that a newer version of the program is required.
var ErrCheckpointVersion = errors.New("the checkpoint was made by a newer version of this program")

// ErrCheckpointWindow means that the header of the checkpoint is valid, but says that
// the checkpoint lacks idempotency keys that the configuration requires. The rest of
// the checkpoint has not been checked.
var ErrCheckpointWindow = errors.New("the checkpoint holds fewer idempotency keys than -idempotency-keys requires")

// A CheckpointPlace is the position of a checkpoint in a log. Package ledger does
// not interpret these values. It only stores them for its caller.
type CheckpointPlace struct {
	LogID [16]byte
	Chain uint32 // chain value of the last batch
	Time  int64  // of the last batch, Unix nanoseconds
}

// CheckpointInfo is the header of a checkpoint.
type CheckpointInfo struct {
	CheckpointPlace
	version      uint16
	Seq          uint64 // global_seq of the last commit
	Digest       uint64 // State.Digest
	NextInstance int64

	Classes, Shapes, Containers, Stacks, Instances uint64
	Keys, Window                                   uint64 // number of idempotency keys, and capacity for them
}

// usable reports whether a state with room for window idempotency keys can start from
// the checkpoint. It can if the checkpoint had room for at least as many, or was not
// full, so that none had been forgotten.
func (h *CheckpointInfo) usable(window uint64) bool { return h.Window >= window || h.Keys < h.Window }

// marshal returns the 128 bytes of the header.
func (h *CheckpointInfo) marshal() []byte {
	le := binary.LittleEndian
	b := make([]byte, checkpointHeader)
	copy(b, checkpointMagic)
	le.PutUint16(b[8:], h.version)
	le.PutUint32(b[12:], h.Chain)
	copy(b[16:], h.LogID[:])
	for i, v := range [...]uint64{h.Seq, uint64(h.Time), h.Digest, uint64(h.NextInstance),
		h.Classes, h.Shapes, h.Containers, h.Stacks, h.Instances, h.Keys, h.Window} {
		le.PutUint64(b[32+8*i:], v)
	}
	le.PutUint32(b[124:], crc32.Checksum(b[:124], castagnoli))
	return b
}

// unmarshal decodes and validates the 128 bytes of the header.
func (h *CheckpointInfo) unmarshal(b []byte) error {
	le := binary.LittleEndian
	if string(b[:8]) != checkpointMagic {
		return fmt.Errorf("it begins with %q instead of %q", b[:8], checkpointMagic)
	}
	if got, want := crc32.Checksum(b[:124], castagnoli), le.Uint32(b[124:]); got != want {
		return fmt.Errorf("the CRC of the header is %08x, but its bytes give %08x", want, got)
	}
	if h.version = le.Uint16(b[8:]); h.version < checkpointVersion1 || h.version > checkpointVersion2 {
		return fmt.Errorf("%w: it has version %d, this program supports %d and %d",
			ErrCheckpointVersion, h.version, checkpointVersion1, checkpointVersion2)
	}
	if le.Uint16(b[10:]) != 0 || le.Uint32(b[120:]) != 0 {
		return errors.New("reserved bytes of the header are not zero")
	}
	h.Chain = le.Uint32(b[12:])
	copy(h.LogID[:], b[16:32])
	word := func(i int) uint64 { return le.Uint64(b[32+8*i:]) }
	h.Seq, h.Time, h.Digest, h.NextInstance = word(0), int64(word(1)), word(2), int64(word(3))
	h.Classes, h.Shapes, h.Containers, h.Stacks, h.Instances = word(4), word(5), word(6), word(7), word(8)
	h.Keys, h.Window = word(9), word(10)
	if h.NextInstance < 1 || h.Keys > h.Window {
		return fmt.Errorf("the header is impossible: the next instance is %d, and there are %d idempotency keys with a capacity of %d", h.NextInstance, h.Keys, h.Window)
	}
	return nil
}

// blockSum returns the CRC of b, the bytes of a block or trailer from offset 4 on. salt,
// the CRC of the header, is its initial value.
func blockSum(salt uint32, b []byte) uint32 { return crc32.Update(salt, castagnoli, b) }
