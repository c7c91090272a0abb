package ledger

import "slices"

// A Change is what one operation of a commit changed about one thing in a
// container. It says what the thing is afterwards, so that the last change of
// each thing up to a commit is the container as it was then: see Past.
type Change struct {
	Kind      ChangeKind
	Op        int32 // index of the operation in its transaction
	OpKind    OpKind
	Container int64
	// Of the container after the operation.
	Stacks, Instances, Occupied int

	ClassID, Key int64
	Delta        int64 // StackChanged: of the quantity; HeldChanged: of what is held
	Quantity     int64 // of the stack afterwards
	Held         int64 // of the stack afterwards
	InstanceID   int64

	Slot             int // of an instance in Slots
	InGrid           bool
	Placed           bool // a stack was placed or moved by the operation
	X, Y             int  // in a Grid: afterwards; of InstanceOut: before
	Width, Height    int
	Turned           bool
	Hold             HoldInfo      // HeldChanged: afterwards; Quantity 0 when it has ended
	Info             ContainerInfo // ContainerCreated and ContainerRenamed: afterwards; the counts are not set
	stackRef, inside uint32        // numbers of records
}

// A ChangeKind says what a Change is of. Written to files: never change or
// reuse a number.
type ChangeKind uint8

const (
	StackChanged     ChangeKind = 1
	HeldChanged      ChangeKind = 2
	InstanceIn       ChangeKind = 3
	InstanceOut      ChangeKind = 4
	InstanceMoved    ChangeKind = 5
	ContainerCreated ChangeKind = 6
	ContainerRemoved ChangeKind = 7
	ContainerRenamed ChangeKind = 8
	ContainerTouched ChangeKind = 9 // its updated_seq alone
)

// Observe makes the state tell fn of every change that a replayed commit makes
// to a container, in order, while Seq() is that commit. The change is valid
// during the call alone. A nil fn ends it. Without an observer it costs nothing.
func (s *State) Observe(fn func(*Change)) { s.observer = fn }

// An observation collects the changes of one operation from its undo entries.
type observation struct {
	s       *State
	op      *Op
	changes []Change
}

// observeOp tells of what the operation has changed; its undo entries begin at from.
func (s *State) observeOp(op *Op, from int) {
	o := observation{s: s, op: op, changes: s.observed[:0]}
	for _, e := range s.undo.entries[from:] {
		o.entry(e)
	}
	if op.Kind == RenameContainer {
		ref := s.findContainer(op.Args[RenameContainerID])
		o.add(ContainerRenamed, ref).Info = s.containerInfo(ref)
	}
	o.touched(s.undo.entries[from:])
	for i := range o.changes {
		c := &o.changes[i]
		o.finish(c)
		s.observer(c)
	}
	s.observed = o.changes
}

func (o *observation) entry(e undoEntry) {
	s := o.s
	switch e.kind {
	case undoQuantity:
		o.stack(e.ref, s.stacks.at(e.ref).quantity-int64(e.old))
	case undoStackMade:
		o.stack(e.ref, s.stacks.at(e.ref).quantity)
	case undoStackDropped:
		o.dropStack(e.ref)
	case undoGathered: // nothing of it was held
		c := o.stack(e.ref, -s.stacks.at(e.ref).quantity)
		c.Quantity, c.InGrid = 0, false
	case undoHoldMade:
		o.hold(e.ref, s.holds.at(e.ref).quantity, s.holds.at(e.ref).quantity)
	case undoHoldReduced:
		o.hold(e.ref, -int64(e.old), s.holds.at(e.ref).quantity)
	case undoHoldDropped:
		o.hold(e.ref, -s.holds.at(e.ref).quantity, 0)
	case undoSlotLeft:
		c := o.instance(InstanceOut, uint32(e.old>>32), e.ref)
		c.Slot = int(uint32(e.old))
	case undoSlotEntered:
		r := s.instances.at(e.ref)
		o.enter(r.host, e.ref).Slot = int(r.spot)
	case undoPlaced:
		o.placed(s.placements.at(e.ref))
	case undoUnplaced:
		if p := s.placements.at(e.ref); p.isInstance {
			o.instance(InstanceOut, p.container, p.thing).place(p)
		}
	case undoContainerMade:
		o.add(ContainerCreated, e.ref).Info = s.containerInfo(e.ref)
	case undoContainerDropped:
		o.add(ContainerRemoved, e.ref)
	}
}

// add begins a change of the container.
func (o *observation) add(kind ChangeKind, cref uint32) *Change {
	if len(o.changes) == cap(o.changes) {
		o.changes = slices.Grow(o.changes, 1)
	}
	o.changes = o.changes[:len(o.changes)+1]
	c := &o.changes[len(o.changes)-1]
	*c = Change{} // in place: it is large
	c.Kind, c.Op, c.OpKind, c.inside = kind, o.s.doing.op, o.op.Kind, cref
	return c
}

// stack notes that a stack's quantity has changed. A stack that was dropped has
// a change already if a hold on it ended.
func (o *observation) stack(ref uint32, delta int64) *Change {
	r := o.s.stacks.at(ref)
	c := o.add(StackChanged, r.container)
	c.stackRef, c.ClassID, c.Key, c.Delta = ref, o.s.classes.at(r.class).id, r.key, delta
	c.Quantity, c.Held = r.quantity, o.s.heldOf(r)
	if r.place != 0 {
		c.place(o.s.placements.at(r.place))
	}
	return c
}

func (o *observation) dropStack(ref uint32) {
	o.stack(ref, -o.s.stacks.at(ref).quantity)
	for i := range o.changes {
		if c := &o.changes[i]; c.stackRef == ref {
			c.Quantity, c.Held, c.InGrid = 0, 0, false
		}
	}
}

func (o *observation) hold(ref uint32, delta, after int64) {
	h := o.s.holds.at(ref)
	c := o.stack(h.stack, delta)
	c.Kind = HeldChanged
	c.Hold = o.s.holdInfo(ref)
	c.Hold.Quantity = after
}

func (o *observation) instance(kind ChangeKind, cref, ref uint32) *Change {
	c, r := o.add(kind, cref), o.s.instances.at(ref)
	c.InstanceID, c.ClassID, c.Key = r.id, o.s.classes.at(r.class).id, r.key
	return c
}

// enter notes that an instance stands in a container now: if it stood there
// before the operation, it has moved.
func (o *observation) enter(cref, ref uint32) *Change {
	id := o.s.instances.at(ref).id
	for i := range o.changes {
		if c := &o.changes[i]; c.Kind == InstanceOut && c.InstanceID == id && c.inside == cref {
			c.Kind = InstanceMoved
			return c
		}
	}
	return o.instance(InstanceIn, cref, ref)
}

// placed notes that a thing has got cells.
func (o *observation) placed(p *placement) {
	if p.isInstance {
		o.enter(p.container, p.thing).place(p)
		return
	}
	for i := range o.changes {
		if c := &o.changes[i]; c.Kind == StackChanged && c.stackRef == p.thing {
			c.place(p)
			c.Placed = true
			return
		}
	}
	o.stack(p.thing, 0).Placed = true
}

// place notes where a thing stands in a grid.
func (c *Change) place(p *placement) {
	c.InGrid, c.Turned = true, p.turned
	c.X, c.Y, c.Width, c.Height = int(p.x), int(p.y), int(p.width), int(p.height)
}

// Rotation is 0 or 90.
func (c *Change) Rotation() int64 { return rotationOf(c.Turned) }

// touched adds the containers whose updated_seq alone has moved.
func (o *observation) touched(entries []undoEntry) {
	for _, e := range entries {
		if e.kind != undoUpdated {
			continue
		}
		known := false
		for i := range o.changes {
			known = known || o.changes[i].inside == e.ref
		}
		if !known {
			o.add(ContainerTouched, e.ref)
		}
	}
}

// finish fills in what all changes say of their container.
func (o *observation) finish(c *Change) {
	r := o.s.containers.at(c.inside)
	c.Container, c.Stacks, c.Instances = r.id, int(r.stacks), int(r.instances)
	if r.grid != 0 {
		c.Occupied = int(o.s.grids.at(r.grid).occupied)
	}
}
