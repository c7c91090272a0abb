package ledger

// An index finds records by the hash of their key: open addressing with linear
// probing, in 256 shards so that growing moves few entries at a time. A slot holds
// the low half of the hash and the record's number, so probing past other keys,
// growing and removing need not read the records.
//
//	63            32 31             0
//	[ hash, low 32 ][ record number ]   0: empty
type index struct {
	shards [indexShards]indexShard
}

type indexShard struct {
	slots []uint64 // their number is a power of two
	n     int      // slots in use
}

const (
	indexShards     = 256
	indexShardShift = 64 - 8 // the high byte of the hash chooses the shard
	indexFirstSlots = 8
)

// A probe is a position among the entries of one hash.
type probe struct {
	slots []uint64
	tag   uint32
	pos   uint32
}

// probe starts a walk through the records that may have the hash.
func (x *index) probe(hash uint64) probe {
	return probe{slots: x.shards[hash>>indexShardShift].slots, tag: uint32(hash), pos: uint32(hash)}
}

// next returns the next record with the probe's hash, 0 if there is none. The caller
// compares the key: different keys may share 40 bits of hash.
func (p *probe) next() uint32 {
	if len(p.slots) == 0 {
		return 0
	}
	mask := uint32(len(p.slots) - 1)
	for {
		slot := p.slots[p.pos&mask]
		if slot == 0 {
			return 0
		}
		p.pos++
		if uint32(slot>>32) == p.tag {
			return uint32(slot)
		}
	}
}

// add adds a record that is not in the index.
func (x *index) add(hash uint64, ref uint32) {
	sh := &x.shards[hash>>indexShardShift]
	if (sh.n+1)*5 > len(sh.slots)*4 {
		sh.grow()
	}
	sh.put(hash<<32 | uint64(ref))
	sh.n++
}

func (sh *indexShard) put(slot uint64) {
	mask := uint32(len(sh.slots) - 1)
	pos := uint32(slot>>32) & mask
	for sh.slots[pos] != 0 {
		pos = (pos + 1) & mask
	}
	sh.slots[pos] = slot
}

func (sh *indexShard) grow() {
	old := sh.slots
	sh.slots = make([]uint64, max(indexFirstSlots, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			sh.put(slot)
		}
	}
}

// fill adds the records 1 .. next-1 to an empty index. It first gives the index the
// size that it would reach if the records were added one by one.
func (x *index) fill(next uint32, hash func(ref uint32) uint64) {
	var counts [indexShards]int
	for ref := uint32(1); ref < next; ref++ {
		counts[hash(ref)>>indexShardShift]++
	}
	for i, n := range counts {
		size := 0
		for n*5 > size*4 {
			size = max(indexFirstSlots, 2*size)
		}
		if size > 0 {
			x.shards[i] = indexShard{slots: make([]uint64, size), n: n}
		}
	}
	for ref := uint32(1); ref < next; ref++ {
		h := hash(ref)
		x.shards[h>>indexShardShift].put(h<<32 | uint64(ref))
	}
}

// remove removes a record and reports whether it was there. The following entries
// move up, so no tombstones are needed.
func (x *index) remove(hash uint64, ref uint32) bool {
	sh := &x.shards[hash>>indexShardShift]
	if len(sh.slots) == 0 {
		return false
	}
	mask := uint32(len(sh.slots) - 1)
	hole := uint32(hash) & mask
	for want := hash<<32 | uint64(ref); sh.slots[hole] != want; hole = (hole + 1) & mask {
		if sh.slots[hole] == 0 {
			return false
		}
	}
	for pos := hole; ; {
		pos = (pos + 1) & mask
		slot := sh.slots[pos]
		if slot == 0 {
			break
		}
		home := uint32(slot>>32) & mask
		if (pos-home)&mask >= (pos-hole)&mask {
			sh.slots[hole] = slot
			hole = pos
		}
	}
	sh.slots[hole] = 0
	sh.n--
	return true
}

// len returns the number of entries.
func (x *index) len() int {
	n := 0
	for i := range x.shards {
		n += x.shards[i].n
	}
	return n
}
