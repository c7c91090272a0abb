package ledger

import (
	"math"
	"strconv"
)

// Errors that several operations and reads share.

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

// called returns how messages refer to the container: by its name, or else its id.
func (s *State) called(c *container) string {
	if c.named {
		return s.nameOf(containerNames, s.findContainer(c.id))
	}
	return strconv.FormatInt(c.id, 10)
}

// classCalled returns how messages refer to the class: by its code, or else its id.
func (s *State) classCalled(k *class) string {
	if k.coded {
		return s.nameOf(classCodes, s.findClass(k.id))
	}
	return strconv.FormatInt(k.id, 10)
}

// wrongContainerKind returns the error for a container of an unsuitable kind.
func (s *State) wrongContainerKind(c *container, why string) *Error {
	return Errorf(WrongContainerKind, "Container %s is of kind %s, which %s.", s.called(c), c.kind, why).
		With(Num("container_id", c.id), Text("kind", c.kind.String()))
}

// wantStacks returns an error for a container that can't hold stacks.
func (s *State) wantStacks(c *container) *Error {
	if c.kind == Slots {
		return s.wrongContainerKind(c, "holds no stacks")
	}
	return nil
}

func (s *State) wantKind(c *container, kind ContainerKind) *Error {
	if c.kind == kind {
		return nil
	}
	if kind == Slots {
		return s.wrongContainerKind(c, "has no slots")
	}
	return s.wrongContainerKind(c, "has no cells")
}

func (s *State) wantFungible(k *class) *Error {
	if k.fungible {
		return nil
	}
	return Errorf(WrongClassKind, "Class %s is not fungible: it has instances, not stacks.", s.classCalled(k)).With(Num("class_id", k.id))
}

func (s *State) stackNotFound(c *container, k *class, key int64) *Error {
	return Errorf(StackNotFound, "Container %s holds no stack of class %s with key %d.", s.called(c), s.classCalled(k), key).
		With(Num("container_id", c.id), Num("class_id", k.id), Num("key", key))
}

func (s *State) insufficientBalance(r *stack, requested int64) *Error {
	c, k, held := s.containers.at(r.container), s.classes.at(r.class), s.heldOf(r)
	available := r.quantity - held
	e := Errorf(InsufficientBalance, "Container %s holds %d of class %s with key %d, which is less than the %d requested.",
		s.called(c), available, s.classCalled(k), r.key, requested)
	if held > 0 {
		e = Errorf(InsufficientBalance, "Container %s has %d available of class %s with key %d, which is less than the %d requested; a further quantity of %d is held.",
			s.called(c), available, s.classCalled(k), r.key, requested, held)
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
	orLess := ""
	if q == math.MinInt64 { // the parser stores lower numbers as this one
		orLess = " or less"
	}
	return Errorf(InvalidQuantity, "The quantity is %d%s; it must be at least 1.", q, orLess).With(Num("quantity", q))
}

// wantSlot returns an error for a slot_index that the container does not have.
func (s *State) wantSlot(c *container, index int64) *Error {
	if index >= 0 && index < int64(c.slotCount) {
		return nil
	}
	return Errorf(SlotOutOfRange, "Container %s has %d slots, from 0 to %d; there is no slot %d.",
		s.called(c), c.slotCount, c.slotCount-1, index).
		With(Num("container_id", c.id), Num("slot_index", index), Num("slot_count", int64(c.slotCount)))
}

func (s *State) slotOccupied(c *container, index, occupant int64) *Error {
	return Errorf(SlotOccupied, "Slot %d of container %s already holds instance %d.", index, s.called(c), occupant).
		With(Num("container_id", c.id), Num("slot_index", index), Num("instance_id", occupant))
}

// wantNowhere returns an error for an instance that is attached or placed.
func (s *State) wantNowhere(r *instance) *Error {
	switch r.where {
	case Attached:
		parent := s.instances.at(r.host).id
		return Errorf(AlreadyAttached, "Instance %d is attached to instance %d; detach it first.", r.id, parent).
			With(Num("instance_id", r.id), Num("parent_id", parent))
	case InSlot:
		c := s.containers.at(r.host)
		return Errorf(AlreadyPlaced, "Instance %d is in slot %d of container %s; take it out first.", r.id, r.spot, s.called(c)).
			With(Num("instance_id", r.id), Num("container_id", c.id), Num("slot_index", int64(r.spot)))
	case InGrid:
		c, p := s.containers.at(r.host), s.placements.at(r.spot)
		return Errorf(AlreadyPlaced, "Instance %d is at (%d,%d) of container %s; take it out first.", r.id, p.x, p.y, s.called(c)).
			With(Num("instance_id", r.id), Num("container_id", c.id), Num("x", int64(p.x)), Num("y", int64(p.y)))
	}
	return nil
}
