package ledger

import (
	"slices"
	"unsafe"
)

// Changes collects the changes of replayed commits, in order. The zero value is
// empty. Typically, nearly all of the changes are to the quantity of a stack and take one
// cache line each.
type Changes struct {
	list   []StackChange
	others []Change // changes that need more fields than a StackChange has
}

// A StackChange is a change that an AddFungible, RemoveFungible or TransferFungible
// made to a stack, if no stack that the operation changed is in a Grid or has holds.
// Seq is the global_seq of its commit. For any other change, a StackChange is a
// reference; see Changes.Other.
type StackChange struct {
	Seq               uint64
	Container         int64
	ClassID, Key      int64
	Delta, Quantity   int64
	Stacks, Instances uint32
	Op                int32
	OpKind            OpKind
	other             bool // Op is the index in Changes.others
}

// changesRoom is the minimum number of changes by which a full Changes grows.
const changesRoom = 512

// Grow makes room for n changes. The changes of one operation stay together, so c may
// receive more than that.
func (c *Changes) Grow(n int) { c.list = slices.Grow(c.list, n) }

// add appends an element to the list and returns it. The caller must set all fields.
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

// Other returns the change that an element of List refers to, or nil if the element
// is a change itself.
func (c *Changes) Other(s *StackChange) *Change {
	if !s.other {
		return nil
	}
	return &c.others[s.Op]
}

// HasOthers reports whether any element of List is a reference; see Other.
func (c *Changes) HasOthers() bool { return len(c.others) > 0 }

// Bytes returns the approximate memory use of the changes, in bytes.
func (c *Changes) Bytes() int {
	const short, whole = 64, 352
	return short*len(c.list) + whole*len(c.others)
}

// Reset makes c empty, and keeps its memory.
func (c *Changes) Reset() { c.list, c.others = c.list[:0], c.others[:0] }

// PrefetchChanges starts to load changes into the processor's cache, so that they are
// there when they are read soon after. It does not wait for them.
func PrefetchChanges(list []*StackChange) {
	prefetchLines(*(*[]unsafe.Pointer)(unsafe.Pointer(&list)))
}

// ahead appends the addresses of up to n elements that add will return next. They are
// probably not in the processor's cache.
func (c *Changes) ahead(at []unsafe.Pointer, n int) []unsafe.Pointer {
	room := c.list[len(c.list):cap(c.list)]
	for i := range room[:min(n, len(room))] {
		at = append(at, unsafe.Pointer(&room[i]))
	}
	return at
}

// Room returns the number of changes for which c has memory.
func (c *Changes) Room() int { return max(cap(c.list), cap(c.others)) }

func (c *Changes) full() bool { return len(c.list)+2 > cap(c.list) } // a transfer makes two
