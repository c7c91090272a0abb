package ledger

// Changes to holds. A stack with holds knows their sum, so that a stack
// without any costs nothing; it can't be dropped before its last hold.

func holdHash(id int64) uint64 { return place2Words(uint64(id), 4) }

// findHold is the hold of that id, or 0.
func (s *State) findHold(id int64) uint32 {
	for p := s.holdIndex.probe(holdHash(id)); ; {
		ref := p.next()
		if ref == 0 || s.holds.at(ref).id == id {
			return ref
		}
	}
}

// heldOf is the quantity of the stack that is held.
func (s *State) heldOf(r *stack) int64 {
	if r.held == 0 {
		return 0
	}
	return s.heldSums.at(r.held).quantity
}

// available is the quantity of the stack that is not held.
func (s *State) available(r *stack) int64 { return r.quantity - s.heldOf(r) }

// addHeld changes a hold's quantity and the sums that it is in. The digest is
// the caller's.
func (s *State) addHeld(ref uint32, quantity int64) {
	h := s.holds.at(ref)
	h.quantity += quantity
	s.addHeldSums(s.stacks.at(h.stack), quantity)
}

func (s *State) addHeldSums(r *stack, quantity int64) {
	s.heldSums.at(r.held).quantity += quantity
	s.classes.at(r.class).held += quantity
}

func (s *State) linkHold(ref uint32) {
	h := s.holds.at(ref)
	r := s.stacks.at(h.stack)
	if r.held == 0 {
		r.held, _ = s.heldSums.alloc()
	}
	s.heldSums.at(r.held).holds++
	s.addHeldSums(r, h.quantity)
	s.holdIndex.add(holdHash(h.id), ref)
	treeInsert(holdsByContainer{s}, &s.holdTree, ref)
	if h.expires != never {
		treeInsert(holdsByExpiry{s}, &s.dueTree, ref)
	}
}

func (s *State) unlinkHold(ref uint32) {
	h := s.holds.at(ref)
	r := s.stacks.at(h.stack)
	s.holdIndex.remove(holdHash(h.id), ref)
	treeRemove(holdsByContainer{s}, &s.holdTree, ref)
	if h.expires != never {
		treeRemove(holdsByExpiry{s}, &s.dueTree, ref)
	}
	s.addHeldSums(r, -h.quantity)
	sum := s.heldSums.at(r.held)
	if sum.holds--; sum.holds == 0 {
		s.heldSums.release(r.held)
		r.held = 0
	}
}

// makeHold sets a quantity aside that the stack has available; the id is not in use.
func (s *State) makeHold(made hold) {
	ref, h := s.holds.alloc()
	made.seq = s.seq
	*h = made
	s.linkHold(ref)
	s.digest += s.holdItem(h)
	s.undo.push(undoHoldMade, ref, 0)
	s.touch(s.stacks.at(h.stack).container)
}

// reduceHold makes a hold smaller; one that comes to 0 is gone.
func (s *State) reduceHold(ref uint32, quantity int64) {
	h := s.holds.at(ref)
	s.touch(s.stacks.at(h.stack).container)
	s.digest -= s.holdItem(h)
	if h.quantity == quantity {
		s.unlinkHold(ref)
		s.undo.drop(undoHoldDropped, ref)
		return
	}
	s.addHeld(ref, -quantity)
	s.digest += s.holdItem(h)
	s.undo.push(undoHoldReduced, ref, uint64(quantity))
}
