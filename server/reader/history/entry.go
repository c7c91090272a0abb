package history

import (
	"encoding/binary"
	"errors"

	"assetledger/ledger"
)

// Flags in the byte with the kind.
const (
	flagGrid   = 1 << 4
	flagPlaced = 1 << 5
	flagTurned = 1 << 6
	// flagCarried marks a copy of an earlier entry: see carry.go.
	flagCarried = 1 << 7

	kindMask = 1<<4 - 1
	// paidKind is the kind of a ledger.StackChanged that has a payer.
	paidKind = 10

	flagHeld  = 1 << 6 // in the byte with the op
	flagFresh = 1 << 7 // in the byte with the op, for a copy
	opMask    = 1<<6 - 1
)

// lifeMark marks the keys for the entries of changes that created, renamed or removed
// a container.
const lifeMark = 1 << 63

// lifeKey returns the key for the entries of the changes that created, renamed or
// removed a container. It is below batchKey, even for the highest id.
func lifeKey(container int64) uint64 { return lifeMark | uint64(container-1) }

// batchKey is the key of the batches' times. It is greater than all others.
const batchKey = 1<<64 - 1

// An Entry is a change with its commit.
type Entry struct {
	Seq uint64
	ledger.Change
}

// appendEntry appends the encoding of a change: at most largestEntry bytes.
func appendEntry(dst []byte, seq uint64, c *ledger.Change) []byte {
	dst = binary.AppendUvarint(dst, seq)
	dst = binary.AppendUvarint(dst, uint64(c.Op))
	kind, op := byte(c.Kind), byte(c.OpKind)
	if c.Payer != 0 {
		kind = paidKind
	}
	if c.InGrid {
		kind |= flagGrid
	}
	if c.Placed {
		kind |= flagPlaced
	}
	if c.Turned {
		kind |= flagTurned
	}
	if c.Held != 0 {
		op |= flagHeld
	}
	dst = append(dst, kind, op)
	dst = appendNumbers(dst, int64(c.Stacks), int64(c.Instances))
	switch c.Kind {
	case ledger.StackChanged, ledger.HeldChanged:
		dst = appendNumbers(dst, c.ClassID, c.Key)
		dst = binary.AppendVarint(dst, c.Delta)
		dst = appendNumbers(dst, c.Quantity)
		if c.Held != 0 {
			dst = appendNumbers(dst, c.Held)
		}
		if c.Payer != 0 {
			dst = appendNumbers(dst, c.Payer)
		}
		if c.Kind == ledger.HeldChanged {
			dst = appendNumbers(dst, c.Hold.ID, c.Hold.Quantity, int64(c.Hold.HeldSeq), c.Hold.ExpiresAt)
		}
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		dst = appendNumbers(dst, c.InstanceID, c.ClassID, c.Key)
		if !c.InGrid {
			dst = appendNumbers(dst, int64(c.Slot))
		}
	case ledger.ContainerCreated, ledger.ContainerRenamed:
		i := &c.Info
		dst = appendNumbers(dst, int64(i.Kind), i.Owner, int64(i.CreatedSeq), int64(i.SlotCount), int64(i.GridWidth), int64(i.GridHeight), int64(len(i.Name)))
		dst = append(dst, i.Name...)
	}
	if c.InGrid {
		dst = appendNumbers(dst, int64(c.X), int64(c.Y), int64(c.Width), int64(c.Height))
	}
	return dst
}

// putStack writes the bytes that appendEntry would append for the same commit and
// change, and returns their number. It encodes nearly all changes, so it is written
// for speed.
func putStack(b []byte, c *ledger.StackChange) int {
	n := putNumber(b, 0, c.Seq)
	n = putNumber(b, n, uint64(c.Op))
	b[n], b[n+1] = byte(ledger.StackChanged), byte(c.OpKind)
	n = putNumber(b, n+2, uint64(c.Stacks))
	n = putNumber(b, n, uint64(c.Instances))
	n = putNumber(b, n, uint64(c.ClassID))
	n = putNumber(b, n, uint64(c.Key))
	n = putNumber(b, n, uint64(c.Delta<<1)^uint64(c.Delta>>63))
	return putNumber(b, n, uint64(c.Quantity))
}

// putNumber writes a number at offset n, and returns the offset after it.
func putNumber(b []byte, n int, v uint64) int {
	for v >= 0x80 {
		b[n] = byte(v) | 0x80
		v >>= 7
		n++
	}
	b[n] = byte(v)
	return n + 1
}

// appendNumbers appends numbers that must not be negative.
func appendNumbers(dst []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

// errEntry means that an entry can't be decoded although the CRC of its block is correct.
var errEntry = errors.New("an entry can't be decoded")

// entrySeq returns the commit of an entry.
func entrySeq(b []byte) uint64 {
	seq, _ := binary.Uvarint(b)
	return seq
}

// decode decodes an entry of the container.
func (e *Entry) decode(b []byte, container int64) error {
	d := decoder{b: b}
	*e = Entry{Seq: d.uint()}
	c := &e.Change
	c.Container, c.Op = container, int32(d.int())
	kind, op := d.byte(), d.byte()
	c.Kind, c.OpKind = ledger.ChangeKind(kind&kindMask), ledger.OpKind(op&opMask)
	paid := c.Kind == paidKind
	if paid {
		c.Kind = ledger.StackChanged
	}
	c.InGrid, c.Placed, c.Turned = kind&flagGrid != 0, kind&flagPlaced != 0, kind&flagTurned != 0
	c.Stacks, c.Instances = int(d.int()), int(d.int())
	switch c.Kind {
	case ledger.StackChanged, ledger.HeldChanged:
		c.ClassID, c.Key, c.Delta, c.Quantity = d.int(), d.int(), d.signed(), d.int()
		if op&flagHeld != 0 {
			c.Held = d.int()
		}
		if paid {
			c.Payer = d.int()
		}
		if c.Kind == ledger.HeldChanged {
			c.Hold = ledger.HoldInfo{ID: d.int(), ContainerID: container, ClassID: c.ClassID, Key: c.Key}
			c.Hold.Quantity, c.Hold.HeldSeq, c.Hold.ExpiresAt = d.int(), d.uint(), d.int()
		}
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		c.InstanceID, c.ClassID, c.Key = d.int(), d.int(), d.int()
		if !c.InGrid {
			c.Slot = int(d.int())
		}
	case ledger.ContainerCreated, ledger.ContainerRenamed:
		c.Info = ledger.ContainerInfo{ID: container, Kind: ledger.ContainerKind(d.int()), Owner: d.int(), CreatedSeq: d.uint(),
			SlotCount: int(d.int()), GridWidth: int(d.int()), GridHeight: int(d.int())}
		c.Info.Name = string(d.bytes(int(d.int())))
	case ledger.ContainerRemoved, ledger.ContainerTouched:
	default:
		d.bad = true
	}
	if c.InGrid {
		c.X, c.Y, c.Width, c.Height = int(d.int()), int(d.int()), int(d.int()), int(d.int())
	}
	if d.bad || len(d.b) != 0 {
		return errEntry
	}
	return nil
}

// A decoder decodes an entry. bad is set at the first missing or invalid part.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 { return int64(d.uint()) }

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) byte() byte {
	if b := d.bytes(1); b != nil {
		return b[0]
	}
	return 0
}
