package ledger

// A Past builds the state of a single container as it was after a commit. For each
// stack, hold and instance in the container, it receives the last change up to that
// commit, once. For a stack, that is its last change of kind StackChanged or
// HeldChanged. For a hold, it is the hold's own HeldChanged, which comes after the
// change of its stack. All reads of the container then return what they returned at that
// time.
type Past struct {
	s    *State
	cref uint32
	kind ContainerKind
}

// PastThing is the approximate memory of one stack, hold or instance, in bytes.
const PastThing = 192

// NewPast begins with the container as it was after commit seq. The argument used is
// a past state that is no longer read, or nil. Its memory is reused, because allocating
// a state takes longer than building a small container.
func NewPast(seq uint64, info ContainerInfo, used *State) *Past {
	s := NewState(Config{})
	s.seq = seq
	if used != nil {
		s.takeMemory(used)
	}
	return &Past{s, s.pastContainer(info), info.Kind}
}

// Stack adds a stack.
func (p *Past) Stack(c *Change) {
	ref := p.s.makeStack(p.cref, p.s.pastClass(c.ClassID), c.Key, c.Quantity)
	p.s.pastPlace(p.cref, ref, false, c)
	p.s.clearUndo()
}

// Hold adds a hold.
func (p *Past) Hold(h *HoldInfo) {
	s, expires := p.s, h.ExpiresAt
	if expires == 0 {
		expires = never
	}
	s.makeHold(hold{id: h.ID, quantity: h.Quantity, stack: s.findStack(p.cref, s.findClass(h.ClassID), h.Key), expires: expires})
	s.holds.at(s.findHold(h.ID)).seq = h.HeldSeq
	s.clearUndo()
}

// Instance adds an instance.
func (p *Past) Instance(c *Change) {
	s := p.s
	s.nextInstance = c.InstanceID
	ref := s.mint(s.pastClass(c.ClassID), c.Key)
	if p.kind == Slots {
		s.enterSlot(ref, p.cref, uint32(c.Slot))
	} else {
		s.pastPlace(p.cref, ref, true, c)
	}
	s.clearUndo()
}

// Bare returns the finished state with the container and the numbers of its stacks and
// instances, but without its contents.
func (p *Past) Bare(updated uint64, stacks, instances int) *State {
	c := p.s.containers.at(p.cref)
	c.stacks, c.instances = uint32(stacks), uint32(instances)
	return p.State(updated)
}

// State returns the finished state. updated is the updated_seq of the container.
func (p *Past) State(updated uint64) *State {
	p.s.containers.at(p.cref).updated = updated
	p.s.clearUndo()
	return p.s
}

// takeMemory takes over the memory that another state has for records. The other state
// must not be used afterwards.
func (s *State) takeMemory(of *State) {
	of.containers.empty()
	of.classes.empty()
	of.stacks.empty()
	of.instances.empty()
	of.placements.empty()
	of.grids.empty()
	of.holds.empty()
	of.heldSums.empty()
	s.containers, s.classes, s.stacks, s.instances = of.containers, of.classes, of.stacks, of.instances
	s.placements, s.grids, s.holds, s.heldSums = of.placements, of.grids, of.holds, of.heldSums
}

// EmptyPast returns an empty state after commit seq.
func EmptyPast(seq uint64) *State {
	s := NewState(Config{})
	s.seq = seq
	return s
}

func (s *State) pastContainer(info ContainerInfo) uint32 {
	// makeContainer takes created_seq from the commit being applied.
	s.doing.out = new(Outcome)
	s.makeContainer(container{id: info.ID, kind: info.Kind, owner: info.Owner, slotCount: uint32(info.SlotCount),
		gridWidth: uint16(info.GridWidth), gridHeight: uint16(info.GridHeight)}, info.Name)
	ref := s.findContainer(info.ID)
	s.containers.at(ref).created = info.CreatedSeq
	return ref
}

// pastClass returns a class of which only the id is known.
func (s *State) pastClass(id int64) uint32 {
	if ref := s.findClass(id); ref != 0 {
		return ref
	}
	s.makeClass(class{id: id}, "")
	return s.findClass(id)
}

func (s *State) pastPlace(cref, thing uint32, isInstance bool, c *Change) {
	if c.InGrid {
		s.place(cref, thing, isInstance, spot{area: area{c.X, c.Y, c.Width, c.Height}, turned: c.Turned})
	}
}
