package ledger

// NewPast makes the state of one container alone as it was after commit seq:
// info is the container then, and changes are the last changes of each thing in
// it up to then, each thing once; a stack's is the last of StackChanged and
// HeldChanged, and each hold has its own HeldChanged. All reads of that
// container give what they gave then.
func NewPast(seq uint64, info ContainerInfo, stacks, holds, instances []Change) *State {
	s := NewState(Config{})
	s.seq = seq
	cref := s.pastContainer(info)
	for i := range stacks {
		c := &stacks[i]
		ref := s.makeStack(cref, s.pastClass(c.ClassID), c.Key, c.Quantity)
		s.pastPlace(cref, ref, false, c)
	}
	for i := range holds {
		h := &holds[i].Hold
		expires := h.ExpiresAt
		if expires == 0 {
			expires = never
		}
		s.makeHold(hold{id: h.ID, quantity: h.Quantity, stack: s.findStack(cref, s.findClass(h.ClassID), h.Key), expires: expires})
		s.holds.at(s.findHold(h.ID)).seq = h.HeldSeq
	}
	for i := range instances {
		c := &instances[i]
		s.nextInstance = c.InstanceID
		ref := s.mint(s.pastClass(c.ClassID), c.Key)
		if info.Kind == Slots {
			s.enterSlot(ref, cref, uint32(c.Slot))
		} else {
			s.pastPlace(cref, ref, true, c)
		}
	}
	s.containers.at(cref).updated = info.UpdatedSeq
	s.clearUndo()
	return s
}

// EmptyPast is a state without anything in it, after commit seq.
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

// pastClass is a class of which no more is known than that there was one.
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
