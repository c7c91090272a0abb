package history

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"

	"assetledger/ledger"
	"assetledger/wal"
)

// A generation is the index of a stretch of the log in memory. While it is
// open, the tailer alone changes it, under the lock of the projection. Entries
// are only ever appended, and the entries of one key are chained from the newest
// back, so that a reader which has the head of a chain needs no lock:
//
//	place of the entry before + 1, 0 for none, 4 | length 1 | entry
type generation struct {
	first   uint64            // first commit
	before  uint32            // chain of the frame before it
	end     wal.Place         // of the last batch
	chunks  [][]byte          // of chunkBytes each; an entry lies in one of them
	used    int               // bytes of the last chunk
	heads   map[uint64]uint32 // by key: place of its newest entry + 1
	batches []batch
}

// A batch is what the index says of a batch: its first commit, and its time.
type batch struct {
	first uint64
	time  int64
}

const (
	chainBytes = 5
	// chunkBytes is how much memory a generation takes at a time. A place is the
	// number of a chunk and, in the low bits, where in it.
	chunkBits  = 20
	chunkBytes = 1 << chunkBits
	entryBytes = 256 // at most
	// generationBytes closes a generation.
	generationBytes = 32 << 20
)

func newGeneration(after wal.Place) *generation {
	return &generation{first: after.Seq + 1, before: after.Chain, end: after, heads: make(map[uint64]uint32)}
}

// size is about how many bytes of memory it takes.
func (g *generation) size() int {
	return max(len(g.chunks)-1, 0)*chunkBytes + g.used + 16*len(g.batches) + 16*len(g.heads)
}

// add keeps a change of commit seq.
func (g *generation) add(seq uint64, c *ledger.Change) {
	g.chain(uint64(c.Container), seq, c)
	switch c.Kind {
	case ledger.ContainerCreated, ledger.ContainerRemoved, ledger.ContainerRenamed:
		g.chain(lifeKey(c.Container), seq, c)
	}
}

func (g *generation) chain(key, seq uint64, c *ledger.Change) {
	if len(g.chunks) == 0 || g.used > chunkBytes-chainBytes-entryBytes {
		g.chunks, g.used = append(g.chunks, make([]byte, chunkBytes)), 0
	}
	last := len(g.chunks) - 1
	b := g.chunks[last][g.used:]
	binary.LittleEndian.PutUint32(b, g.heads[key])
	n := len(appendEntry(b[chainBytes:chainBytes], seq, c))
	b[4] = byte(n)
	g.heads[key] = uint32(last<<chunkBits|g.used) + 1
	g.used += chainBytes + n
}

// applied closes a batch, of which the commits up to last were applied.
func (g *generation) applied(f *wal.Frame, last uint64) {
	g.batches = append(g.batches, batch{f.First, f.Time})
	g.end = f.Place()
	g.end.Seq = last
}

// A chain is the entries of one key in a generation, as they were when it was taken.
type chain struct {
	chunks [][]byte
	head   uint32
}

func (g *generation) of(key uint64) chain { return chain{g.chunks, g.heads[key]} }

// newest calls fn for the entries, newest first, until it returns false.
func (c chain) newest(fn func(entry []byte) bool) bool {
	for at := c.head; at != 0; {
		if !fn(c.at(at)) {
			return false
		}
		at = c.before(at)
	}
	return true
}

func (c chain) at(at uint32) []byte {
	b := c.chunks[(at-1)>>chunkBits][(at-1)%chunkBytes:]
	return b[chainBytes : chainBytes+int(b[4])]
}

// before is the place of the entry before the one at a place.
func (c chain) before(at uint32) uint32 {
	return binary.LittleEndian.Uint32(c.chunks[(at-1)>>chunkBits][(at-1)%chunkBytes:])
}

// places are those of the entries from commit from on, oldest first.
func (c chain) places(from uint64, dst []uint32) []uint32 {
	for at := c.head; at != 0 && entrySeq(c.at(at)) >= from; at = c.before(at) {
		dst = append(dst, at)
	}
	slices.Reverse(dst)
	return dst
}

// timeIn is the time of the batch that holds the commit.
func timeIn(batches []batch, seq uint64) (int64, bool) {
	i := sort.Search(len(batches), func(i int) bool { return batches[i].first > seq })
	if i == 0 {
		return 0, false
	}
	return batches[i-1].time, true
}

// write writes what a closed generation has from commit from on, by key.
func (g *generation) write(w *writer, from uint64) {
	keys := make([]uint64, 0, len(g.heads))
	for key := range g.heads {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, cmp.Compare[uint64])
	var places []uint32
	for _, key := range keys {
		c := g.of(key)
		places = c.places(from, places[:0])
		for _, at := range places {
			w.add(key, c.at(at))
		}
	}
	var entry []byte
	for _, b := range g.batches {
		if b.first < from {
			continue
		}
		entry = binary.AppendUvarint(entry[:0], b.first)
		w.add(batchKey, binary.LittleEndian.AppendUint64(entry, uint64(b.time)))
	}
}
