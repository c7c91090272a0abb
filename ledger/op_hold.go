package ledger

// second is one second in the unit of commit times, nanoseconds.
const second = 1_000_000_000

func (s *State) holdFungible(op *Op) *Error {
	cref, kref, err := s.wantStacksOf(op, HoldContainer, HoldClass, placeArgs{})
	if err != nil {
		return err
	}
	id, q := op.Args[HoldID], op.Args[HoldQuantity]
	if s.findHold(id) != 0 {
		return Errorf(HoldAlreadyExists, "Hold %d already exists.", id).With(Num("hold_id", id))
	}
	ref, err := s.wantStack(cref, kref, op.Args[HoldKey])
	if err != nil {
		return err
	}
	if err := s.wantAvailable(ref, q); err != nil {
		return err
	}
	s.decideExpiry(op)
	s.makeHold(hold{id: id, quantity: q, stack: ref, expires: op.Get(HoldExpiresAt, never)})
	return nil
}

// decideExpiry replaces expires_in with expires_at in the operation itself. So the
// record, and the commit that reads show, contain the time that was decided.
func (s *State) decideExpiry(op *Op) {
	if !op.Given(HoldExpiresIn) {
		return
	}
	now := (s.doing.at + second - 1) / second
	op.Args[HoldExpiresAt] = min(now+op.Args[HoldExpiresIn], MaxTime)
	op.Args[HoldExpiresIn] = 0
	op.Has = op.Has&^(1<<HoldExpiresIn) | 1<<HoldExpiresAt
}

// wantHold finds the hold that the operation names.
func (s *State) wantHold(op *Op) (uint32, *hold, *Error) {
	id := op.Args[HoldID]
	ref := s.findHold(id)
	if s.doing.limited && (ref == 0 || !s.doing.permit.allows(s.holderOf(ref).owner)) {
		return 0, nil, holdForbidden(id)
	}
	if ref == 0 {
		return 0, nil, holdNotFound(id)
	}
	return ref, s.holds.at(ref), nil
}

// holderOf returns the container of the stack that a hold is on.
func (s *State) holderOf(ref uint32) *container {
	return s.containers.at(s.stacks.at(s.holds.at(ref).stack).container)
}

func (s *State) settleHold(op *Op) *Error {
	ref, h, err := s.wantHold(op)
	if err != nil {
		return err
	}
	want, err := readPlace(op, SettleX)
	if err != nil {
		return err
	}
	source := h.stack
	r := s.stacks.at(source)
	from, kref, key := r.container, r.class, r.key
	s.resolve(op, SettleTo)
	if c := s.containers.at(from); c.id == op.Args[SettleTo] {
		return Errorf(InvalidOperation, "Hold %d is in container %s itself; a settlement needs another container.", h.id, s.called(c)).
			With(Num("hold_id", h.id), Num("to_container", c.id))
	}
	to, tc, err := s.wantContainer(op, SettleTo)
	if err != nil {
		return err
	}
	if err := s.wantStackKinds(tc, s.classes.at(kref), want); err != nil {
		return err
	}
	target := s.findStack(to, kref, key)
	at, err := s.stackSpot(tc, kref, key, target, want)
	if err != nil {
		return err
	}
	q := op.Get(SettleQuantity, h.quantity)
	if err := wantHeld(h, q); err != nil {
		return err
	}
	ends := h.quantity
	if op.Get(SettleKeep, 0) != 0 {
		ends = q
	}
	s.reduceHold(ref, ends)
	s.give(to, kref, key, q, target, at)
	s.setQuantity(source, s.stacks.at(source).quantity-q)
	s.touch(to)
	return nil
}

// wantHeld returns an error for a quantity that is below 1 or more than the hold has.
func wantHeld(h *hold, q int64) *Error {
	if err := wantQuantity(q); err != nil {
		return err
	}
	if q > h.quantity {
		return Errorf(InsufficientBalance, "Hold %d holds %d, which is less than the %d requested.", h.id, h.quantity, q).
			With(Num("hold_id", h.id), Num("held", h.quantity), Num("requested", q))
	}
	return nil
}

func (s *State) releaseHold(op *Op) *Error {
	ref, h, err := s.wantHold(op)
	if err != nil {
		return err
	}
	s.reduceHold(ref, h.quantity)
	return nil
}

// wantNotHeld returns an error if there are holds on the stack, because a stack with
// holds can't be removed.
func (s *State) wantNotHeld(ref uint32) *Error {
	r := s.stacks.at(ref)
	if r.held == 0 {
		return nil
	}
	c, k, held := s.containers.at(r.container), s.classes.at(r.class), s.heldOf(r)
	return Errorf(StackHeld, "Container %s holds %d of class %s with key %d, including a held quantity of %d: settle or release that first.",
		s.called(c), r.quantity, s.classCalled(k), r.key, held).
		With(Num("container_id", c.id), Num("class_id", k.id), Num("key", r.key), Num("held", held))
}

// wantNoneHeld returns an error if there are holds on stacks of the class in the
// container. The target of the consolidation may have holds.
func (s *State) wantNoneHeld(cref, kref, into uint32) (err *Error) {
	if s.classes.at(kref).held == 0 {
		return nil
	}
	treeWalk(stacksByClass{s}, s.containers.at(cref).stackTree, rank{s.classes.at(kref).id, -1}, func(ref uint32) bool {
		if s.stacks.at(ref).class != kref {
			return false
		}
		if ref != into {
			err = s.wantNotHeld(ref)
		}
		return err == nil
	})
	return err
}
