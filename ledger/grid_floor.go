package ledger

// A fitFloor records that no free rectangle of w x h cells (the size after any
// rotation) begins above row y. Rows lo to hi-1 are an exception: cells near them have
// become free since, so a rectangle may begin there. First fit searches only those rows,
// and the rows from y on. In row y, no free rectangle begins before column x. The same
// holds for larger rectangles. A floor may record less than is true.
type fitFloor struct{ w, h, y, x, lo, hi uint16 }

// maxFloors is the maximum number of floors of a grid. Beyond it, a new floor replaces
// the oldest.
const maxFloors = 64

// unsearched returns the first range of rows at or after row y in which free w x h
// cells may begin: its first row, and the row after its last. If there is none, both
// results are end.
func (g *grid) unsearched(w, h, y, end int) (first, past int) {
	for first = -1; first != y; {
		first = y
		for i := range g.floors {
			f := &g.floors[i]
			if int(f.w) > w || int(f.h) > h {
				continue
			}
			y = max(y, int(f.lo))
			if y >= int(f.hi) {
				y = max(y, int(f.y))
			}
		}
	}
	if past = end; y >= end {
		return end, end
	}
	for i := range g.floors {
		if f := &g.floors[i]; int(f.w) <= w && int(f.h) <= h && int(f.hi) > y {
			past = min(past, int(f.hi))
		}
	}
	return y, past
}

// column returns the column of row y before which no free w x h cells begin.
func (g *grid) column(w, h, y int) int {
	for i := range g.floors {
		if f := &g.floors[i]; int(f.w) == w && int(f.h) == h && int(f.y) == y {
			return int(f.x)
		}
	}
	return 0
}

// raiseFloor records that no free w x h cells begin above row y, nor in row y
// before column x. It drops the floors of rectangles at least as large that record
// no more than that.
func (g *grid) raiseFloor(w, h, y, x int) {
	kept := g.floors[:0]
	for _, f := range g.floors {
		if int(f.w) < w || int(f.h) < h || int(f.y) > y {
			kept = append(kept, f)
		}
	}
	for i := range kept {
		if f := &kept[i]; int(f.w) == w && int(f.h) == h { // the place was found in the rows lo to hi-1
			f.lo = uint16(y)
			g.floors = kept
			return
		}
	}
	if len(kept) < maxFloors {
		kept = append(kept, fitFloor{})
	}
	copy(kept[1:], kept)
	kept[0] = fitFloor{w: uint16(w), h: uint16(h), y: uint16(y), x: uint16(x)}
	g.floors = kept
}

// lowerFloors records that cells in rows y to past-1 have become free.
func (g *grid) lowerFloors(y, past int) {
	for i := range g.floors {
		f := &g.floors[i]
		lo, hi := uint16(max(0, y-int(f.h)+1)), uint16(past)
		switch {
		case lo > f.y:
			continue
		case lo == f.y:
			f.x = 0
			continue
		case hi >= f.y:
			f.y, f.x = lo, 0
		case f.lo < f.hi:
			f.lo, f.hi = min(f.lo, lo), max(f.hi, hi)
		default:
			f.lo, f.hi = lo, hi
		}
		if f.lo >= f.y || f.lo >= f.hi {
			f.lo, f.hi = 0, 0
		} else if f.hi >= f.y {
			f.y, f.lo, f.hi = f.lo, 0, 0
		}
	}
}
