package ledger

import "unsafe"

// With many stacks, a transfer waits for memory four times for each of its two sides:
// for a slot of the index of containers, the container, a slot of the index of
// stacks, and the stack. Prefetch takes these steps for a group of
// operations together, before the first of them is applied: first all slots,
// then all containers, and so on. So the processor waits about as long for a whole group
// as for one operation. For a plain transfer, Prefetch also guesses, and needs neither
// index if the guesses are right. What it finds is a hint; nothing depends on it.

const (
	// prefetchFrom is the number of stacks from which prefetching pays off. Fewer are
	// in the processor's cache anyway, at about 100 bytes each, including their index.
	prefetchFrom = 1 << 16
	// prefetchOps is the maximum number of operations of one transaction that are
	// prefetched together. For a transaction with more operations, Apply prefetches
	// one group after another.
	prefetchOps = 16
	// prefetchSides is the maximum number of stacks that a group looks up; a
	// transfer looks up two. They fit well into the processor's first-level
	// cache.
	prefetchSides = 64
	// guessAfter is how many times in a row the number of a container must follow
	// from its id before the next number is guessed.
	guessAfter = 32
	// steadyAfter is how many times in a row the same stack must be found again in a
	// container before it is guessed.
	steadyAfter = 2
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

// ahead holds the stacks that Expect has collected for Prefetch.
type ahead struct {
	n     int
	class uint32              // the last one found, see aheadClass
	sides [prefetchSides]side // sides of the last Prefetch, with their results

	// Containers that were created one after another mostly have consecutive ids. Their
	// numbers are consecutive too.
	distance int64 // from the number of the container found last to its id
	same     int   // containers in a row at that distance; 0 after a wrong guess, and after a transfer for which Apply searches
}

// Expect makes the next Prefetch load stacks that tx will read, as far as there is
// room. It does so for every plain transfer, because its stacks are worth finding even if
// they are in the processor's cache. For other transactions it does so only if there are
// at least prefetchFrom stacks and at most prefetchOps operations. Like Apply, Expect
// and Prefetch need exclusive access to the state.
func (s *State) Expect(tx *Transaction) {
	tx.sides = 0
	if tx.isPlainTransfer() {
		first := s.ahead.n
		if s.expect(tx.Ops); s.ahead.n == first+2 { // otherwise its class does not exist, or there is no room
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

// aheadClass is like lookClass, but remembers the last class that was named by
// its id, because most operations of a log concern only a few classes.
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

// expectSide records a stack of the class. container and key are the indexes of the
// arguments that give its container and its key.
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
	sides := a.sides[:a.n]
	a.n = 0
	s.loadContainers(sides)
	s.loadStacks(sides)
}

// loadContainers finds the containers of the sides and starts to load them.
func (s *State) loadContainers(sides []side) {
	var room [2 * prefetchSides]unsafe.Pointer
	a, at := &s.ahead, room[:0]
	for i := range sides {
		d := &sides[i]
		if d.plain && a.same >= guessAfter {
			if ref := d.id - a.distance; 0 < ref && ref < int64(s.containers.next) {
				d.container = uint32(ref)
			}
		}
		if d.container == 0 {
			d.hash = containerHash(d.id)
			at = s.containerIndex.home(at, d.hash)
		}
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
			d.container = p.next() // very likely the right one: 40 bits of its hash are equal
			if distance := d.id - int64(d.container); distance == a.distance {
				a.same++
			} else {
				a.distance, a.same = distance, 0
			}
		}
		if d.container != 0 {
			at = append(at, unsafe.Pointer(s.containers.at(d.container)))
		}
	}
	prefetchLines(at)
}

// loadStacks finds the stacks of the sides and starts to load them. loadContainers must
// have been called before.
func (s *State) loadStacks(sides []side) {
	var room [2 * prefetchSides]unsafe.Pointer
	at := room[:0]
	for i := range sides {
		d := &sides[i]
		if d.plain && d.container != 0 {
			c := s.containers.at(d.container)
			if c.id != d.id { // a wrong guess
				s.ahead.same = 0
				d.container = s.findContainer(d.id)
				c = s.containers.at(d.container) // the zero record if there is none
			}
			if c.steady >= steadyAfter {
				d.stack = c.recent
				at = s.stackLines(at, d.stack)
				continue
			}
		}
		if d.container != 0 {
			d.hash = stackHash(d.container, d.class, d.key)
			at = s.stackIndex.home(at, d.hash)
		}
	}
	prefetchLines(at)
	at = at[:0]
	for i := range sides {
		d := &sides[i]
		if d.container == 0 {
			continue
		}
		if d.stack != 0 {
			if r := s.stacks.at(d.stack); r.container != d.container || r.class != d.class || r.key != d.key {
				d.stack = s.findStack(d.container, d.class, d.key)
				s.containers.at(d.container).steady = 0
			}
			continue
		}
		p := s.stackIndex.probe(d.hash)
		if d.stack = p.next(); d.stack == 0 {
			continue
		}
		at = s.stackLines(at, d.stack)
		if c := s.containers.at(d.container); c.recent == d.stack {
			c.steady = min(c.steady+1, steadyAfter)
		} else {
			c.recent, c.steady = d.stack, 0
		}
	}
	prefetchLines(at)
}

// stackLines appends the addresses of what a transfer reads from a stack, which may be
// on two cache lines.
func (s *State) stackLines(at []unsafe.Pointer, ref uint32) []unsafe.Pointer {
	r := s.stacks.at(ref)
	return append(at, unsafe.Pointer(r), unsafe.Pointer(&r.held))
}

// home appends the address at which the search for a hash begins, if any.
func (x *index) home(at []unsafe.Pointer, hash uint64) []unsafe.Pointer {
	slots := x.shards[hash>>indexShardShift].slots
	if len(slots) == 0 {
		return at
	}
	return append(at, unsafe.Pointer(&slots[uint32(hash)&uint32(len(slots)-1)]))
}
