package ledger

import "slices"

// A Change is a change that one operation of a commit made to a container, or to one
// stack, hold or instance in it. It holds the values after the operation, so a container
// can be rebuilt as of any commit from the last change of each thing up to that commit:
// see Past.
type Change struct {
	Kind      ChangeKind
	Op        int32 // index of the operation in its transaction
	OpKind    OpKind
	Container int64
	// Numbers of stacks and instances in the container after the operation.
	Stacks, Instances int

	ClassID, Key int64
	Delta        int64 // StackChanged: of the quantity; HeldChanged: of what is held
	Quantity     int64 // of the stack afterwards
	Held         int64 // of the stack afterwards
	Payer        int64 // StackChanged by SettleHold, in the container that was paid: the container of the hold
	InstanceID   int64

	Slot             int // of an instance in Slots
	InGrid           bool
	Placed           bool // a stack was placed or moved by the operation
	X, Y             int  // in a Grid: afterwards; of InstanceOut: before
	Width, Height    int
	Turned           bool
	Hold             HoldInfo      // HeldChanged: afterwards; Quantity 0 when it has ended
	Info             ContainerInfo // ContainerCreated and ContainerRenamed: afterwards; the counts and UpdatedSeq may be missing
	stackRef, inside uint32        // numbers of records
}

// A ChangeKind names what a Change is about. The numbers are written to files:
// never change or reuse one.
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
	ContainerTouched ChangeKind = 9 // only its updated_seq
)

// Observe makes the state collect all changes that replayed commits make to containers.
// The state adds them to the given Changes. If that has no room before an operation, the
// state calls full, which must make room or call Observe with another Changes. A nil
// Changes ends the observation, and then replay costs nothing extra.
func (s *State) Observe(into *Changes, full func()) {
	s.observed, s.observedFull = into, full
}

// An observation collects the changes of one operation from its undo entries.
type observation struct {
	s       *State
	op      *Op
	changes []Change
}

// observeOp adds the changes that op made. The argument from is the index of the first of
// its undo entries.
func (s *State) observeOp(op *Op, from int) {
	if s.observed.full() {
		s.observedFull()
	}
	into, entries := s.observed, s.undo.entries[from:]
	switch op.Kind {
	case TransferFungible, AddFungible, RemoveFungible:
		if s.observeStacks(op, entries) {
			return
		}
	}
	n := len(into.others)
	o := observation{s: s, op: op, changes: into.others[n:]}
	for _, e := range entries {
		o.entry(e)
	}
	if op.Kind == RenameContainer {
		ref := s.findContainer(op.Args[RenameContainerID])
		o.add(ContainerRenamed, ref).Info = s.containerInfo(ref)
	}
	o.touched(entries)
	if op.Kind == SettleHold {
		o.pay()
	}
	for i := range o.changes {
		o.finish(&o.changes[i])
		into.list = append(into.list, StackChange{Seq: s.seq, Container: o.changes[i].Container, Op: int32(n + i), other: true})
	}
	into.others = append(into.others, o.changes...) // usually copies nothing: they were built there
}

// observeStacks is a fast form of observeOp for operations that change only
// quantities of stacks. If a stack is in a Grid or has holds, or if anything else
// changes, it adds nothing and returns false. It makes room for two changes.
func (s *State) observeStacks(op *Op, entries []undoEntry) bool {
	list := s.observed.list
	if len(list)+2 > cap(list) {
		list = slices.Grow(list, changesRoom)
	}
	for _, e := range entries {
		r := (*stack)(nil)
		var delta, quantity int64
		switch e.kind {
		case undoUpdated, undoAdded, undoRemoved:
			continue
		case undoQuantity:
			r = s.stacks.at(e.ref)
			delta, quantity = r.quantity-int64(e.old), r.quantity
		case undoStackMade:
			r = s.stacks.at(e.ref)
			delta, quantity = r.quantity, r.quantity
		case undoStackDropped:
			r = s.stacks.at(e.ref)
			delta = -r.quantity
		default:
			return false
		}
		if r.place != 0 || r.held != 0 {
			return false
		}
		in := s.containers.at(r.container)
		list = list[:len(list)+1]
		c := &list[len(list)-1] // set field by field: a composite literal would be built elsewhere and copied
		c.Seq, c.Container, c.ClassID, c.Key = s.seq, in.id, s.classes.at(r.class).id, r.key
		c.Delta, c.Quantity, c.Stacks, c.Instances = delta, quantity, in.stacks, in.instances
		c.Op, c.OpKind, c.other = s.doing.op, op.Kind, false
	}
	s.observed.list = list
	return true
}

// observeTransfer is like observeStacks, for a plain transfer of q; see
// transferAhead.
func (s *State) observeTransfer(k *class, key, q int64, tc *container, target *stack, fc *container, source *stack) {
	if s.observed.full() {
		s.observedFull()
	}
	c := s.observed.add()
	c.Seq, c.Container, c.ClassID, c.Key = s.seq, tc.id, k.id, key
	c.Delta, c.Quantity, c.Stacks, c.Instances = q, target.quantity, tc.stacks, tc.instances
	c.Op, c.OpKind, c.other = 0, TransferFungible, false
	c = s.observed.add()
	c.Seq, c.Container, c.ClassID, c.Key = s.seq, fc.id, k.id, key
	c.Delta, c.Quantity, c.Stacks, c.Instances = -q, source.quantity, fc.stacks, fc.instances
	c.Op, c.OpKind, c.other = 0, TransferFungible, false
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
	case undoGathered: // none of it was held
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

// add begins a change to the container.
func (o *observation) add(kind ChangeKind, cref uint32) *Change {
	if len(o.changes) == cap(o.changes) {
		o.changes = slices.Grow(o.changes, 1)
	}
	o.changes = o.changes[:len(o.changes)+1]
	c := &o.changes[len(o.changes)-1]
	*c = Change{} // cleared in place, because a Change is large
	c.Kind, c.Op, c.OpKind, c.inside = kind, o.s.doing.op, o.op.Kind, cref
	return c
}

// stack records that the quantity of a stack has changed.
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

// dropStack records that a stack was removed. It corrects the earlier changes of the
// stack too, such as that of a hold that ended.
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

// enter records that an instance is in a container. If it was there before the
// operation, it has moved.
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

// placed records that a stack or instance was put on cells.
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

// place records the place in a grid.
func (c *Change) place(p *placement) {
	c.InGrid, c.Turned = true, p.turned
	c.X, c.Y, c.Width, c.Height = int(p.x), int(p.y), int(p.width), int(p.height)
}

// Rotation returns 0 or 90.
func (c *Change) Rotation() int64 { return rotationOf(c.Turned) }

// touched adds a change for each container in which only updated_seq has changed.
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

// pay sets Payer in the change to the stack that received a settled quantity.
func (o *observation) pay() {
	var payer int64
	for _, c := range o.changes {
		if c.Kind == HeldChanged {
			payer = o.s.containers.at(c.inside).id
		}
	}
	for i := range o.changes {
		if c := &o.changes[i]; c.Kind == StackChanged && c.Delta > 0 {
			c.Payer = payer
		}
	}
}

// finish sets the fields of a change that describe its container.
func (o *observation) finish(c *Change) {
	r := o.s.containers.at(c.inside)
	c.Container, c.Stacks, c.Instances = r.id, int(r.stacks), int(r.instances)
}
