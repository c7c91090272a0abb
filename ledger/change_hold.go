package ledger

// Changes to holds. Only a stack with holds has a record of their sum, so other
// stacks need no memory for it. A stack can't be removed while it has holds.

func holdHash(id int64) uint64 { return place2Words(uint64(id), 4) }

// findHold returns the hold with that id, or 0.
func (s *State) findHold(id int64) uint32 {
	for p := s.holdIndex.probe(holdHash(id)); ; {
		ref := p.next()
		if ref == 0 || s.holds.at(ref).id == id {
			return ref
		}
	}
}

// heldOf returns the quantity of the stack that is held.
func (s *State) heldOf(r *stack) int64 {
	if r.held == 0 {
		return 0
	}
	return s.heldSums.at(r.held).quantity
}

// available returns the quantity of the stack that is not held.
func (s *State) available(r *stack) int64 { return r.quantity - s.heldOf(r) }

// addHeld adds quantity, which may be negative, to a hold's quantity and to the sums
// that include it. The caller updates the digest.
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

// makeHold holds a quantity that the stack has available. The id must not be in use.
func (s *State) makeHold(made hold) {
	ref, h := s.holds.alloc()
	made.seq = s.seq
	*h = made
	s.linkHold(ref)
	s.digest += s.holdItem(h)
	s.undo.push(undoHoldMade, ref, 0)
	s.touch(s.stacks.at(h.stack).container)
}

// reduceHold reduces a hold, and removes it when its quantity reaches 0.
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
