package ledger

func (s *State) createContainer(op *Op) *Error {
	if op.Has&(1<<CreateName) != 0 {
		return invalidField("name", "Containers can't have names yet.")
	}
	id, kind := op.Args[CreateContainerID], ContainerKind(op.Args[CreateKind])
	made := container{id: id, kind: kind, owner: op.Get(CreateOwner, 0)}
	foreign := []int{CreateSlotCount, CreateGridWidth, CreateGridHeight}
	switch kind {
	case Standard:
	case Slots:
		made.slotCount = uint32(op.Get(CreateSlotCount, DefaultSlots))
		foreign = foreign[1:]
	case Grid:
		made.gridWidth = uint16(op.Get(CreateGridWidth, DefaultSide))
		made.gridHeight = uint16(op.Get(CreateGridHeight, DefaultSide))
		foreign = foreign[:1]
	default:
		return invalidField("kind", "There is no container kind number %d.", op.Args[CreateKind])
	}
	for _, i := range foreign {
		if op.Given(i) {
			name := op.Kind.Args()[i].Name
			return invalidField(name, "A container of kind %s has no %s.", kind, name)
		}
	}
	ref := s.findContainer(id)
	if p := s.doing.permit; !p.allows(made.owner) || ref != 0 && !p.allows(s.containers.at(ref).owner) {
		return Errorf(Forbidden, "This token may not create container %d: it is limited to owners, and the container would be of another, or its id is taken.", id).
			With(Num("container_id", id))
	}
	if ref != 0 {
		return Errorf(ContainerAlreadyExists, "Container %d exists already.", id).With(Num("container_id", id))
	}
	s.makeContainer(made)
	return nil
}

func (s *State) removeContainer(op *Op) *Error {
	ref, c, err := s.wantContainer(op, CreateContainerID)
	if err != nil {
		return err
	}
	if c.stacks != 0 || c.instances != 0 {
		return Errorf(ContainerNotEmpty, "Container %d holds %d stacks and %d instances; it must be empty.", c.id, c.stacks, c.instances).
			With(Num("container_id", c.id), Num("stacks", int64(c.stacks)), Num("instances", int64(c.instances)))
	}
	s.dropContainer(ref)
	return nil
}
