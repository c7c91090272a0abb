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
// Runs within a word are found by doubling: after f &= f >> 1, a bit says that two
// cells are free, after f &= f >> 2 four, and so on.
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
		window := f.suffixes[:stride]
		if inBlock == 0 {
			f.startBlock(plane[y*stride:(y+h)*stride], stride)
		} else {
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

// startBlock makes the unions of the rows from each one of the block to its end.
func (f *fitter) startBlock(block []uint64, stride int) {
	end := len(block)
	copy(f.suffixes[end-stride:], block[end-stride:])
	for i := end - stride - 1; i >= 0; i-- {
		f.suffixes[i] = block[i] | f.suffixes[i+stride]
	}
	clear(f.prefix)
}

// clearRun is the first of w clear bits in a row of width cells. It goes over the
// words once: a run that began in an earlier word comes before those in a word.
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

// clearRunInWord is clearRun in one word, 64 if there is none.
func clearRunInWord(word uint64, w int) int {
	free := ^word
	for have := 1; have < w && free != 0; {
		step := min(have, w-have)
		free &= free >> step
		have += step
	}
	return bits.TrailingZeros64(free)
}
