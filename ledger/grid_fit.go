package ledger

import "math/bits"

// First fit finds the first anchor, scanning rows from (0,0), at which a rectangle of
// w x h cells is free. For each row y it computes the union of the occupied cells of
// rows y to y+h-1, and searches it for a run of w clear bits.
//
// The unions of all windows of h rows cost three ORs per row, whatever h is. The rows
// are cut into blocks of h, so a window is a suffix of one block and a prefix of the
// next, and its union is that of both. (van Herk 1992; Gil and Werman 1993)
//
//	rows   0 1 2 | 3 4 5 | 6 7 8      h = 3
//	window   1 2 | 3                  suffix(1) OR prefix(3)
//
// Runs within a word are found by doubling: after f &= f >> 1, a set bit means that two
// adjacent cells are free; after f &= f >> 2, four; and so on.
type fitter struct {
	plane    []uint64 // occupied cells of a grid that has no bitmap of its own
	of       uint32   // the grid of plane; 0: none
	suffixes []uint64 // h rows
	prefix   []uint64 // one row
	window   []uint64 // one row
	rows     int      // total number of rows searched
	work     int      // total number of words examined
}

// sized returns a slice of n words with arbitrary contents. It reuses b if that
// is large enough.
func sized(b []uint64, n int) []uint64 {
	if cap(b) < n {
		return make([]uint64, n)
	}
	return b[:n]
}

// occupiedPlane returns the plane of occupied cells of a grid. If the grid has no
// bitmap, the plane is computed, and kept at most until another such grid is searched.
func (s *State) occupiedPlane(c *container) []uint64 {
	n, f, g := planeWords(c), &s.fit, s.grids.at(c.grid)
	if g.bits != nil {
		return g.bits[:n]
	}
	if f.of == c.grid {
		return f.plane
	}
	f.plane, f.of = sized(f.plane, n), c.grid
	clear(f.plane)
	stride := rowWords(int(c.gridWidth))
	s.workInGrid(n)
	treeWalk(placementsByRow{s}, c.things, lowest, func(ref uint32) bool {
		a := s.placements.at(ref).area()
		s.workInGrid(workVisit + a.words())
		markArea(f.plane, stride, a, true)
		return true
	})
	return f.plane
}

// markFitted updates the plane that occupiedPlane computed. Call it before the grid
// gets or loses its bitmap.
func (s *State) markFitted(c *container, a area, on bool) {
	switch f := &s.fit; {
	case f.of != c.grid:
	case s.grids.at(c.grid).bits != nil:
		f.of = 0
	default:
		s.workInGrid(workMark * a.words())
		markArea(f.plane, rowWords(int(c.gridWidth)), a, on)
	}
}

// firstPlace returns the first free place in a grid for w x h cells, which is the size
// after any rotation. It searches only the rows that the grid's floors leave open.
func (s *State) firstPlace(c *container, w, h int) (x, y int, ok bool) {
	g, width, end := s.grids.at(c.grid), int(c.gridWidth), int(c.gridHeight)-h+1
	if w > width || end <= 0 {
		return 0, 0, false
	}
	from, past := g.unsearched(w, h, 0, end)
	if from == end {
		return 0, 0, false
	}
	plane, work := s.occupiedPlane(c), s.fit.work
	if x, y = g.column(w, h, from), from; x > 0 {
		x, ok = s.fit.firstNear(plane, width, w, h, x, y)
	}
	for !ok && from < end {
		x, y, ok = s.fit.firstFit(plane, width, w, h, from, past)
		from, past = g.unsearched(w, h, past, end)
	}
	s.workInGrid(s.fit.work - work)
	if !ok {
		x, y = 0, end
	}
	g.raiseFloor(w, h, y, x)
	return x, y, ok
}

// firstNear returns the column of the first free place for w x h cells that begins in
// row y, at or soon after column x. The caller must know that none begins before x.
func (f *fitter) firstNear(plane []uint64, width, w, h, x, y int) (at int, ok bool) {
	stride, first := rowWords(width), x>>6
	past := min(stride, (x+w-1)>>6+2)
	f.window = sized(f.window, stride)
	strip := f.window[:past-first]
	clear(strip)
	for row := y * stride; row < (y+h)*stride; row += stride {
		for i, word := range plane[row+first : row+past] {
			strip[i] |= word
		}
	}
	f.work += h * len(strip)
	at, ok = clearRun(strip, min(width, past<<6)-first<<6, w)
	return first<<6 + at, ok
}

// firstFit returns the first free place for w x h cells in a plane whose rows have
// width cells. The place begins in a row y for which from <= y < past.
func (f *fitter) firstFit(plane []uint64, width, w, h, from, past int) (x, y int, ok bool) {
	stride := rowWords(width)
	f.suffixes = sized(f.suffixes, h*stride)
	f.prefix = sized(f.prefix, stride)
	f.window = sized(f.window, stride)
	for y := from; y < past; y++ {
		f.rows++
		f.work += stride
		inBlock := (y - from) % h
		window := f.suffixes[:stride]
		if inBlock == 0 {
			f.startBlock(plane[y*stride:(y+h)*stride], stride)
			f.work += h * stride
		} else {
			f.work += 2 * stride
			window = f.window
			last, prefix := plane[(y+h-1)*stride:(y+h)*stride], f.prefix[:stride]
			suffix := f.suffixes[inBlock*stride : (inBlock+1)*stride]
			for i, word := range last {
				prefix[i] |= word
				window[i] = suffix[i] | prefix[i]
			}
		}
		if x, ok := clearRun(window, width, w); ok {
			return x, y, true
		}
	}
	return 0, 0, false
}

// startBlock computes, for each row of the block, the union of that row and those after
// it in the block.
func (f *fitter) startBlock(block []uint64, stride int) {
	end := len(block)
	copy(f.suffixes[end-stride:], block[end-stride:])
	for i := end - stride - 1; i >= 0; i-- {
		f.suffixes[i] = block[i] | f.suffixes[i+stride]
	}
	clear(f.prefix)
}

// clearRun returns the first w consecutive clear bits in a row of width cells. It
// reads each word once, and considers a run that began in an earlier word before those
// within the word.
func clearRun(row []uint64, width, w int) (x int, ok bool) {
	last, rest := len(row)-1, width&63
	run := 0 // clear bits up to here
	for i, word := range row {
		if i == last && rest != 0 {
			word |= ^uint64(0) << rest
		}
		if word == 0 {
			if run += 64; run >= w {
				return (i+1)<<6 - run, true
			}
			continue
		}
		if run+bits.TrailingZeros64(word) >= w {
			return i<<6 - run, true
		}
		if w < 64 {
			if at := clearRunInWord(word, w); at < 64 {
				return i<<6 + at, true
			}
		}
		run = bits.LeadingZeros64(word)
	}
	return 0, false
}

// clearRunInWord returns the position of the first w consecutive clear bits within a
// word, or 64 if there is no such run. w must be less than 64.
func clearRunInWord(word uint64, w int) int {
	free := ^word
	for have := 1; have < w && free != 0; {
		step := min(have, w-have)
		free &= free >> step
		have += step
	}
	return bits.TrailingZeros64(free)
}
