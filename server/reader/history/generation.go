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
	first   uint64    // first commit
	before  uint32    // chain of the frame before it
	end     wal.Place // of the last batch
	buf     []byte
	heads   map[uint64]uint32 // by key: place of its newest entry + 1
	batches []batch
	entries int
}

// A batch is what the index says of a batch: its first commit, and its time.
type batch struct {
	first uint64
	time  int64
}

const (
	chainBytes = 5
	// generationBytes closes a generation.
	generationBytes = 32 << 20
)

func newGeneration(after wal.Place) *generation {
	return &generation{first: after.Seq + 1, before: after.Chain, end: after, heads: make(map[uint64]uint32)}
}

// size is about how many bytes of memory it takes.
func (g *generation) size() int { return len(g.buf) + 16*len(g.batches) + 16*len(g.heads) }

// add keeps a change of commit seq.
func (g *generation) add(seq uint64, c *ledger.Change) {
	g.entries++
	g.chain(uint64(c.Container), seq, c)
	switch c.Kind {
	case ledger.ContainerCreated, ledger.ContainerRemoved, ledger.ContainerRenamed:
		g.chain(uint64(c.Container)|lifeKey, seq, c)
	}
}

func (g *generation) chain(key, seq uint64, c *ledger.Change) {
	at := len(g.buf)
	g.buf = binary.LittleEndian.AppendUint32(g.buf, g.heads[key])
	g.buf = appendEntry(append(g.buf, 0), seq, c)
	g.buf[at+4] = byte(len(g.buf) - at - chainBytes)
	g.heads[key] = uint32(at) + 1
}

// applied closes a batch.
func (g *generation) applied(f *wal.Frame) {
	g.batches = append(g.batches, batch{f.First, f.Time})
	g.end = f.Place()
}

// A chain is the entries of one key in a generation, as they were when it was taken.
type chain struct {
	buf  []byte
	head uint32
}

func (g *generation) of(key uint64) chain { return chain{g.buf, g.heads[key]} }

// newest calls fn for the entries, newest first, until it returns false.
func (c chain) newest(fn func(entry []byte) bool) bool {
	for at := c.head; at != 0; {
		entry := c.at(at)
		if !fn(entry) {
			return false
		}
		at = binary.LittleEndian.Uint32(c.buf[at-1:])
	}
	return true
}

func (c chain) at(at uint32) []byte {
	start := int(at) - 1 + chainBytes
	return c.buf[start : start+int(c.buf[start-1])]
}

// places are those of the entries from commit from on, oldest first.
func (c chain) places(from uint64, dst []uint32) []uint32 {
	for at := c.head; at != 0 && entrySeq(c.at(at)) >= from; at = binary.LittleEndian.Uint32(c.buf[at-1:]) {
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
