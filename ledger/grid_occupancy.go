package ledger

// A grid record holds the data of a Grid container in addition to its tree of
// placements. Once the grid has enough placements to justify a bitmap, bits holds two
// planes of one bit per cell, in which each row is a whole number of words. The first
// has the occupied cells. The second has the occupied cells below the top row of
// their placement: going up from such a cell leads to the row of the anchor.
type grid struct {
	bits            []uint64
	count, occupied uint32     // placements, and cells that they cover
	tallest, widest uint16     // upper bounds for the height and width of placements; may be too high after removals
	floors          []fitFloor // most recently raised first
}

// area is a rectangle of cells within a grid.
type area struct{ x, y, w, h int }

func (a area) overlaps(b area) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// Bitmaps are created when they cost at most bitmapBuy bytes per placement, and
// dropped when they cost more than bitmapDrop.
const (
	bitmapBuy  = 256
	bitmapDrop = 4 * bitmapBuy
)

func rowWords(width int) int { return (width + 63) / 64 }

// planeWords returns the length of one plane of the container's grid, in words.
func planeWords(c *container) int { return rowWords(int(c.gridWidth)) * int(c.gridHeight) }

// occupy adds a placement, which is already in the tree, to the grid record.
func (s *State) occupy(c *container, p *placement) {
	g := s.grids.at(c.grid)
	g.count++
	g.occupied += uint32(p.width) * uint32(p.height)
	g.tallest, g.widest = max(g.tallest, p.height), max(g.widest, p.width)
	s.markFitted(c, p.area(), true)
	n := planeWords(c)
	if g.bits != nil {
		s.workInGrid(workMark * p.area().words())
		markPlacement(c, g, p.area(), true)
	} else if 2*8*n <= bitmapBuy*int(g.count) {
		g.bits = make([]uint64, 2*n)
		treeWalk(placementsByRow{s}, c.things, lowest, func(ref uint32) bool {
			markPlacement(c, g, s.placements.at(ref).area(), true)
			return true
		})
	}
}

// vacate removes a placement, which has left the tree, from the grid record.
func (s *State) vacate(c *container, p *placement) {
	g := s.grids.at(c.grid)
	g.count--
	g.occupied -= uint32(p.width) * uint32(p.height)
	g.lowerFloors(int(p.y), int(p.y)+int(p.height))
	s.markFitted(c, p.area(), false)
	if g.count == 0 {
		g.tallest, g.widest = 0, 0
	}
	if g.bits == nil {
		return
	}
	if 8*len(g.bits) > bitmapDrop*int(g.count) {
		g.bits = nil
		return
	}
	s.workInGrid(workMark * p.area().words())
	markPlacement(c, g, p.area(), false)
}

// markPlacement sets or clears the bits of a placement in both planes.
func markPlacement(c *container, g *grid, a area, on bool) {
	stride, n := rowWords(int(c.gridWidth)), planeWords(c)
	markArea(g.bits[:n], stride, a, on)
	a.y, a.h = a.y+1, a.h-1
	markArea(g.bits[n:], stride, a, on)
}

func markArea(plane []uint64, stride int, a area, on bool) {
	first, last, head, tail := span(a)
	for y := a.y; y < a.y+a.h; y++ {
		row := plane[y*stride : (y+1)*stride]
		for i := first; i <= last; i++ {
			m := spanMask(i, first, last, head, tail)
			if on {
				row[i] |= m
			} else {
				row[i] &^= m
			}
		}
	}
}

// areaFree reports whether no bit of the area is set.
func areaFree(plane []uint64, stride int, a area) bool {
	first, last, head, tail := span(a)
	for y := a.y; y < a.y+a.h; y++ {
		row := plane[y*stride : (y+1)*stride]
		for i := first; i <= last; i++ {
			if row[i]&spanMask(i, first, last, head, tail) != 0 {
				return false
			}
		}
	}
	return true
}

// span returns the words of a row that an area overlaps, with the masks of the first
// and last.
func span(a area) (first, last int, head, tail uint64) {
	end := a.x + a.w - 1
	return a.x >> 6, end >> 6, ^uint64(0) << (a.x & 63), ^uint64(0) >> (63 - end&63)
}

func spanMask(i, first, last int, head, tail uint64) uint64 {
	m := ^uint64(0)
	if i == first {
		m &= head
	}
	if i == last {
		m &= tail
	}
	return m
}

// isFree reports whether all cells of the area are free. If except is not 0, that
// placement is ignored.
func (s *State) isFree(c *container, a area, except uint32) bool {
	g := s.grids.at(c.grid)
	if g.bits == nil {
		return s.isFreeByList(c, g, a, except)
	}
	plane, stride := g.bits[:planeWords(c)], rowWords(int(c.gridWidth))
	if except == 0 {
		return areaFree(plane, stride, a)
	}
	own := s.placements.at(except).area()
	markArea(plane, stride, own, false)
	free := areaFree(plane, stride, a)
	markArea(plane, stride, own, true)
	return free
}

func (s *State) isFreeByList(c *container, g *grid, a area, except uint32) bool {
	free := true
	above := rank{int64(a.y - int(g.tallest) + 1), -1}
	treeWalk(placementsByRow{s}, c.things, above, func(ref uint32) bool {
		s.workInGrid(workVisit)
		p := s.placements.at(ref)
		free = ref == except || !p.area().overlaps(a)
		return free && int(p.y) < a.y+a.h
	})
	return free
}

// covering returns the placement that covers a cell of the grid, or 0.
func (s *State) covering(c *container, x, y int) uint32 {
	g := s.grids.at(c.grid)
	if g.bits == nil {
		return s.coveringByList(c, g, x, y)
	}
	stride, n := rowWords(int(c.gridWidth)), planeWords(c)
	at, bit := y*stride+x>>6, uint64(1)<<(x&63)
	if g.bits[at]&bit == 0 {
		return 0
	}
	for g.bits[n+at]&bit != 0 {
		at -= stride
		y--
		s.workInGrid(workUpwards)
	}
	return treeFloor(placementsByRow{s}, c.things, rank{int64(y), int64(x)})
}

func (s *State) coveringByList(c *container, g *grid, x, y int) (found uint32) {
	cell := area{x, y, 1, 1}
	treeWalk(placementsByRow{s}, c.things, rank{int64(y - int(g.tallest) + 1), -1}, func(ref uint32) bool {
		s.workInGrid(workVisit)
		p := s.placements.at(ref)
		if p.area().overlaps(cell) {
			found = ref
		}
		return found == 0 && int(p.y) <= y
	})
	return found
}
