package ledger

// Changes to stacks.

func stackHash(cref, kref uint32, key int64) uint64 {
	return place2Words(uint64(cref)<<32|uint64(kref), uint64(key))
}

// findStack returns the stack of that class and key in the container, or 0.
func (s *State) findStack(cref, kref uint32, key int64) uint32 {
	for p := s.stackIndex.probe(stackHash(cref, kref, key)); ; {
		ref := p.next()
		if ref == 0 {
			return 0
		}
		if r := s.stacks.at(ref); r.container == cref && r.class == kref && r.key == key {
			return ref
		}
	}
}

// holdsStacks reports whether the container holds a stack of the class.
func (s *State) holdsStacks(cref, kref uint32) bool {
	ref := treeNext(stacksByClass{s}, s.containers.at(cref).stackTree, rank{s.classes.at(kref).id, -1})
	return ref != 0 && s.stacks.at(ref).class == kref
}

func (s *State) linkStack(ref uint32) {
	r := s.stacks.at(ref)
	c, k := s.containers.at(r.container), s.classes.at(r.class)
	if !s.holdsStacks(r.container, r.class) {
		k.containers++
	}
	k.stacks++
	c.stacks++
	s.stackIndex.add(stackHash(r.container, r.class, r.key), ref)
	treeInsert(stacksByClass{s}, &c.stackTree, ref)
	s.listStack(ref)
}

func (s *State) unlinkStack(ref uint32) {
	r := s.stacks.at(ref)
	c, k := s.containers.at(r.container), s.classes.at(r.class)
	s.stackIndex.remove(stackHash(r.container, r.class, r.key), ref)
	treeRemove(stacksByClass{s}, &c.stackTree, ref)
	s.unlistStack(ref)
	k.stacks--
	c.stacks--
	if !s.holdsStacks(r.container, r.class) {
		k.containers--
	}
}

// makeStack creates a stack that does not exist yet.
func (s *State) makeStack(cref, kref uint32, key, quantity int64) uint32 {
	ref, r := s.stacks.alloc()
	r.container, r.class, r.key, r.quantity = cref, kref, key, quantity
	before := s.countItems(cref, kref)
	s.linkStack(ref)
	s.digest += s.countItems(cref, kref) - before + stackItem(s.stackIdentity(r), quantity)
	s.undo.push(undoStackMade, ref, 0)
	return ref
}

// setQuantity changes a stack's quantity. If it becomes 0, setQuantity removes the
// stack and frees its cells.
func (s *State) setQuantity(ref uint32, quantity int64) {
	if quantity == 0 {
		s.dropStack(ref)
		return
	}
	r := s.stacks.at(ref)
	s.undo.push(undoQuantity, ref, uint64(r.quantity))
	s.changeQuantity(r, s.stackIdentity(r), quantity)
}

// changeQuantity is like setQuantity, but the quantity must be above 0, and it does
// not record how to undo the change.
func (s *State) changeQuantity(r *stack, identity uint64, quantity int64) {
	s.digest += stackItem(identity, quantity) - stackItem(identity, r.quantity)
	r.quantity = quantity
}

func (s *State) dropStack(ref uint32) {
	r := s.stacks.at(ref)
	if r.place != 0 {
		s.unplace(r.place)
	}
	before := s.countItems(r.container, r.class) + stackItem(s.stackIdentity(r), r.quantity)
	s.unlinkStack(ref)
	s.digest += s.countItems(r.container, r.class) - before
	s.undo.drop(undoStackDropped, ref)
}
