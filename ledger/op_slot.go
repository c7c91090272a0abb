package ledger

func (s *State) wantSlots(op *Op, i int) (uint32, *container, *Error) {
	ref, c, err := s.wantContainer(op, i)
	if err != nil {
		return 0, nil, err
	}
	return ref, c, s.wantKind(c, Slots)
}

func (s *State) wantEmptySlot(cref uint32, c *container, slot int64) *Error {
	if err := s.wantSlot(c, slot); err != nil {
		return err
	}
	if other := s.slotAt(cref, slot); other != 0 {
		return s.slotOccupied(c, slot, s.instances.at(other).id)
	}
	return nil
}

func (s *State) placeInSlot(op *Op) *Error {
	cref, c, err := s.wantSlots(op, SlotContainer)
	if err != nil {
		return err
	}
	ref, r, err := s.wantInstance(op, SlotInstance)
	if err != nil {
		return err
	}
	if err := s.wantNowhere(r); err != nil {
		return err
	}
	slot := op.Args[SlotIndex]
	if err := s.wantEmptySlot(cref, c, slot); err != nil {
		return err
	}
	s.enterSlot(ref, cref, uint32(slot))
	return nil
}

func (s *State) removeFromSlot(op *Op) *Error {
	cref, c, err := s.wantSlots(op, SlotContainer)
	if err != nil {
		return err
	}
	slot := op.Args[SlotIndex]
	if err := s.wantSlot(c, slot); err != nil {
		return err
	}
	ref := s.slotAt(cref, slot)
	if ref == 0 {
		return Errorf(SlotEmpty, "Slot %d of container %s is empty.", slot, s.called(c)).
			With(Num("container_id", c.id), Num("slot_index", slot))
	}
	s.note(Fact{Form: FactInstance, A: s.instances.at(ref).id})
	s.leaveSlot(ref)
	s.loosen(ref)
	return nil
}

func (s *State) swapSlots(op *Op) *Error {
	aref, a, err := s.wantContainer(op, SwapContainer)
	if err != nil {
		return err
	}
	bref, b := aref, a
	if op.Given(SwapOther) {
		if bref, b, err = s.wantContainer(op, SwapOther); err != nil {
			return err
		}
	}
	for _, c := range [...]*container{a, b} {
		if err := s.wantKind(c, Slots); err != nil {
			return err
		}
	}
	slotA, slotB := op.Args[SwapA], op.Args[SwapB]
	if err := s.wantSlot(a, slotA); err != nil {
		return err
	}
	if err := s.wantSlot(b, slotB); err != nil {
		return err
	}
	s.touch(aref)
	s.touch(bref)
	inA, inB := s.slotAt(aref, slotA), s.slotAt(bref, slotB)
	s.noteSwap(inB, inA)
	if inA == inB { // the same slot, or both empty
		return nil
	}
	if inA != 0 {
		s.leaveSlot(inA)
	}
	if inB != 0 {
		s.leaveSlot(inB)
		s.enterSlot(inB, aref, uint32(slotA))
	}
	if inA != 0 {
		s.enterSlot(inA, bref, uint32(slotB))
	}
	return nil
}

// noteSwap records which instances, 0 for none, are in the slots after a swap.
func (s *State) noteSwap(inA, inB uint32) {
	f := Fact{Form: FactSwapped}
	if inA != 0 {
		f.A = s.instances.at(inA).id
	}
	if inB != 0 {
		f.B = s.instances.at(inB).id
	}
	s.note(f)
}
