package ledger

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"slices"
)

// WriteCheckpoint writes the state. The state must not change in the meantime, but
// reads may continue. Each block is written with one call. Errors are those of w.
func (s *State) WriteCheckpoint(w io.Writer, place CheckpointPlace) error {
	head := s.checkpointInfo(place)
	e := checkpointEncoder{s: s, w: w, buf: make([]byte, checkpointBlock, checkpointBlock+maxBlock)}
	b := head.marshal()
	e.salt = binary.LittleEndian.Uint32(b[checkpointHeader-4:])
	_, e.err = w.Write(b)
	e.assigned()
	e.classes()
	e.containers()
	e.instances()
	e.keys()
	e.holds()
	e.reversals()
	e.flush()
	e.trailer()
	return e.err
}

func (s *State) checkpointInfo(place CheckpointPlace) CheckpointInfo {
	h := CheckpointInfo{
		CheckpointPlace: place, version: s.checkpointVersion(s.memory.long != 0), Seq: s.seq, Digest: s.Digest(), NextInstance: s.nextInstance,
		Classes: uint64(s.classIndex.len()), Shapes: uint64(s.shapes.live()), Containers: uint64(s.containerIndex.len()),
		Stacks: uint64(s.stackIndex.len()), Instances: uint64(s.instanceIndex.len()),
		Keys: s.memory.newest - s.memory.oldest, Window: s.memory.limit,
	}
	return h
}

// checkpointVersion returns the lowest version that can hold the state. longKeys
// reports whether the checkpoint has items of kind itemLongKey.
func (s *State) checkpointVersion(longKeys bool) uint16 {
	if s.part2 || s.holdTree|s.reversalTree != 0 || longKeys {
		return checkpointVersion2
	}
	return checkpointVersion1
}

// A checkpointEncoder gathers items in a block, and writes the block when it is full.
type checkpointEncoder struct {
	s      *State
	w      io.Writer
	buf    []byte // the block: space for its header, then the items so far
	blocks uint64
	salt   uint32
	sums   uint32 // CRC of the blocks' CRCs
	err    error  // first error of w
}

// item begins an item. It first writes the block if an item of maximum size might not
// fit in it.
func (e *checkpointEncoder) item(kind byte) {
	if len(e.buf) > checkpointBlock+maxBlock-maxItem {
		e.flush()
	}
	e.buf = append(e.buf, kind)
}

func (e *checkpointEncoder) number(v uint64) { e.buf = binary.AppendUvarint(e.buf, v) }

func (e *checkpointEncoder) numbers(list ...uint64) {
	for _, v := range list {
		e.number(v)
	}
}

func (e *checkpointEncoder) text(b []byte) {
	e.number(uint64(len(b)))
	e.buf = append(e.buf, b...)
}

// flush writes the block.
func (e *checkpointEncoder) flush() {
	n := len(e.buf) - checkpointBlock
	if n == 0 || e.err != nil {
		e.buf = e.buf[:checkpointBlock]
		return
	}
	le := binary.LittleEndian
	le.PutUint32(e.buf[4:], uint32(n))
	le.PutUint64(e.buf[8:], e.blocks)
	le.PutUint32(e.buf, blockSum(e.salt, e.buf[4:]))
	e.sums = crc32.Update(e.sums, castagnoli, e.buf[:4])
	e.blocks++
	_, e.err = e.w.Write(e.buf)
	e.buf = e.buf[:checkpointBlock]
}

func (e *checkpointEncoder) trailer() {
	if e.err != nil {
		return
	}
	le := binary.LittleEndian
	var b [checkpointTrailer]byte
	le.PutUint64(b[8:], e.blocks)
	le.PutUint32(b[16:], e.sums)
	le.PutUint32(b[:], blockSum(e.salt, b[4:]))
	_, e.err = e.w.Write(b[:])
}

func (e *checkpointEncoder) assigned() {
	if !e.s.part2 {
		return
	}
	e.item(itemAssigned)
	for _, next := range e.s.assigned {
		e.number(uint64(next - FirstAssigned))
	}
}

// name writes the name of the container or class just written, if it has one.
func (e *checkpointEncoder) name(table int, owner uint32) {
	if name := e.s.nameOf(table, owner); name != "" {
		e.item(itemName)
		e.text([]byte(name))
	}
}

func (e *checkpointEncoder) classes() {
	s := e.s
	treeWalk(classesByID{s}, s.classTree, lowest, func(ref uint32) bool {
		k := s.classes.at(ref)
		form := uint64(k.decimals) << 1
		if k.fungible {
			form |= 1
		}
		e.item(itemClass)
		e.numbers(uint64(k.id), k.registered, form)
		e.text([]byte(k.name))
		e.numbers(k.added.Hi, k.added.Lo, k.removed.Hi, k.removed.Lo, uint64(k.minted), uint64(k.burned))
		e.name(classCodes, ref)
		return e.err == nil && treeWalk(shapesByKey{s}, k.shapes, lowest, func(ref uint32) bool {
			r := s.shapes.at(ref)
			e.item(itemShape)
			e.numbers(uint64(r.key+1), uint64(r.width), uint64(r.height))
			return true
		})
	})
}

func (e *checkpointEncoder) containers() {
	s := e.s
	treeWalk(containersByID{s}, s.byID, lowest, func(ref uint32) bool {
		c := s.containers.at(ref)
		e.item(itemContainer)
		e.numbers(uint64(c.id), uint64(c.owner), c.created, c.updated, uint64(c.kind))
		switch c.kind {
		case Slots:
			e.number(uint64(c.slotCount))
		case Grid:
			e.numbers(uint64(c.gridWidth), uint64(c.gridHeight))
		}
		e.name(containerNames, ref)
		class := uint32(0)
		treeWalk(stacksByClass{s}, c.stackTree, lowest, func(ref uint32) bool {
			r := s.stacks.at(ref)
			if r.class == class {
				e.item(itemNextStack)
			} else {
				class = r.class
				e.item(itemStack)
				e.number(uint64(s.classes.at(class).id))
			}
			e.number(uint64(r.key))
			e.number(uint64(r.quantity))
			if r.place != 0 {
				e.place(s.placements.at(r.place))
			}
			return e.err == nil
		})
		return e.err == nil
	})
}

func (e *checkpointEncoder) place(p *placement) {
	height := uint64(p.height) << 1
	if p.turned {
		height |= 1
	}
	e.numbers(uint64(p.x), uint64(p.y), uint64(p.width), height)
}

// sortedInstances lists the live instances by id. Records in the slab are
// often nearly in that order already.
func (s *State) sortedInstances() []uint32 {
	burned := map[uint32]bool{} // by the last transaction: unlinked, but not released yet
	for _, u := range s.undo.entries {
		if u.kind == undoBurned {
			burned[u.ref] = true
		}
	}
	refs := make([]uint32, 0, s.instanceIndex.len())
	for ref := uint32(1); ref < s.instances.next; ref++ {
		if s.instances.at(ref).id != 0 && !burned[ref] {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, func(a, b uint32) int { return cmp.Compare(s.instances.at(a).id, s.instances.at(b).id) })
	return refs
}

func (e *checkpointEncoder) instances() {
	s := e.s
	for _, ref := range s.sortedInstances() {
		if e.err != nil {
			return
		}
		r := s.instances.at(ref)
		e.item(itemInstance)
		e.numbers(uint64(r.id), uint64(s.classes.at(r.class).id), uint64(r.key), r.minted, uint64(r.where))
		switch r.where {
		case InSlot:
			e.numbers(uint64(s.containers.at(r.host).id), uint64(r.spot))
		case InGrid:
			e.number(uint64(s.containers.at(r.host).id))
			e.place(s.placements.at(r.spot))
		case Attached:
			e.number(uint64(s.instances.at(r.host).id))
		}
	}
}

func (e *checkpointEncoder) keys() {
	m := &e.s.memory
	for n := m.oldest; n != m.newest && e.err == nil; n++ {
		k := m.entries.at(m.ref(n))
		key, kept := m.read(k)
		if k.long() {
			e.item(itemLongKey)
		} else {
			e.item(itemKey)
		}
		e.numbers(k.seq, uint64(k.batchSeq), uint64(k.endpoint))
		e.buf = append(e.buf, k.hash[:]...)
		e.numbers(uint64(k.firstMinted), uint64(k.minted))
		e.text(key)
		e.number(uint64(k.metadataLen))
		e.buf = append(e.buf, kept...)
	}
}
