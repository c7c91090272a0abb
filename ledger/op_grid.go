package ledger

// spot is a place in a grid that has been checked to be free.
type spot struct {
	area
	turned bool
	found  bool // found by first fit
}

// stackSpot returns a free place for a new stack in a Grid. It returns no place in a
// Standard container, where stacks have none, or if target is an existing stack, which
// keeps its place. A place requested for an existing stack must be the one that it has.
func (s *State) stackSpot(c *container, kref uint32, key int64, target uint32, want placeArgs) (spot, *Error) {
	if c.kind != Grid {
		return spot{}, nil
	}
	if target == 0 {
		return s.findSpot(c, kref, key, want)
	}
	p := s.placements.at(s.stacks.at(target).place)
	if want.at && (want.x != int64(p.x) || want.y != int64(p.y)) || want.rotated && want.turned != p.turned {
		id := s.classes.at(kref).id
		return spot{}, Errorf(AlreadyPlaced, "The stack of class %s with key %d is already at (%d,%d) of container %s with rotation %d.",
			s.classCalled(s.classes.at(kref)), key, p.x, p.y, s.called(c), rotationOf(p.turned)).
			With(Num("container_id", c.id), Num("class_id", id), Num("key", key),
				Num("x", int64(p.x)), Num("y", int64(p.y)), Num("rotation", rotationOf(p.turned)))
	}
	return spot{}, nil
}

func rotationOf(turned bool) int64 {
	if turned {
		return 90
	}
	return 0
}

// findSpot returns a free place in a Grid for a stack or instance of the class and
// key: the requested place, or the first that fits if none was requested.
func (s *State) findSpot(c *container, kref uint32, key int64, want placeArgs) (spot, *Error) {
	k := s.classes.at(kref)
	ref := s.findShape(kref, key)
	if ref == 0 {
		return spot{}, Errorf(UnregisteredClassShape, "Class %s has no shape for key %d, so it can't be put in a Grid.", s.classCalled(k), key).
			With(Num("class_id", k.id), Num("key", key))
	}
	r := s.shapes.at(ref)
	w, h := int(r.width), int(r.height)
	if want.at {
		if want.turned {
			w, h = h, w
		}
		a, err := s.wantFree(c, want.x, want.y, w, h, 0)
		return spot{area: a, turned: want.turned}, err
	}
	if at, ok := s.firstSpot(c, w, h, want); ok {
		return at, nil
	}
	return spot{}, s.gridFull(c, k.id, key, w, h, want)
}

// gridFull returns the error for a grid in which firstSpot found no place. It reports
// the width and height of the shape, swapped if rotation 90 was requested.
func (s *State) gridFull(c *container, class, key int64, w, h int, want placeArgs) *Error {
	if want.turned {
		w, h = h, w
	}
	e := Errorf(GridFull, "Container %s has no free place for %d x %d cells.", s.called(c), w, h)
	if !want.rotated && w != h {
		e = Errorf(GridFull, "Container %s has no free place for %d x %d cells, rotated or not.", s.called(c), w, h)
	}
	return e.With(Num("container_id", c.id), Num("class_id", class), Num("key", key), Num("width", int64(w)), Num("height", int64(h)))
}

// firstSpot searches the whole grid for the unrotated rectangle, then for the rotated
// one. If a rotation was requested, it searches only for the rectangle rotated that way.
func (s *State) firstSpot(c *container, w, h int, want placeArgs) (spot, bool) {
	if free := int(c.gridWidth)*int(c.gridHeight) - int(s.grids.at(c.grid).occupied); w*h > free {
		return spot{}, false
	}
	for _, turned := range [...]bool{false, true} {
		if want.rotated && turned != want.turned || !want.rotated && turned && w == h {
			continue
		}
		tw, th := w, h
		if turned {
			tw, th = h, w
		}
		if x, y, ok := s.firstPlace(c, tw, th); ok {
			return spot{area: area{x, y, tw, th}, turned: turned, found: true}, true
		}
	}
	return spot{}, false
}

// wantFree returns an error for a rectangle that extends beyond the grid or overlaps a
// placement. If except is not 0, that placement is ignored.
func (s *State) wantFree(c *container, x, y int64, w, h int, except uint32) (area, *Error) {
	details := func(e *Error) *Error {
		return e.With(Num("container_id", c.id), Num("x", x), Num("y", y), Num("width", int64(w)), Num("height", int64(h)))
	}
	width, height := int64(c.gridWidth), int64(c.gridHeight)
	if x < 0 || y < 0 || x > width-int64(w) || y > height-int64(h) {
		return area{}, details(Errorf(OutOfBounds, "%d x %d cells at (%d,%d) extend beyond container %s, which is a grid of %d x %d.",
			w, h, x, y, s.called(c), width, height)).With(Num("grid_width", width), Num("grid_height", height))
	}
	a := area{int(x), int(y), w, h}
	if !s.isFree(c, a, except) {
		return area{}, details(Errorf(CellOccupied, "Some of the %d x %d cells at (%d,%d) of container %s are occupied.", w, h, x, y, s.called(c)))
	}
	return a, nil
}

func (s *State) placeInGrid(op *Op) *Error {
	want, err := readPlace(op, GridX)
	if err != nil {
		return err
	}
	cref, c, err := s.wantContainer(op, GridContainer)
	if err != nil {
		return err
	}
	if err := s.wantKind(c, Grid); err != nil {
		return err
	}
	ref, r, err := s.wantInstance(op, GridInstance)
	if err != nil {
		return err
	}
	if err := s.wantNowhere(r); err != nil {
		return err
	}
	at, err := s.findSpot(c, r.class, r.key, want)
	if err != nil {
		return err
	}
	s.place(cref, ref, true, at)
	return nil
}

func (s *State) removeFromGrid(op *Op) *Error {
	cref, c, err := s.wantContainer(op, GridContainer)
	if err != nil {
		return err
	}
	if err := s.wantKind(c, Grid); err != nil {
		return err
	}
	ref, r, err := s.wantInstance(op, GridInstance)
	if err != nil {
		return err
	}
	if r.where != InGrid || r.host != cref {
		return Errorf(NotPlaced, "Instance %d is not in container %s.", r.id, s.called(c)).
			With(Num("container_id", c.id), Num("instance_id", r.id))
	}
	s.notePlace(FactStood, r.spot, 0, 0)
	s.unplace(r.spot)
	s.loosen(ref)
	return nil
}

func (s *State) moveInGrid(op *Op) *Error {
	cref, c, err := s.wantContainer(op, MoveContainer)
	if err != nil {
		return err
	}
	if err := s.wantKind(c, Grid); err != nil {
		return err
	}
	x, y := op.Args[MoveX], op.Args[MoveY]
	if x < 0 || y < 0 || x >= int64(c.gridWidth) || y >= int64(c.gridHeight) {
		return Errorf(OutOfBounds, "Container %s is a grid of %d x %d; there is no cell (%d,%d).", s.called(c), c.gridWidth, c.gridHeight, x, y).
			With(Num("container_id", c.id), Num("x", x), Num("y", y),
				Num("grid_width", int64(c.gridWidth)), Num("grid_height", int64(c.gridHeight)))
	}
	ref := s.covering(c, int(x), int(y))
	if ref == 0 {
		return Errorf(CellEmpty, "Nothing covers cell (%d,%d) of container %s.", x, y, s.called(c)).
			With(Num("container_id", c.id), Num("x", x), Num("y", y))
	}
	p := s.placements.at(ref)
	to := spot{area: p.area(), turned: op.Get(MoveRotation, rotationOf(p.turned)) != 0}
	if to.turned != p.turned {
		to.w, to.h = to.h, to.w
	}
	if to.area, err = s.wantFree(c, op.Args[MoveToX], op.Args[MoveToY], to.w, to.h, ref); err != nil {
		return err
	}
	thing, isInstance := p.thing, p.isInstance
	if isInstance {
		s.notePlace(FactMovedInstance, ref, s.instances.at(thing).id, 0)
	} else {
		r := s.stacks.at(thing)
		s.notePlace(FactMovedStack, ref, s.classes.at(r.class).id, r.key)
	}
	s.unplace(ref)
	s.place(cref, thing, isInstance, to)
	return nil
}
