package ledger

import "math/bits"

// First fit: the first anchor, scanning rows from (0,0), where a rectangle is
// free. For each row y it needs the union of the occupied cells of rows y to
// y+h-1, and in it a run of w clear bits.
//
// The unions of all windows of h rows cost three ORs a row whatever h is: rows
// are cut in blocks of h; a window is a suffix of one block and a prefix of the
// next, and both are kept running. (van Herk 1992; Gil and Werman 1993)
//
//	rows   0 1 2 | 3 4 5 | 6 7 8      h = 3
//	window   1 2 | 3                  suffix(1) or prefix(3)
//
// Runs are found by doubling: after f &= f >> 1, a bit says that two cells are
// free, after f &= f >> 2 four, and so on.
type fitter struct {
	plane    []uint64 // occupied cells of a grid that has no bitmap of its own
	suffixes []uint64 // h rows
	prefix   []uint64 // one row
	window   []uint64 // one row
	rows     int      // rows searched, ever
}

// sized gives b with n words, of any content.
func sized(b []uint64, n int) []uint64 {
	if cap(b) < n {
		return make([]uint64, n)
	}
	return b[:n]
}

// occupiedPlane is the plane of occupied cells of a grid, made anew when it has no bitmap.
func (s *State) occupiedPlane(c *container) []uint64 {
	n := planeWords(c)
	if g := s.grids.at(c.grid); g.bits != nil {
		return g.bits[:n]
	}
	s.fit.plane = sized(s.fit.plane, n)
	clear(s.fit.plane)
	stride := rowWords(int(c.gridWidth))
	treeWalk(placementsByRow{s}, c.things, lowest, func(ref uint32) bool {
		markArea(s.fit.plane, stride, s.placements.at(ref).area(), true)
		return true
	})
	return s.fit.plane
}

// firstFit is the first free place for w x h cells, from row y on, in a plane of
// rows of width cells.
func (f *fitter) firstFit(plane []uint64, width, height, w, h, from int) (x, y int, ok bool) {
	if w > width || h > height {
		return 0, 0, false
	}
	stride := rowWords(width)
	f.suffixes = sized(f.suffixes, h*stride)
	f.prefix = sized(f.prefix, stride)
	f.window = sized(f.window, stride)
	for y := from; y+h <= height; y++ {
		f.rows++
		inBlock := (y - from) % h
		if inBlock == 0 {
			f.startBlock(plane[y*stride:(y+h)*stride], stride)
			copy(f.window, f.suffixes[:stride])
		} else {
			last := plane[(y+h-1)*stride : (y+h)*stride]
			suffix := f.suffixes[inBlock*stride : (inBlock+1)*stride]
			for i, word := range last {
				f.prefix[i] |= word
				f.window[i] = suffix[i] | f.prefix[i]
			}
		}
		if x, ok := clearRun(f.window, width, w); ok {
			return x, y, true
		}
	}
	return 0, 0, false
}

// startBlock makes the unions of the rows from each one of the block to its end.
func (f *fitter) startBlock(block []uint64, stride int) {
	end := len(block)
	copy(f.suffixes[end-stride:], block[end-stride:])
	for i := end - stride - 1; i >= 0; i-- {
		f.suffixes[i] = block[i] | f.suffixes[i+stride]
	}
	clear(f.prefix)
}

// clearRun is the first of w clear bits in a row of width cells; it spoils the row.
func clearRun(row []uint64, width, w int) (x int, ok bool) {
	for i := range row {
		row[i] = ^row[i]
	}
	if rest := width & 63; rest != 0 {
		row[len(row)-1] &= 1<<rest - 1
	}
	for have := 1; have < w; {
		step := min(have, w-have)
		if !andShifted(row, step) {
			return 0, false
		}
		have += step
	}
	for i, word := range row {
		if word != 0 {
			return i<<6 + bits.TrailingZeros64(word), true
		}
	}
	return 0, false
}

// andShifted does row &= row >> n over the whole row, n below its length in
// bits, and says whether any bit is left.
func andShifted(row []uint64, n int) bool {
	rest := uint(n & 63)
	far := row[n>>6:]
	last := len(far) - 1
	any := uint64(0)
	for i, next := range far[1:] {
		row[i] &= far[i]>>rest | next<<1<<(63-rest)
		any |= row[i]
	}
	row[last] &= far[last] >> rest
	clear(row[last+1:])
	return any|row[last] != 0
}
