package ledger

// Cell is a grid cell.
type Cell struct{ X, Y int }

// Placements appends up to limit placements that overlap the region; nil is the whole
// grid. They are ordered by the y, then the x, of their anchors. The argument after is
// the last anchor already read, or nil; the page starts with the next one. The result
// more reports whether there are others. Errors: ContainerNotFound, WrongContainerKind.
func (s *State) Placements(dst []Placement, id int64, region *Rect, after *Cell, limit int) (out []Placement, more bool, err *Error) {
	cref := s.findContainer(id)
	if cref == 0 {
		return dst, false, containerNotFound(id)
	}
	c := s.containers.at(cref)
	if err := s.wantKind(c, Grid); err != nil {
		return dst, false, err
	}
	w := placementWalk{s: s, c: c, dst: dst, limit: limit}
	from := lowest
	if after != nil {
		from = rank{int64(after.Y), int64(after.X)}
	}
	if region == nil {
		treeWalk(placementsByRow{s}, c.things, from, w.take)
		return w.dst, w.more, nil
	}
	if within, ok := clipRegion(c, region); ok {
		w.region(within, from)
	}
	return w.dst, w.more, nil
}

// clipRegion clips a region to the grid. ok is false if nothing is left.
func clipRegion(c *container, r *Rect) (a area, ok bool) {
	x0, x1 := clipSide(r.X, r.Width, int64(c.gridWidth))
	y0, y1 := clipSide(r.Y, r.Height, int64(c.gridHeight))
	return area{int(x0), int(y0), int(x1 - x0), int(y1 - y0)}, x0 < x1 && y0 < y1
}

// clipSide returns the part from..to of start..start+length that is in 0..side.
func clipSide(start, length, side int64) (from, to int64) {
	to = side
	if length < side-max(start, 0) { // then start + length can't overflow
		to = start + length
	}
	return max(start, 0), to
}

// placementWalk collects a page of placements.
type placementWalk struct {
	s     *State
	c     *container
	dst   []Placement
	limit int
	more  bool
}

// take appends a placement, and reports whether to continue.
func (w *placementWalk) take(ref uint32) bool {
	if w.limit <= 0 {
		w.more = true
		return false
	}
	w.limit--
	w.dst = append(w.dst, w.s.placement(ref))
	return true
}

// region visits, row by row, the anchors from which a placement as wide and as tall as
// the largest ones in the grid could reach the area. It visits at most two other anchors
// in each row.
func (w *placementWalk) region(a area, from rank) {
	g := w.s.grids.at(w.c.grid)
	left := int64(a.x - int(g.widest)) // anchors at or left of this don't reach
	if first := int64(a.y - int(g.tallest) + 1); from.major < first {
		from = rank{first, left}
	}
	for {
		from.minor = max(from.minor, left)
		ref := treeNext(placementsByRow{w.s}, w.c.things, from)
		if ref == 0 {
			return
		}
		p := w.s.placements.at(ref)
		if int(p.y) >= a.y+a.h {
			return
		}
		from = rank{int64(p.y), int64(p.x)}
		switch {
		case int(p.x) >= a.x+a.w:
			from = rank{from.major + 1, left}
		case p.area().overlaps(a):
			if !w.take(ref) {
				return
			}
		}
	}
}

func (s *State) placement(ref uint32) Placement {
	p := s.placements.at(ref)
	out := Placement{
		X: int(p.x), Y: int(p.y), Width: int(p.width), Height: int(p.height), Rotation: int(rotationOf(p.turned)),
	}
	if p.isInstance {
		r := s.instances.at(p.thing)
		out.ClassID, out.Key, out.InstanceID = s.classes.at(r.class).id, r.key, r.id
	} else {
		r := s.stacks.at(p.thing)
		out.ClassID, out.Key, out.Quantity = s.classes.at(r.class).id, r.key, r.quantity
	}
	return out
}
