package history

import (
	"encoding/binary"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
	"assetledger/wal"
)

// A generation is the index of a stretch of the log in memory. While it is
// open, the tailer appends entries, under the lock of the projection. The entries
// of one key are chained from the newest back, so that a reader which has the
// head of a chain needs no lock:
//
//	place of the entry before + 1, 0 for none, 4 | key 8 | length 1 | entry
//
// To find that place costs a cache miss or two, so the tailer leaves it to others:
// link chains what was appended. It is called in the background, and by each
// reader for what is left.
type generation struct {
	first   uint64    // first commit
	before  uint32    // chain of the frame before it
	end     wal.Place // of the last batch
	used    int       // bytes of the last chunk
	batches []batch

	growing sync.Mutex
	chunks  [][]byte      // of chunkBytes each; an entry lies in one of them; the tailer appends, under growing
	written atomic.Uint32 // place after the last entry of the last batch

	linking sync.Mutex // for what follows
	linked  uint32     // place up to which entries are chained
	heads   heads
}

// A batch is what the index says of a batch: its first commit, and its time.
type batch struct {
	first uint64
	time  int64
}

const (
	chainBytes = 13
	// chunkBytes is how much memory a generation takes at a time. A place is the
	// number of a chunk and, in the low bits, where in it.
	chunkBits  = 20
	chunkBytes = 1 << chunkBits
	entryBytes = 256 // at most
	// generationBytes closes a generation.
	generationBytes = 32 << 20
)

func newGeneration(after wal.Place) *generation {
	return &generation{first: after.Seq + 1, before: after.Chain, end: after}
}

// size is how many bytes its entries and batches take.
func (g *generation) size() int {
	return max(len(g.chunks)-1, 0)*chunkBytes + g.used + 16*len(g.batches)
}

// add keeps a change of commit seq.
func (g *generation) add(seq uint64, c *ledger.Change) {
	g.append(uint64(c.Container), seq, c)
	switch c.Kind {
	case ledger.ContainerCreated, ledger.ContainerRemoved, ledger.ContainerRenamed:
		g.append(lifeKey(c.Container), seq, c)
	}
}

// lastStart is the last byte of a chunk at which an entry may begin.
const lastStart = chunkBytes - chainBytes - entryBytes

func (g *generation) append(key, seq uint64, c *ledger.Change) {
	if len(g.chunks) == 0 || g.used > lastStart {
		g.growing.Lock()
		g.chunks, g.used = append(g.chunks, make([]byte, chunkBytes)), 0
		g.growing.Unlock()
	}
	b := g.chunks[len(g.chunks)-1][g.used:]
	binary.LittleEndian.PutUint64(b[4:], key)
	n := len(appendEntry(b[chainBytes:chainBytes], seq, c))
	b[12] = byte(n)
	g.used += chainBytes + n
}

// link chains what was appended. linking is held.
func (g *generation) link() {
	end := g.written.Load()
	if g.linked == end {
		return
	}
	g.growing.Lock()
	chunks := g.chunks
	g.growing.Unlock()
	for g.linked < end {
		if g.linked%chunkBytes > lastStart {
			g.linked = (g.linked/chunkBytes + 1) * chunkBytes
			continue
		}
		b := chunks[g.linked>>chunkBits][g.linked%chunkBytes:]
		head := g.heads.of(binary.LittleEndian.Uint64(b[4:]))
		binary.LittleEndian.PutUint32(b, *head)
		*head = g.linked + 1
		g.linked += chainBytes + uint32(b[12])
	}
}

// applied closes a batch, of which the commits up to last were applied.
func (g *generation) applied(f *wal.Frame, last uint64) {
	g.batches = append(g.batches, batch{f.First, f.Time})
	g.end = f.Place()
	g.end.Seq = last
	if len(g.chunks) > 0 {
		g.written.Store(uint32((len(g.chunks)-1)<<chunkBits | g.used))
	}
}

// A chain is the entries of one key in a generation, as they were when it was taken.
type chain struct {
	chunks [][]byte
	head   uint32
}

// of returns the chain of a key. linking is held, and all is linked.
func (g *generation) of(key uint64) chain { return chain{g.chunks, g.heads.get(key)} }

// chains returns those of a container, after linking what is not linked.
func (g *generation) chainsOf(container int64) (things, lives chain) {
	g.linking.Lock()
	defer g.linking.Unlock()
	g.link()
	return g.of(uint64(container)), g.of(lifeKey(container))
}

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
	return b[chainBytes : chainBytes+int(b[12])]
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
	g.linking.Lock()
	defer g.linking.Unlock()
	g.link()
	keys := make([]uint64, 0, g.heads.used)
	for _, slot := range g.heads.slots {
		if slot.at != 0 {
			keys = append(keys, slot.key)
		}
	}
	slices.Sort(keys)
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
