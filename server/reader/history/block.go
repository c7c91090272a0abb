package history

import (
	"math"
	"math/bits"
	"slices"
	"sort"
	"sync"

	"assetledger/ledger"
)

// A block holds changes in the order in which they were noted. A full block
// no longer changes. The first reader that needs it sorts the places of its changes
// by a hash of their containers:
//
//	starts[hash] → places[…] → changes
type block struct {
	ledger.Changes
	sorting        sync.Once
	starts, places []uint32 // nil until a reader needs them

	mu   sync.Mutex
	last map[int64][]uint32 // see newestOf
}

// blockRoom is the number of changes for which a new block has room, except that the
// first blocks have less. A reader looks at every change of the block that is not full,
// and usually at only a few changes of each full one. Tests lower it.
var blockRoom = 4096

// oftenHere is the minimum number of changes to a container in a block for which
// newestOf is worth its cost. Tests lower it.
var oftenHere = 64

// sameHash is the approximate number of changes in a block that have the same hash.
const sameHash = 4

// sort fills starts and places.
func (b *block) sort() {
	list := b.List()
	buckets := 1 << bits.Len(uint(len(list)/sameHash))
	b.starts, b.places = make([]uint32, buckets+1), make([]uint32, len(list))
	for i := range list {
		b.starts[b.bucket(list[i].Container)]++
	}
	end := uint32(0)
	for i, n := range b.starts {
		end += n
		b.starts[i] = end
	}
	for i := range list { // each end moves down to the start, so the newest come first
		start := &b.starts[b.bucket(list[i].Container)]
		*start--
		b.places[*start] = uint32(i)
	}
}

// bucket returns the index of a container's hash in starts.
func (b *block) bucket(container int64) int {
	x, _ := spread(uint64(container))
	return int(x) & (len(b.starts) - 2)
}

// of returns the places of the changes to a container, and to a few others, newest first.
func (b *block) of(container int64) []uint32 {
	b.sorting.Do(b.sort)
	i := b.bucket(container)
	return b.places[b.starts[i]:b.starts[i+1]]
}

// newestOf returns the places of the changes to a container, newest first. It omits
// a plain change of a stack if a later plain change of that stack is in the block. A
// container that changes all the time may have a stack that does not. With this list,
// a few lookups find the last change of that stack.
func (b *block) newestOf(container int64, places []uint32) []uint32 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known, ok := b.last[container]; ok {
		return known
	}
	var list []uint32
	seen := map[[2]int64]bool{}
	for _, at := range places {
		s := &b.List()[at]
		if stack := [2]int64{s.ClassID, s.Key}; s.Container == container && (b.Other(s) != nil || !seen[stack]) {
			seen[stack] = seen[stack] || b.Other(s) == nil
			list = append(list, at)
		}
	}
	if b.last == nil {
		b.last = map[int64][]uint32{}
	}
	b.last[container] = list
	return list
}

// since returns the commit of the first change, and until returns that of the last.
func (b *block) since() uint64 { return b.List()[0].Seq }
func (b *block) until() uint64 { return b.List()[len(b.List())-1].Seq }

// A chain is a snapshot of the changes in a generation.
type chain struct {
	blocks []*block       // full blocks
	rest   ledger.Changes // changes of the block that was not full
}

// forever is a commit after all others.
const forever = math.MaxUint64

// newest calls fn for the entries of a key with seq <= to, newest first, as long as
// fn returns goOn. An entry is valid only during the call. With last set, newest may
// skip an entry if a newer one is about the same stack.
func (c *chain) newest(key, to uint64, last bool, fn func(entry []byte) step) step {
	r := newRendering(key)
	for i := range slices.Backward(c.rest.List()) {
		if entry := r.of(&c.rest, i); entry != nil && r.seq <= to {
			if next := fn(entry); next != goOn {
				return next
			}
		}
	}
	n := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].since() > to })
	for _, b := range slices.Backward(c.blocks[:n]) {
		if r.lives && !b.HasOthers() {
			continue
		}
		places := b.of(r.container)
		if last && len(places) >= oftenHere && b.until() <= to {
			places = b.newestOf(r.container, places)
		}
		for _, at := range places {
			if entry := r.of(&b.Changes, int(at)); entry != nil && r.seq <= to {
				if next := fn(entry); next != goOn {
					return next
				}
			}
		}
	}
	return goOn
}

// oldest calls fn for the entries of a key with seq >= from, oldest first, until fn
// returns false.
func (c *chain) oldest(key, from uint64, fn func(entry []byte) bool) (on bool) {
	r := newRendering(key)
	n := sort.Search(len(c.blocks), func(i int) bool { return c.blocks[i].since() >= from })
	for _, b := range c.blocks[max(n-1, 0):] {
		for _, at := range slices.Backward(b.of(r.container)) {
			if entry := r.of(&b.Changes, int(at)); entry != nil && r.seq >= from && !fn(entry) {
				return false
			}
		}
	}
	for i := range c.rest.List() {
		if entry := r.of(&c.rest, i); entry != nil && r.seq >= from && !fn(entry) {
			return false
		}
	}
	return true
}

// A rendering makes entries of a key from changes.
type rendering struct {
	container int64
	lives     bool   // the key is a lifeKey
	seq       uint64 // commit of the last entry
	buf       [largestEntry]byte
}

func newRendering(key uint64) *rendering {
	if key&lifeMark != 0 {
		return &rendering{container: int64(key&^lifeMark) + 1, lives: true}
	}
	return &rendering{container: int64(key)}
}

// of returns the entry of a change, or nil if it does not belong to the key. The entry
// is valid until the next call.
func (r *rendering) of(c *ledger.Changes, i int) []byte {
	s := &c.List()[i]
	if s.Container != r.container {
		return nil
	}
	other := c.Other(s)
	if r.lives && (other == nil || !isLife(other)) {
		return nil
	}
	r.seq = s.Seq
	return render(r.buf[:], s, other)
}

// render writes the entry of a change to buf, which must have room for the largest
// one.
func render(buf []byte, s *ledger.StackChange, other *ledger.Change) []byte {
	if other != nil {
		return appendEntry(buf[:0], s.Seq, other)
	}
	return buf[:putStack(buf, s)]
}

// isLife reports whether a change created, renamed or removed its container.
func isLife(c *ledger.Change) bool {
	return c.Kind == ledger.ContainerCreated || c.Kind == ledger.ContainerRemoved || c.Kind == ledger.ContainerRenamed
}
