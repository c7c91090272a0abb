package ledger

// Changes to the rectangles in grids.

func (s *State) linkPlacement(ref uint32) {
	p := s.placements.at(ref)
	c := s.containers.at(p.container)
	treeInsert(placementsByRow{s}, &c.things, ref)
	s.occupy(c, p)
	if p.isInstance {
		r := s.instances.at(p.thing)
		r.where, r.host, r.spot = InGrid, p.container, ref
		s.hold(p.container, r.class)
	} else {
		s.stacks.at(p.thing).place = ref
	}
}

func (s *State) unlinkPlacement(ref uint32) {
	p := s.placements.at(ref)
	c := s.containers.at(p.container)
	treeRemove(placementsByRow{s}, &c.things, ref)
	s.vacate(c, p)
	if p.isInstance {
		r := s.instances.at(p.thing)
		s.unhold(p.container, r.class)
		r.where, r.host, r.spot = Nowhere, 0, 0
	} else {
		s.stacks.at(p.thing).place = 0
	}
}

// placementItems returns the digest items that change when the rectangle is added or
// removed, without the item of the rectangle itself.
func (s *State) placementItems(p *placement) uint64 {
	if !p.isInstance {
		return s.countItems(p.container, s.stacks.at(p.thing).class)
	}
	r := s.instances.at(p.thing)
	return s.countItems(p.container, r.class) + s.locationItem(r)
}

// place puts a stack, or an instance without a location, on free cells.
func (s *State) place(cref, thing uint32, isInstance bool, at spot) {
	ref, p := s.placements.alloc()
	*p = placement{container: cref, thing: thing, isInstance: isInstance, turned: at.turned,
		x: uint16(at.x), y: uint16(at.y), width: uint16(at.w), height: uint16(at.h)}
	before := s.placementItems(p)
	s.linkPlacement(ref)
	s.digest += s.placementItems(p) + s.placementItem(p) - before
	s.undo.push(undoPlaced, ref, 0)
	s.touch(cref)
	if at.found {
		s.doing.out.Decisions = append(s.doing.out.Decisions,
			Decision{Op: s.doing.op, Placed: true, X: p.x, Y: p.y, Turned: p.turned})
	}
}

// unplace frees the cells of a rectangle. An instance has no location afterwards.
func (s *State) unplace(ref uint32) {
	p := s.placements.at(ref)
	before := s.placementItems(p) + s.placementItem(p)
	s.unlinkPlacement(ref)
	s.digest += s.placementItems(p) - before
	s.undo.drop(undoUnplaced, ref)
	s.touch(p.container)
}
