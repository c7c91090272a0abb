package ledger

func (s *State) createContainer(op *Op) *Error {
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
	if err := s.wantNewContainer(op, made.owner); err != nil {
		return err
	}
	if op.Has&(1<<CreateContainerID) == 0 {
		made.id = s.assignID(containerNames)
		s.decideID(containerNames, op, made.id)
	}
	s.makeContainer(made, op.Text(CreateName))
	return nil
}

// wantNewContainer rejects a container that the sender may not create, or whose
// id or name is taken.
func (s *State) wantNewContainer(op *Op, owner int64) *Error {
	id, name := op.Args[CreateContainerID], op.Text(CreateName)
	ref := uint32(0)
	switch {
	case op.Has&(1<<CreateContainerID) != 0:
		ref = s.findContainer(id)
	case name == "":
		return invalidField("container_id", "container_id is missing: the ledger assigns one only if a name is given.")
	}
	if p := s.doing.permit; !p.allows(owner) || ref != 0 && !p.allows(s.containers.at(ref).owner) {
		if op.Has&(1<<CreateContainerID) == 0 {
			return Errorf(Forbidden, "This token may not create container %q: it is limited to owners, and the container would belong to another.", name).
				With(Text("name", name))
		}
		return Errorf(Forbidden, "This token may not create container %d: it is limited to owners, and the container would belong to another, or its id is taken.", id).
			With(Num("container_id", id))
	}
	if ref != 0 {
		return Errorf(ContainerAlreadyExists, "Container %d already exists.", id).With(Num("container_id", id))
	}
	return s.wantFreeName(name, 0)
}

func (s *State) removeContainer(op *Op) *Error {
	ref, c, err := s.wantContainer(op, CreateContainerID)
	if err != nil {
		return err
	}
	if c.stacks != 0 || c.instances != 0 {
		return Errorf(ContainerNotEmpty, "Container %s holds %d stacks and %d instances; it must be empty.", s.called(c), c.stacks, c.instances).
			With(Num("container_id", c.id), Num("stacks", int64(c.stacks)), Num("instances", int64(c.instances)))
	}
	s.dropContainer(ref)
	return nil
}
