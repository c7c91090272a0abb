package ledger

// Changes to instances and their locations.

func instanceHash(id int64) uint64 { return place2Words(uint64(id), 2) }

// findInstance returns the instance with that id, or 0.
func (s *State) findInstance(id int64) uint32 {
	for p := s.instanceIndex.probe(instanceHash(id)); ; {
		ref := p.next()
		if ref == 0 || s.instances.at(ref).id == id {
			return ref
		}
	}
}

func (s *State) linkInstance(ref uint32) {
	s.instanceIndex.add(instanceHash(s.instances.at(ref).id), ref)
	s.listInstance(ref)
}

func (s *State) unlinkInstance(ref uint32) {
	s.instanceIndex.remove(instanceHash(s.instances.at(ref).id), ref)
	s.unlistInstance(ref)
}

// mint creates an instance that has no location yet.
func (s *State) mint(kref uint32, key int64) uint32 {
	ref, r := s.instances.alloc()
	*r = instance{id: s.nextInstance, class: kref, key: key, minted: s.seq}
	s.nextInstance++
	s.linkInstance(ref)
	k := s.classes.at(kref)
	before := mintItems(k)
	k.minted++
	s.digest += mintItems(k) - before + s.instanceItem(r) + s.locationItem(r)
	s.undo.push(undoMinted, ref, 0)
	return ref
}

// burn destroys an instance that has no location and no children.
func (s *State) burn(ref uint32) {
	r := s.instances.at(ref)
	k := s.classes.at(r.class)
	before := mintItems(k) + s.instanceItem(r) + s.locationItem(r)
	k.burned++
	s.unlinkInstance(ref)
	s.digest += mintItems(k) - before
	s.undo.drop(undoBurned, ref)
}

func holdingHash(cref, kref uint32) uint64 { return place2Words(uint64(cref)<<32|uint64(kref), 3) }

func (s *State) findHolding(cref, kref uint32) uint32 {
	for p := s.holdingIndex.probe(holdingHash(cref, kref)); ; {
		ref := p.next()
		if ref == 0 {
			return 0
		}
		if h := s.holdings.at(ref); h.container == cref && h.class == kref {
			return ref
		}
	}
}

// hold counts one more instance of the class directly in the container.
func (s *State) hold(cref, kref uint32) {
	s.containers.at(cref).instances++
	ref := s.findHolding(cref, kref)
	if ref == 0 {
		var h *holding
		ref, h = s.holdings.alloc()
		h.container, h.class = cref, kref
		s.holdingIndex.add(holdingHash(cref, kref), ref)
		s.classes.at(kref).containers++
	}
	s.holdings.at(ref).count++
}

// unhold undoes one call to hold.
func (s *State) unhold(cref, kref uint32) {
	s.containers.at(cref).instances--
	ref := s.findHolding(cref, kref)
	h := s.holdings.at(ref)
	h.count--
	if h.count == 0 {
		s.holdingIndex.remove(holdingHash(cref, kref), ref)
		s.holdings.release(ref)
		s.classes.at(kref).containers--
	}
}

// slotAt returns the instance in a slot, or 0.
func (s *State) slotAt(cref uint32, slot int64) uint32 {
	return treeFind(slotsByIndex{s}, s.containers.at(cref).things, rank{major: slot})
}

func (s *State) linkSlot(ref, cref, slot uint32) {
	r := s.instances.at(ref)
	r.where, r.host, r.spot = InSlot, cref, slot
	treeInsert(slotsByIndex{s}, &s.containers.at(cref).things, ref)
	s.hold(cref, r.class)
}

func (s *State) unlinkSlot(ref uint32) {
	r := s.instances.at(ref)
	treeRemove(slotsByIndex{s}, &s.containers.at(r.host).things, ref)
	s.unhold(r.host, r.class)
	r.where, r.host, r.spot = Nowhere, 0, 0
}

// enterSlot puts an instance without a location into an empty slot.
func (s *State) enterSlot(ref, cref, slot uint32) {
	r := s.instances.at(ref)
	before := s.countItems(cref, r.class) + s.locationItem(r)
	s.linkSlot(ref, cref, slot)
	s.digest += s.countItems(cref, r.class) + s.locationItem(r) - before
	s.undo.push(undoSlotEntered, ref, 0)
	s.touch(cref)
}

// leaveSlot takes an instance out of its slot.
func (s *State) leaveSlot(ref uint32) {
	r := s.instances.at(ref)
	cref := r.host
	before := s.countItems(cref, r.class) + s.locationItem(r)
	s.undo.push(undoSlotLeft, ref, uint64(cref)<<32|uint64(r.spot))
	s.unlinkSlot(ref)
	s.digest += s.countItems(cref, r.class) + s.locationItem(r) - before
	s.touch(cref)
}

func (s *State) linkChild(ref, parent uint32) {
	r := s.instances.at(ref)
	r.where, r.host = Attached, parent
	treeInsert(childrenByID{s}, &s.instances.at(parent).children, ref)
	s.joinPath(ref, parent)
}

func (s *State) unlinkChild(ref uint32) {
	r := s.instances.at(ref)
	treeRemove(childrenByID{s}, &s.instances.at(r.host).children, ref)
	s.cutPath(ref)
	r.where, r.host = Nowhere, 0
}

// attach attaches an instance without a location to a parent.
func (s *State) attach(ref, parent uint32) {
	r := s.instances.at(ref)
	before := s.locationItem(r)
	s.linkChild(ref, parent)
	s.digest += s.locationItem(r) - before
	s.undo.push(undoAttached, ref, 0)
}

// detach removes an attached instance from its parent.
func (s *State) detach(ref uint32) {
	r := s.instances.at(ref)
	before := s.locationItem(r)
	s.undo.push(undoDetached, ref, uint64(r.host))
	s.unlinkChild(ref)
	s.digest += s.locationItem(r) - before
}
