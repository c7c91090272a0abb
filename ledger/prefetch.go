package ledger

import "unsafe"

// With many stacks each lookup waits for memory, four times for each side of a
// transfer: for a slot of the index of containers, the container, a slot of the
// index of stacks, and the stack. Prefetch takes these steps for a group of
// operations together, before the first of them is applied: first all slots,
// then all containers, and so on. So the processor waits as long for a whole group
// as for one operation. What it loads is a guess; nothing depends on it.

const (
	// prefetchFrom is the number of stacks from which prefetching pays. Fewer are in
	// the processor's cache anyway, at about 100 bytes each with their index.
	prefetchFrom = 1 << 16
	// prefetchOps is the maximum number of operations of one transaction that are
	// prefetched together. A transaction with more prefetches while it is applied.
	prefetchOps = 16
	// prefetchSides is the maximum number of stacks that a group looks up; a transfer
	// looks up two. They fit well into the processor's first-level cache.
	prefetchSides = 64
)

// A side is one stack that an operation of the group will look up.
type side struct {
	hash      uint64 // of the container's id, then of the stack; 0 if not needed
	id, key   int64
	class     uint32
	container uint32 // 0: not found yet
	stack     uint32 // 0: not found
	plain     bool   // of a plain transfer, for which Apply does not search again
}

// ahead is what Expect has collected for Prefetch.
type ahead struct {
	n     int
	class uint32              // the last one found, see aheadClass
	sides [prefetchSides]side // sides of the last Prefetch, with their results

	// Containers that were created one after another mostly have consecutive ids. Their
	// numbers are consecutive too.
	distance int64 // from the number of the container found last to its id
	same     int   // containers in a row at that distance; 0 after a wrong guess, and after a transfer that searches
}

// Expect makes the next Prefetch load what the operations of tx will read, as far
// as there is room. Like Apply, both need exclusive access to the state. The stacks
// of a plain transfer are worth finding even if they are in the processor's cache.
func (s *State) Expect(tx *Transaction) {
	tx.sides = 0
	if tx.isPlainTransfer() {
		first := s.ahead.n
		if s.expect(tx.Ops); s.ahead.n == first+2 { // otherwise its class is unknown, or there is no room
			tx.sides = uint8(first + 1)
			s.ahead.sides[first].plain, s.ahead.sides[first+1].plain = true, true
		}
		return
	}
	if s.stacks.next >= prefetchFrom && len(tx.Ops) <= prefetchOps {
		s.expect(tx.Ops)
	}
}

func (s *State) expect(ops []Op) {
	for i := range ops {
		switch op := &ops[i]; op.Kind {
		case TransferFungible:
			class := s.aheadClass(op, TransferClass)
			s.expectSide(op, TransferFrom, class, TransferKey)
			s.expectSide(op, TransferTo, class, TransferKey)
		case AddFungible, RemoveFungible:
			s.expectSide(op, FungibleContainer, s.aheadClass(op, FungibleClass), FungibleKey)
		case RequireBalance:
			s.expectSide(op, BalanceContainer, s.aheadClass(op, BalanceClass), BalanceKey)
		case HoldFungible:
			s.expectSide(op, HoldContainer, s.aheadClass(op, HoldClass), HoldKey)
		}
	}
}

// aheadClass is lookClass, and remembers one class that was named by its id: most
// operations of a log are about few classes.
func (s *State) aheadClass(op *Op, i int) uint32 {
	a := &s.ahead
	if op.Ref != 0 && op.named(i) {
		return s.lookClass(op, i)
	}
	if a.class == 0 || s.classes.at(a.class).id != op.Args[i] {
		a.class = s.findClass(op.Args[i])
	}
	return a.class
}

// expectSide records the stack of a class that is in the container, and has the key,
// that two arguments of an operation name.
func (s *State) expectSide(op *Op, container int, class uint32, key int) {
	a := &s.ahead
	if a.n == len(a.sides) || class == 0 {
		return
	}
	d := &a.sides[a.n]
	d.key, d.class, d.container, d.stack, d.hash, d.id, d.plain = op.Args[key], class, 0, 0, 0, op.Args[container], false
	if op.Ref != 0 && op.named(container) {
		if d.container = s.lookContainer(op, container); d.container == 0 {
			return
		}
	} else {
		d.hash = containerHash(op.Args[container])
	}
	a.n++
}

// Prefetch loads what Expect collected, and clears the collection. It changes
// nothing visible.
func (s *State) Prefetch() {
	a := &s.ahead
	a.class = 0
	if a.n == 0 {
		return
	}
	var room [3 * prefetchSides]unsafe.Pointer
	sides, at := a.sides[:a.n], room[:0]
	a.n = 0
	for i := range sides {
		at = s.containerIndex.home(at, sides[i].hash)
	}
	if s.observed != nil {
		at = s.observed.ahead(at, len(sides))
	}
	prefetchLines(at)
	at = at[:0]
	for i := range sides {
		d := &sides[i]
		if d.container == 0 {
			p := s.containerIndex.probe(d.hash)
			d.container = p.next() // very likely the one: the rest of its hash is equal
		}
	}
	for i := range sides {
		d := &sides[i]
		if d.container == 0 {
			continue
		}
		c := s.containers.at(d.container)
		at = append(at, unsafe.Pointer(&c.id), unsafe.Pointer(&c.grid))
		d.hash = stackHash(d.container, d.class, d.key)
		at = s.stackIndex.home(at, d.hash)
	}
	prefetchLines(at)
	at = at[:0]
	for i := range sides {
		if sides[i].container == 0 {
			continue
		}
		p := s.stackIndex.probe(sides[i].hash)
		if ref := p.next(); ref != 0 {
			sides[i].stack = ref
			r := s.stacks.at(ref)
			at = append(at, unsafe.Pointer(r), unsafe.Pointer(&r.held))
		}
	}
	prefetchLines(at)
}

// home appends the address at which the search for a hash begins, if any.
func (x *index) home(at []unsafe.Pointer, hash uint64) []unsafe.Pointer {
	slots := x.shards[hash>>indexShardShift].slots
	if len(slots) == 0 {
		return at
	}
	return append(at, unsafe.Pointer(&slots[uint32(hash)&uint32(len(slots)-1)]))
}
