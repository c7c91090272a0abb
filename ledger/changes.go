package ledger

import (
	"slices"
	"unsafe"
)

// Changes collects what replayed commits change, in order. The zero value is
// empty. Nearly all of it is the quantity of a stack, and takes one cache line here.
type Changes struct {
	list   []StackChange
	others []Change // those that a StackChange can't tell
}

// A StackChange is a Change of a stack that is in no Grid and of which nothing
// is held, with its commit; or it stands for another Change: see Changes.Other.
type StackChange struct {
	Seq               uint64
	Container         int64
	ClassID, Key      int64
	Delta, Quantity   int64
	Stacks, Instances uint32
	Op                int32
	OpKind            OpKind
	other             bool // Op is the place in Changes.others
}

// changesRoom is how many changes a Changes without room makes room for.
const changesRoom = 512

// Grow makes room for n changes. What one operation changes is not divided, so
// there may be a few more.
func (c *Changes) Grow(n int) { c.list = slices.Grow(c.list, n) }

// add returns a new element of the list, with old values.
func (c *Changes) add() *StackChange {
	n := len(c.list)
	if n == cap(c.list) {
		c.list = slices.Grow(c.list, changesRoom)
	}
	c.list = c.list[:n+1]
	return &c.list[n]
}

// List returns all changes, in order.
func (c *Changes) List() []StackChange { return c.list }

// Other returns the change that an element of List stands for, nil if it is a
// change itself.
func (c *Changes) Other(s *StackChange) *Change {
	if !s.other {
		return nil
	}
	return &c.others[s.Op]
}

// HasOthers reports whether Other finds any.
func (c *Changes) HasOthers() bool { return len(c.others) > 0 }

// Bytes is about how much memory the changes take.
func (c *Changes) Bytes() int {
	const short, whole = 64, 352
	return short*len(c.list) + whole*len(c.others)
}

// Reset makes c empty, and keeps its memory.
func (c *Changes) Reset() { c.list, c.others = c.list[:0], c.others[:0] }

// PrefetchChanges loads changes that are read soon into the CPU's cache. It does not
// wait for them.
func PrefetchChanges(list []*StackChange) {
	prefetchLines(*(*[]unsafe.Pointer)(unsafe.Pointer(&list)))
}

// ahead appends the addresses of the next n elements of the list. They were last
// in the processor's cache long ago, if ever.
func (c *Changes) ahead(at []unsafe.Pointer, n int) []unsafe.Pointer {
	room := c.list[len(c.list):cap(c.list)]
	for i := range room[:min(n, len(room))] {
		at = append(at, unsafe.Pointer(&room[i]))
	}
	return at
}

// Room is the number of changes for which c has memory.
func (c *Changes) Room() int { return max(cap(c.list), cap(c.others)) }

func (c *Changes) full() bool { return len(c.list)+2 > cap(c.list) } // a transfer makes two
