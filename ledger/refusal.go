package ledger

// Refusals that several operations and reads share.

func containerNotFound(id int64) *Error {
	return Errorf(ContainerNotFound, "There is no container %d.", id).With(Num("container_id", id))
}

func classNotFound(id int64) *Error {
	return Errorf(ClassNotFound, "There is no class %d.", id).With(Num("class_id", id))
}

func containerNameNotFound(name string) *Error {
	return Errorf(ContainerNotFound, "There is no container named %q.", name).With(Text("name", name))
}

func classCodeNotFound(code string) *Error {
	return Errorf(ClassNotFound, "There is no class with the code %q.", code).With(Text("code", code))
}

func instanceNotFound(name string, id int64) *Error {
	return Errorf(InstanceNotFound, "There is no instance %d.", id).With(Num(name, id))
}

func invalidField(field, format string, args ...any) *Error {
	return Errorf(InvalidRequest, format, args...).With(Text("field", field))
}

// wrongContainerKind says why a container of this kind can't serve.
func wrongContainerKind(c *container, why string) *Error {
	return Errorf(WrongContainerKind, "Container %d is of kind %s, which %s.", c.id, c.kind, why).
		With(Num("container_id", c.id), Text("kind", c.kind.String()))
}

// wantStacks refuses containers that can't hold stacks.
func wantStacks(c *container) *Error {
	if c.kind == Slots {
		return wrongContainerKind(c, "holds no stacks")
	}
	return nil
}

func wantKind(c *container, kind ContainerKind) *Error {
	if c.kind == kind {
		return nil
	}
	if kind == Slots {
		return wrongContainerKind(c, "has no slots")
	}
	return wrongContainerKind(c, "has no cells")
}

func wantFungible(k *class) *Error {
	if k.fungible {
		return nil
	}
	return Errorf(WrongClassKind, "Class %d is not fungible: it has instances, no stacks.", k.id).With(Num("class_id", k.id))
}

func stackNotFound(c *container, k *class, key int64) *Error {
	return Errorf(StackNotFound, "Container %d holds no stack of class %d with key %d.", c.id, k.id, key).
		With(Num("container_id", c.id), Num("class_id", k.id), Num("key", key))
}

func (s *State) insufficientBalance(r *stack, requested int64) *Error {
	c, k, held := s.containers.at(r.container), s.classes.at(r.class), s.heldOf(r)
	available := r.quantity - held
	e := Errorf(InsufficientBalance, "Container %d holds %d of class %d with key %d, which is less than the %d requested.",
		c.id, available, k.id, r.key, requested)
	if held > 0 {
		e = Errorf(InsufficientBalance, "Container %d has %d available of class %d with key %d, which is less than the %d requested; %d more is held.",
			c.id, available, k.id, r.key, requested, held)
	}
	e.With(Num("container_id", c.id), Num("class_id", k.id), Num("key", r.key), Num("available", available))
	if held > 0 {
		e.With(Num("held", held))
	}
	return e.With(Num("requested", requested))
}

func holdNotFound(id int64) *Error {
	return Errorf(HoldNotFound, "There is no hold %d.", id).With(Num("hold_id", id))
}

func wantQuantity(q int64) *Error {
	if q > 0 {
		return nil
	}
	return Errorf(InvalidQuantity, "The quantity is %d; it must be at least 1.", q).With(Num("quantity", q))
}

// wantSlot refuses a slot_index that the container does not have.
func wantSlot(c *container, index int64) *Error {
	if index >= 0 && index < int64(c.slotCount) {
		return nil
	}
	return Errorf(SlotOutOfRange, "Container %d has %d slots, from 0 to %d; there is no slot %d.",
		c.id, c.slotCount, c.slotCount-1, index).
		With(Num("container_id", c.id), Num("slot_index", index), Num("slot_count", int64(c.slotCount)))
}

func slotOccupied(c *container, index, occupant int64) *Error {
	return Errorf(SlotOccupied, "Slot %d of container %d holds instance %d already.", index, c.id, occupant).
		With(Num("container_id", c.id), Num("slot_index", index), Num("instance_id", occupant))
}

// wantNowhere refuses an instance that is attached or placed.
func (s *State) wantNowhere(r *instance) *Error {
	switch r.where {
	case Attached:
		parent := s.instances.at(r.host).id
		return Errorf(AlreadyAttached, "Instance %d is attached to instance %d; detach it first.", r.id, parent).
			With(Num("instance_id", r.id), Num("parent_id", parent))
	case InSlot:
		c := s.containers.at(r.host)
		return Errorf(AlreadyPlaced, "Instance %d stands in slot %d of container %d; take it out first.", r.id, r.spot, c.id).
			With(Num("instance_id", r.id), Num("container_id", c.id), Num("slot_index", int64(r.spot)))
	case InGrid:
		c, p := s.containers.at(r.host), s.placements.at(r.spot)
		return Errorf(AlreadyPlaced, "Instance %d stands at (%d,%d) of container %d; take it out first.", r.id, p.x, p.y, c.id).
			With(Num("instance_id", r.id), Num("container_id", c.id), Num("x", int64(p.x)), Num("y", int64(p.y)))
	}
	return nil
}
