package history

import (
	"encoding/binary"
	"slices"
	"sort"

	"assetledger/ledger"
	"assetledger/wal"
)

// A generation is the in-memory index of a part of the log: blocks of changes, in the
// order in which they were noted. They are turned into entries when they
// are read or written to a file. So while the tailer follows the log, it only has
// to note changes.
type generation struct {
	first   uint64    // first commit
	before  uint32    // chain of the previous frame
	end     wal.Place // place of the last batch
	batches []batch
	blocks  []*block // the last block is not full
	bytes   int64    // bytes of the batches, and of the changes in full blocks
	viewed  bool     // a view may still read the blocks
}

// A batch holds the first commit and the time of one batch of the log.
type batch struct {
	first uint64
	time  int64
}

const (
	largestEntry = 256
	// generationBytes is the size, in bytes, at which a generation is closed.
	generationBytes = 32 << 20
)

func newGeneration(after wal.Place) *generation {
	return &generation{first: after.Seq + 1, before: after.Chain, end: after}
}

// note makes the state note its changes in g from now on.
func (g *generation) note(s *ledger.State, of *store) {
	if n := len(g.blocks); n > 0 {
		g.bytes += int64(g.blocks[n-1].Bytes())
	}
	b := of.take(len(g.blocks))
	g.blocks = append(g.blocks, b)
	s.Observe(&b.Changes, func() { g.note(s, of) })
}

// open returns the block that is not full.
func (g *generation) open() *block { return g.blocks[len(g.blocks)-1] }

// size returns the size of g in bytes.
func (g *generation) size() int64 { return g.bytes + int64(g.open().Bytes()) }

// applied ends a batch. The parameter last is the last of its commits that was applied.
func (g *generation) applied(f *wal.Frame, last uint64) {
	g.batches = append(g.batches, batch{f.First, f.Time})
	g.end = f.Place()
	g.end.Seq = last
	g.bytes += 16
}

// chain returns the current changes of the generation. In an open generation, the
// last block is not full.
func (g *generation) chain() chain {
	n := len(g.blocks) - 1
	return chain{g.blocks[:n:n], g.open().Changes}
}

// timeIn returns the time of the batch that contains the commit.
func timeIn(batches []batch, seq uint64) (int64, bool) {
	i := sort.Search(len(batches), func(i int) bool { return batches[i].first > seq })
	if i == 0 {
		return 0, false
	}
	return batches[i-1].time, true
}

// write writes the entries of a closed generation with seq >= from, ordered by key.
func (g *generation) write(w *writer, from uint64) {
	refs, lives := g.refs(from)
	g.render(w, sortRefs(refs))
	g.render(w, sortRefs(lives))
	var entry []byte
	for _, b := range g.batches {
		if b.first < from {
			continue
		}
		entry = binary.AppendUvarint(entry[:0], b.first)
		w.add(batchKey, binary.LittleEndian.AppendUint64(entry, uint64(b.time)))
	}
}

// A ref is the place of a change, with the key of one of its entries.
type ref struct {
	key       uint64
	block, at uint32
}

// refs returns the places of the changes with Seq >= from. lives are the places of
// those that have a second entry under a lifeKey.
func (g *generation) refs(from uint64) (refs, lives []ref) {
	n := 0
	for _, b := range g.blocks {
		n += len(b.List())
	}
	refs = make([]ref, 0, n)
	for i, b := range g.blocks {
		list := b.List()
		for j := range list {
			s := &list[j]
			if s.Seq < from {
				continue
			}
			at := ref{uint64(s.Container), uint32(i), uint32(j)}
			refs = append(refs, at)
			if other := b.Other(s); other != nil && isLife(other) {
				at.key = lifeKey(s.Container)
				lives = append(lives, at)
			}
		}
	}
	return refs, lives
}

// lookAhead is the number of changes that render prefetches together. In memory,
// changes are in the order of the log, but render visits them in the order of their
// keys, so nearly every one is a cache miss.
const lookAhead = 32

// render writes the entries of the changes.
func (g *generation) render(w *writer, refs []ref) {
	var group []byte
	var ahead [lookAhead]*ledger.StackChange
	entries := 0
	for i, at := range refs {
		if i%lookAhead == 0 {
			next := refs[min(i+lookAhead, len(refs)):min(i+2*lookAhead, len(refs))]
			for j, at := range next {
				ahead[j] = &g.blocks[at.block].List()[at.at]
			}
			ledger.PrefetchChanges(ahead[:len(next)])
		}
		b := g.blocks[at.block]
		s := &b.List()[at.at]
		group = slices.Grow(group, largestEntry+1)
		n := len(render(group[len(group):cap(group)], s, b.Other(s)))
		group = append(group[:len(group)+n], byte(n))
		if entries++; i+1 == len(refs) || refs[i+1].key != at.key {
			w.addGroup(at.key, group, entries)
			group, entries = group[:0], 0
		}
	}
}

// sortRefs sorts by key, and keeps the order of refs with the same key. It is a
// radix sort with eleven bits of the key at a time. It skips bits in which the keys
// do not differ.
func sortRefs(refs []ref) []ref {
	const bits = 11
	differ := uint64(0)
	for i := range refs {
		differ |= refs[i].key ^ refs[0].key
	}
	room := make([]ref, len(refs))
	for shift := 0; shift < 64; shift += bits {
		digit := func(key uint64) uint64 { return key >> shift % (1 << bits) }
		if digit(differ) == 0 {
			continue
		}
		var ends [1 << bits]uint32
		for i := range refs {
			ends[digit(refs[i].key)]++
		}
		end := uint32(len(refs))
		for i := len(ends) - 1; i >= 0; i-- {
			end -= ends[i]
			ends[i] = end
		}
		for i := range refs {
			to := &ends[digit(refs[i].key)]
			room[*to] = refs[i]
			*to++
		}
		refs, room = room, refs
	}
	return refs
}
