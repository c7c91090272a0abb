package ledger

// Lookups turn the arguments of an operation into records. If there is no such record,
// the functions whose names begin with "look" return 0, and those whose names begin with
// "want" return an error.

// lookContainer returns the container that argument i names, or 0.
func (s *State) lookContainer(op *Op, i int) uint32 {
	if op.Ref != 0 && op.named(i) {
		return s.findNamed(containerNames, op.Text(i))
	}
	return s.findContainer(op.Args[i])
}

// lookClass returns the class that argument i names, or 0.
func (s *State) lookClass(op *Op, i int) uint32 {
	if op.Ref != 0 && op.named(i) {
		return s.findNamed(classCodes, op.Text(i))
	}
	return s.findClass(op.Args[i])
}

// resolve sets Args[i] to the container's id for each argument i in args that is a
// name. It sets 0 if there is no such container, or the sender may not use it.
func (s *State) resolve(op *Op, args ...int) {
	for _, i := range args {
		if !op.named(i) {
			continue
		}
		op.Args[i] = 0
		if ref := s.lookContainer(op, i); ref != 0 && s.doing.permit.allows(s.containers.at(ref).owner) {
			op.Args[i] = s.containers.at(ref).id
		}
	}
}

// wantContainer finds the container that argument i names, and sets the
// argument to its id.
func (s *State) wantContainer(op *Op, i int) (uint32, *container, *Error) {
	if op.Ref != 0 && op.named(i) {
		return s.wantNamedContainer(op, i)
	}
	ref := s.findContainer(op.Args[i])
	if s.doing.limited && (ref == 0 || !s.doing.permit.allows(s.containers.at(ref).owner)) {
		return 0, nil, containerForbidden(op.Args[i])
	}
	if ref == 0 {
		return 0, nil, containerNotFound(op.Args[i])
	}
	return ref, s.containers.at(ref), nil
}

func (s *State) wantNamedContainer(op *Op, i int) (uint32, *container, *Error) {
	ref := s.findNamed(containerNames, op.Text(i))
	if s.doing.limited && (ref == 0 || !s.doing.permit.allows(s.containers.at(ref).owner)) {
		return 0, nil, containerNameForbidden(op.Text(i))
	}
	if ref == 0 {
		return 0, nil, containerNameNotFound(op.Text(i))
	}
	c := s.containers.at(ref)
	op.Args[i] = c.id
	return ref, c, nil
}

// wantClass finds the class that argument i names, and sets the argument to its id.
func (s *State) wantClass(op *Op, i int) (uint32, *class, *Error) {
	if op.Ref != 0 && op.named(i) {
		ref := s.findNamed(classCodes, op.Text(i))
		if ref == 0 {
			return 0, nil, classCodeNotFound(op.Text(i))
		}
		k := s.classes.at(ref)
		op.Args[i] = k.id
		return ref, k, nil
	}
	ref := s.findClass(op.Args[i])
	if ref == 0 {
		return 0, nil, classNotFound(op.Args[i])
	}
	return ref, s.classes.at(ref), nil
}

// classDetail returns the class of argument i, as the operation names it, for an
// error.
func (o *Op) classDetail(i int) Detail {
	switch {
	case o.named(i):
		return Text("code", o.Text(i))
	case o.Has&(1<<i) == 0: // a class whose id the ledger assigns
		return Text("code", o.Text(ClassCode))
	}
	return Num("class_id", o.Args[i])
}

// wantStack finds a stack of a container and class that have been looked up.
func (s *State) wantStack(cref, kref uint32, key int64) (uint32, *Error) {
	ref := s.findStack(cref, kref, key)
	if ref == 0 {
		return 0, s.stackNotFound(s.containers.at(cref), s.classes.at(kref), key)
	}
	return ref, nil
}

// wantInstance finds the instance that argument i names, either by its id or as the
// n-th that this transaction minted, where n counts from 0.
func (s *State) wantInstance(op *Op, i int) (uint32, *instance, *Error) {
	name, id := op.Kind.Args()[i].Name, op.Args[i]
	if op.Ref&(1<<i) != 0 {
		if minted := s.nextInstance - s.doing.firstMinted; id < 0 || id >= minted {
			return 0, nil, invalidField(name, "The operations before this one minted %d instances, numbered from 0; there is no number %d.",
				minted, id).With(Num("minted", id))
		}
		id += s.doing.firstMinted
	}
	ref := s.findInstance(id)
	if s.doing.limited && (ref == 0 || !s.mayUse(ref)) {
		return 0, nil, instanceForbidden(name, id)
	}
	if ref == 0 {
		return 0, nil, instanceNotFound(name, id)
	}
	return ref, s.instances.at(ref), nil
}

// placeArgs are x, y and rotation as given in an operation.
type placeArgs struct {
	x, y    int64
	at      bool // x and y were given
	rotated bool // rotation was given
	turned  bool // rotation is 90
}

func (p placeArgs) given() bool { return p.at || p.rotated }

// readPlace reads x, y and rotation, three adjacent arguments of which ix is the first.
func readPlace(op *Op, ix int) (p placeArgs, err *Error) {
	given := op.Has &^ op.Null >> ix
	if given&7 == 0 {
		return p, nil
	}
	switch given & 3 {
	case 1:
		return p, invalidField("y", "x was given without y; give both or neither.")
	case 2:
		return p, invalidField("x", "y was given without x; give both or neither.")
	}
	p.at, p.rotated = given&3 == 3, given&4 != 0
	p.x, p.y = op.Args[ix], op.Args[ix+1]
	p.turned = p.rotated && op.Args[ix+2] != 0
	return p, nil
}

// wantPlaceFits returns an error if x, y or rotation is given for a container without
// cells.
func (s *State) wantPlaceFits(c *container, p placeArgs) *Error {
	if c.kind == Grid || !p.given() {
		return nil
	}
	return s.wrongContainerKind(c, "has no cells, so x, y and rotation can't be given")
}
