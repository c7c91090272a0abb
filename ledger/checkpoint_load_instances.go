package ledger

import (
	"cmp"
	"math"
	"slices"
)

// The sections of instances and idempotency keys, and the checks at the end.

func (l *checkpointLoader) readInstance() {
	d, s := l.d, l.s
	r := instance{id: d.id()}
	kref := s.findClass(d.id())
	r.class, r.key, r.minted = kref, d.amount(), d.between(1, s.seq)
	where := LocationKind(d.number(uint64(Attached)))
	if d.err == nil && (r.id <= l.instance || r.id >= s.nextInstance || kref == 0 || s.classes.at(kref).fungible) {
		d.fault("instance %d is out of order, or its class does not exist or is fungible", r.id)
	}
	if d.err != nil {
		return
	}
	ref, p := s.instances.alloc()
	*p = r
	l.instance = r.id
	l.live[kref]++
	switch where {
	case InSlot:
		if cref, c := l.host(Slots); cref != 0 {
			slot := d.number(uint64(c.slotCount) - 1)
			if d.err == nil && s.slotAt(cref, int64(slot)) != 0 {
				d.fault("slot %d of container %d holds two instances", slot, c.id)
			}
			if d.err == nil {
				s.linkSlot(ref, cref, uint32(slot))
			}
		}
	case InGrid:
		if cref, _ := l.host(Grid); cref != 0 {
			l.readPlace(cref, ref, true)
		}
	case Attached:
		l.attached = append(l.attached, attachment{ref, d.id()})
	}
}

// host reads the container that an instance is in. It returns 0 after a fault.
func (l *checkpointLoader) host(kind ContainerKind) (uint32, *container) {
	id := l.d.id()
	cref := l.s.findContainer(id)
	if l.d.err == nil && (cref == 0 || l.s.containers.at(cref).kind != kind) {
		l.d.fault("an instance is in container %d, which does not exist or can't hold it", id)
	}
	if l.d.err != nil {
		return 0, nil
	}
	return cref, l.s.containers.at(cref)
}

// endInstances builds the index of instances, and attaches those that have a parent.
func (l *checkpointLoader) endInstances() {
	s := l.s
	s.instanceIndex.fill(s.instances.next, func(ref uint32) uint64 { return instanceHash(s.instances.at(ref).id) })
	for _, a := range l.attached {
		parent := s.findInstance(a.parent)
		if parent == 0 || s.topmost(parent) == a.child {
			l.d.fault("instance %d is attached to %d, which does not exist or is attached below it", s.instances.at(a.child).id, a.parent)
			return
		}
		s.linkChild(a.child, parent)
	}
	l.attached = nil
}

func (l *checkpointLoader) readKey(long bool) {
	d, s := l.d, l.s
	e := keyEntry{
		seq: d.between(1, s.seq), batchSeq: uint32(d.between(1, math.MaxUint32)),
		endpoint: Endpoint(d.number(uint64(EndpointReverse))),
	}
	copy(e.hash[:], d.bytes(len(e.hash)))
	e.firstMinted, e.minted = d.amount(), uint32(d.number(MaxOperations))
	key := d.text(MaxKeyLength)
	var kept []byte // of metadata
	if long {
		d.longKeys = true
		e.metadataLen = uint16(d.between(MaxInlineMetadata+1, MaxMetadata))
		kept = d.bytes(len(Spelling{}))
	} else {
		kept = d.text(MaxMetadata) // in version 1, even if it is long
	}
	if d.err == nil && (!ValidIdempotencyKey(key) || e.seq <= l.keySeq) {
		d.fault("idempotency key %q of commit %d is invalid or out of order", key, e.seq)
	}
	if d.err != nil {
		return
	}
	l.keySeq = e.seq
	l.keys++
	if long {
		s.memory.remember(e, key, kept)
	} else {
		s.memory.rememberAll(e, key, kept)
	}
}

// checkClasses compares the totals of each class with what was loaded.
func (l *checkpointLoader) checkClasses() {
	for ref := uint32(1); ref < l.s.classes.next; ref++ {
		k, held := l.s.classes.at(ref), l.held[ref]
		if held.Hi != 0 || held.Lo > math.MaxInt64 || k.removed.Add(held.Lo) != k.added ||
			k.minted < k.burned || k.minted-k.burned != l.live[ref] || k.minted >= l.s.nextInstance {
			l.d.fault("class %d: %v added, %v removed, %d minted and %d burned do not leave a quantity of %v and %d instances",
				k.id, k.added, k.removed, k.minted, k.burned, held, l.live[ref])
			return
		}
	}
}

// ownedContainers returns the containers that have an owner, ordered by owner and
// id. The state has just been loaded, so no record has ever been released.
func (s *State) ownedContainers() (refs []uint32) {
	for ref := uint32(1); ref < s.containers.next; ref++ {
		if s.containers.at(ref).owner != 0 {
			refs = append(refs, ref)
		}
	}
	slices.SortStableFunc(refs, func(a, b uint32) int { return cmp.Compare(s.containers.at(a).owner, s.containers.at(b).owner) })
	return refs
}

// digestFromRecords returns the sum of the digest items of a state that was just
// loaded, computed from all records.
func (s *State) digestFromRecords() (sum uint64) {
	for ref := uint32(1); ref < s.containers.next; ref++ {
		c := s.containers.at(ref)
		sum += containerItem(c) + updatedItem(c) + s.containerCountItems(c)
	}
	for ref := uint32(1); ref < s.classes.next; ref++ {
		k := s.classes.at(ref)
		sum += classItem(k) + addedItem(k) + removedItem(k) + mintItems(k) + classCountItems(k)
	}
	for ref := uint32(1); ref < s.shapes.next; ref++ {
		sum += s.shapeItem(s.shapes.at(ref))
	}
	for table := range s.names {
		for ref := uint32(1); ref < s.names[table].labels.next; ref++ {
			sum += s.nameItem(table, ref)
		}
	}
	for ref := uint32(1); ref < s.stacks.next; ref++ {
		r := s.stacks.at(ref)
		sum += stackItem(s.stackIdentity(r), r.quantity)
	}
	for ref := uint32(1); ref < s.placements.next; ref++ {
		sum += s.placementItem(s.placements.at(ref))
	}
	for ref := uint32(1); ref < s.instances.next; ref++ {
		r := s.instances.at(ref)
		sum += s.instanceItem(r) + s.locationItem(r)
	}
	for ref := uint32(1); ref < s.holds.next; ref++ {
		sum += s.holdItem(s.holds.at(ref))
	}
	for ref := uint32(1); ref < s.reversals.next; ref++ {
		sum += s.reversals.at(ref).item()
	}
	return sum
}
