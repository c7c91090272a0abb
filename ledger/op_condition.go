package ledger

import "fmt"

// Conditions change nothing, not even updated_seq.

// requirementFailed returns the error of a condition that does not hold.
func requirementFailed(format string, args ...any) *Error {
	return Errorf(RequirementFailed, format, args...)
}

func (s *State) requireBalance(op *Op) *Error {
	cref, kref, err := s.wantStacksOf(op, BalanceContainer, BalanceClass, placeArgs{})
	if err != nil {
		return err
	}
	c, k, key := s.containers.at(cref), s.classes.at(kref), op.Args[BalanceKey]
	available, quantity := int64(0), int64(0)
	if ref := s.findStack(cref, kref, key); ref != 0 {
		r := s.stacks.at(ref)
		available, quantity = s.available(r), r.quantity
	}
	low, high := op.Get(BalanceAtLeast, 0), op.Get(BalanceAtMost, quantity)
	if available >= low && quantity <= high {
		return nil
	}
	e := requirementFailed("Container %s has %d of class %s with key %d, of which %d are available; %s.",
		s.called(c), quantity, s.classCalled(k), key, available, op.requiredBalance()).
		With(Num("container_id", c.id), Num("class_id", k.id), Num("key", key))
	if op.Given(BalanceAtLeast) {
		e.With(Num("at_least", low))
	}
	if op.Given(BalanceAtMost) {
		e.With(Num("at_most", high))
	}
	return e.With(Num("available", available), Num("quantity", quantity))
}

// requiredBalance describes what the operation requires.
func (o *Op) requiredBalance() string {
	low, high := o.Args[BalanceAtLeast], o.Args[BalanceAtMost]
	switch {
	case !o.Given(BalanceAtMost):
		return fmt.Sprintf("at least %d must be available", low)
	case !o.Given(BalanceAtLeast):
		return fmt.Sprintf("it must have at most %d", high)
	}
	return fmt.Sprintf("at least %d must be available, and it must have at most %d", low, high)
}

func (s *State) requireUnchanged(op *Op) *Error {
	_, c, err := s.wantContainer(op, UnchangedContainer)
	if err != nil {
		return err
	}
	since := op.Args[UnchangedSince]
	if c.updated <= uint64(since) {
		return nil
	}
	return requirementFailed("Container %s was changed by commit %d, after commit %d.", s.called(c), c.updated, since).
		With(Num("container_id", c.id), Num("since_seq", since), Num("updated_seq", int64(c.updated)))
}

func (s *State) requireInstance(op *Op) *Error {
	cref, c, err := s.wantContainer(op, StandsContainer)
	if err != nil {
		return err
	}
	if c.kind == Standard {
		return s.wrongContainerKind(c, "holds no instances")
	}
	inSlot := op.Given(StandsSlot)
	if inSlot {
		if c.kind == Grid {
			return s.wrongContainerKind(c, "has no slots, so slot_index can't be given")
		}
	}
	_, r, err := s.wantInstance(op, StandsInstance)
	if err != nil {
		return err
	}
	slot := op.Args[StandsSlot]
	if inSlot {
		if err := s.wantSlot(c, slot); err != nil {
			return err
		}
	}
	in := r.where == InSlot || r.where == InGrid
	if in && r.host == cref && (!inSlot || int64(r.spot) == slot) {
		return nil
	}
	e := requirementFailed("Instance %d is not in container %s.", r.id, s.called(c)).
		With(Num("instance_id", r.id), Num("container_id", c.id))
	if inSlot {
		e = requirementFailed("Instance %d is not in slot %d of container %s.", r.id, slot, s.called(c)).
			With(Num("instance_id", r.id), Num("container_id", c.id), Num("slot_index", slot))
	}
	return e.With(s.foundAt(r)...)
}

// foundAt describes where an instance is, for the details of a failed condition.
func (s *State) foundAt(r *instance) []Detail {
	switch r.where {
	case InSlot:
		return []Detail{Num("found_container_id", s.containers.at(r.host).id), Num("found_slot_index", int64(r.spot))}
	case InGrid:
		return []Detail{Num("found_container_id", s.containers.at(r.host).id)}
	case Attached:
		return []Detail{Num("found_parent_id", s.instances.at(r.host).id)}
	}
	return []Detail{Text("found", "nowhere")}
}
