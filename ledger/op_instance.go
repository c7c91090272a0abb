package ledger

func (s *State) mintInstance(op *Op) *Error {
	want, err := readPlace(op, MintX)
	if err != nil {
		return err
	}
	var cref uint32
	var c *container
	if op.Given(MintContainer) {
		if cref, c, err = s.wantContainer(op, MintContainer); err != nil {
			return err
		}
	} else if want.given() || op.Given(MintSlot) {
		return invalidField("container_id", "A place was given without container_id.")
	}
	kref, k, err := s.wantClass(op, MintClass)
	if err != nil {
		return err
	}
	if c != nil {
		if err := s.wantMintKind(op, c, want); err != nil {
			return err
		}
	}
	if k.fungible {
		return Errorf(WrongClassKind, "Class %s is fungible: it has stacks, not instances.", s.classCalled(k)).With(Num("class_id", k.id))
	}
	key := op.Get(MintKey, 0)
	switch {
	case c == nil:
		s.loosen(s.mint(kref, key))
	case c.kind == Slots:
		slot := op.Args[MintSlot]
		if err := s.wantEmptySlot(cref, c, slot); err != nil {
			return err
		}
		s.enterSlot(s.mint(kref, key), cref, uint32(slot))
	default:
		at, err := s.findSpot(c, kref, key, want)
		if err != nil {
			return err
		}
		s.place(cref, s.mint(kref, key), true, at)
	}
	return nil
}

// wantMintKind checks the place arguments of a mint against the container's kind.
func (s *State) wantMintKind(op *Op, c *container, want placeArgs) *Error {
	switch {
	case c.kind == Standard:
		return s.wrongContainerKind(c, "holds no instances")
	case c.kind == Grid && op.Given(MintSlot):
		return s.wrongContainerKind(c, "has no slots, so slot_index can't be given")
	case c.kind == Slots && want.given():
		return s.wantPlaceFits(c, want)
	case c.kind == Slots && !op.Given(MintSlot):
		return invalidField("slot_index", "Container %s is of kind Slots: slot_index must name the slot.", s.called(c)).
			With(Num("container_id", c.id))
	}
	return nil
}

func (s *State) burnInstance(op *Op) *Error {
	ref, r, err := s.wantInstance(op, InstanceArg)
	if err != nil {
		return err
	}
	if r.children != 0 {
		return Errorf(HasChildren, "Instance %d has instances attached to it; detach them first.", r.id).
			With(Num("instance_id", r.id))
	}
	switch r.where {
	case InSlot:
		s.leaveSlot(ref)
	case InGrid:
		s.unplace(r.spot)
	case Attached:
		s.detach(ref)
	}
	s.burn(ref)
	return nil
}

func (s *State) attachInstance(op *Op) *Error {
	ref, r, err := s.wantInstance(op, InstanceArg)
	if err != nil {
		return err
	}
	parent, p, err := s.wantInstance(op, ParentArg)
	if err != nil {
		return err
	}
	if err := s.wantNowhere(r); err != nil {
		return err
	}
	if s.topmost(parent) == ref { // the child is nowhere, so it is the top of its tree
		return Errorf(WouldCreateCycle, "Instance %d can't be attached to instance %d, which is the same instance or attached below it.", r.id, p.id).
			With(Num("instance_id", r.id), Num("parent_id", p.id))
	}
	s.attach(ref, parent)
	return nil
}

func (s *State) detachInstance(op *Op) *Error {
	ref, r, err := s.wantInstance(op, InstanceArg)
	if err != nil {
		return err
	}
	if r.where != Attached {
		return Errorf(NotAttached, "Instance %d is not attached to another.", r.id).With(Num("instance_id", r.id))
	}
	s.note(Fact{Form: FactInstance, A: s.instances.at(r.host).id})
	s.detach(ref)
	s.loosen(ref)
	return nil
}
