package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// slowFit is first fit, cell by cell.
func slowFit(cells [][]bool, w, h int) (x, y int, ok bool) {
	for y := 0; y+h <= len(cells); y++ {
	next:
		for x := 0; x+w <= len(cells[0]); x++ {
			for dy := range h {
				for dx := range w {
					if cells[y+dy][x+dx] {
						continue next
					}
				}
			}
			return x, y, true
		}
	}
	return 0, 0, false
}

func TestFirstFitAgainstEveryCell(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var f fitter
	for round := range 3000 {
		width, height := 1+r.IntN(200), 1+r.IntN(30)
		if round%3 == 0 {
			width = 63 + r.IntN(3)
		}
		stride := rowWords(width)
		plane := make([]uint64, stride*height)
		cells := make([][]bool, height)
		density := r.IntN(30)
		for y := range cells {
			cells[y] = make([]bool, width)
			for x := range cells[y] {
				if r.IntN(100) < density {
					cells[y][x] = true
					markArea(plane, stride, area{x, y, 1, 1}, true)
				}
			}
		}
		w, h := 1+r.IntN(min(width+1, 1+r.IntN(140))), 1+r.IntN(min(height+1, 8))
		x, y, ok := f.firstFit(plane, width, w, h, 0, height-h+1)
		wx, wy, wok := slowFit(cells, w, h)
		if x != wx || y != wy || ok != wok {
			t.Fatalf("%dx%d in %dx%d: (%d,%d) %v, want (%d,%d) %v", w, h, width, height, x, y, ok, wx, wy, wok)
		}
		a := area{r.IntN(width), r.IntN(height), 1, 1}
		a.w, a.h = 1+r.IntN(width-a.x), 1+r.IntN(height-a.y)
		free := true
		for y := a.y; y < a.y+a.h; y++ {
			for x := a.x; x < a.x+a.w; x++ {
				free = free && !cells[y][x]
			}
		}
		if areaFree(plane, stride, a) != free {
			t.Fatalf("area %+v is free: %t, want %t", a, !free, free)
		}
	}
}

// TestClearRunAtEveryPlace searches for the only free run of a row, including
// across the boundaries of its words.
func TestClearRunAtEveryPlace(t *testing.T) {
	for _, w := range []int{1, 2, 62, 63, 64, 65, 127, 128} {
		for width := w; width < 200; width++ {
			for x := 0; x+w <= width; x++ {
				row := make([]uint64, rowWords(width))
				markArea(row, len(row), area{0, 0, width, 1}, true)
				markArea(row, len(row), area{x, 0, w, 1}, false)
				if got, ok := clearRun(row, width, w); !ok || got != x {
					t.Fatalf("%d free cells at %d in a row of %d: found at %d, %t", w, x, width, got, ok)
				}
				if got, ok := clearRun(row, width, w+1); ok {
					t.Fatalf("%d of %d cells: found at %d, but only %d are free", w+1, width, got, w)
				}
			}
		}
	}
}

// TestFirstFitWithFloors fills and empties a grid with items of many shapes,
// and compares each place found with the result of a search from the first row.
func TestFirstFitWithFloors(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	s := NewState(Config{})
	text := `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=40 grid_height=30`
	for key := range 9 {
		text += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=%d height=%d", key, 1+key%5, 1+key/2)
	}
	accept(t, s, text)
	for n := range int64(500) {
		key := r.Int64N(9)
		accept(t, s, fmt.Sprintf("RegisterClassShape class_id=1 key=%d width=%d height=%d", 100+n, 1+key%5, 1+key/2))
	}
	var f fitter
	found, full := 0, 0
	for range 4000 {
		c := s.containers.at(s.findContainer(1))
		key := 100 + r.Int64N(500)
		if ref := s.findStack(s.findContainer(1), s.findClass(1), key); ref != 0 {
			mustApply(t, s, op(RemoveFungible, 1, 1, key, s.stacks.at(ref).quantity))
			continue
		}
		shape := s.shapes.at(s.findShape(s.findClass(1), key))
		w, h := int(shape.width), int(shape.height)
		wx, wy, wok := f.firstFit(s.occupiedPlane(c), 40, w, h, 0, 30-h+1)
		got, ok := s.firstSpot(c, w, h, placeArgs{rotated: true})
		if ok != wok || ok && (got.x != wx || got.y != wy) {
			t.Fatalf("%d x %d: %+v %v, want (%d,%d) %v", w, h, got, ok, wx, wy, wok)
		}
		tx := &Transaction{Ops: []Op{op(AddFungible, 1, 1, key, 1)}}
		if err := s.Apply(tx, 0, &Outcome{}); err != nil {
			full++
		} else if found++; r.IntN(4) == 0 {
			s.Undo()
		}
		check(t, s)
	}
	if found < 500 || full < 50 {
		t.Errorf("%d places were found and %d items did not fit, want at least 500 and 50", found, full)
	}
}

// TestFullGridIsNotSearchedAgain repeatedly adds to the last row of a grid whose
// other rows are full, and removes from it.
func TestFullGridIsNotSearchedAgain(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		RegisterClassShape class_id=1 width=1 height=1; RegisterClassShape class_id=1 key=0 width=1024 height=1023
		AddFungible container_id=1 class_id=1 key=0 quantity=1`)
	for range 1000 {
		mustApply(t, s, op(AddFungible, 1, 1, 7, 1), op(AddFungible, 1, 1, 8, 1), op(RemoveFungible, 1, 1, 8, 1), op(RemoveFungible, 1, 1, 7, 1))
	}
	if most := 1024 + 1024 + 4000; s.fit.rows > most {
		t.Errorf("%d rows were searched, want at most %d", s.fit.rows, most)
	}
}

// TestFullGridIsNotSearchedForManySizes alternates between sizes of which none
// contains another, so that each needs a floor of its own.
func TestFullGridIsNotSearchedForManySizes(t *testing.T) {
	s := NewState(Config{})
	text := `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		RegisterClassShape class_id=1 key=0 width=1024 height=1000; AddFungible container_id=1 class_id=1 key=0 quantity=1`
	const sizes, rounds = 14, 70
	for n := range sizes {
		text += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=%d height=%d", 1+n, 1+n, 14-n)
	}
	accept(t, s, text)
	for range rounds {
		for n := range int64(sizes) {
			mustApply(t, s, op(AddFungible, 1, 1, 1+n, 1), op(RemoveFungible, 1, 1, 1+n, 1))
		}
	}
	if most := 1024*(2+sizes) + sizes*rounds*50; s.fit.rows > most {
		t.Errorf("%d rows were searched, want at most %d", s.fit.rows, most)
	}
}

// TestGridsWithAndWithoutBitmap puts items of many sizes into a grid, which has no
// bitmap at first, and checks cells and regions after each change.
func TestGridsWithAndWithoutBitmap(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	s := NewState(Config{})
	text := `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=100 grid_height=90`
	for key := range 60 {
		text += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=%d height=%d", key, 1+r.IntN(9), 1+r.IntN(9))
	}
	accept(t, s, text)
	modes := map[bool]int{}
	for range 300 {
		out := Outcome{}
		add := op(AddFungible, 1, 1, r.Int64N(60), 1, r.Int64N(100), r.Int64N(90), 90*r.Int64N(2))
		if r.IntN(3) == 0 {
			add.Has = 15
		}
		if r.IntN(3) == 0 {
			add = op(MoveInGrid, 1, r.Int64N(100), r.Int64N(90), r.Int64N(100), r.Int64N(90))
		}
		if r.IntN(5) == 0 {
			add = op(RemoveFungible, 1, 1, r.Int64N(60), 1)
		}
		s.Apply(&Transaction{Ops: []Op{add}}, 0, &out) // may be rejected
		check(t, s)
		c := s.containers.at(s.findContainer(1))
		modes[s.grids.at(c.grid).bits != nil]++
		checkCells(t, s, c)
	}
	if modes[true] == 0 || modes[false] == 0 {
		t.Errorf("rounds by whether the grid had a bitmap: %v, want some of both", modes)
	}
}

// checkCells compares the placement that covers a cell with the list of placements,
// for every second cell of every third row. Then it compares the placements in regions
// of many kinds with that list.
func checkCells(t *testing.T, s *State, c *container) {
	t.Helper()
	all := placements(t, s, c.id)
	for y := 0; y < int(c.gridHeight); y += 3 {
		for x := 0; x < int(c.gridWidth); x += 2 {
			want, got := Placement{}, Placement{}
			for _, p := range all {
				if (area{p.X, p.Y, p.Width, p.Height}).overlaps(area{x, y, 1, 1}) {
					want = p
				}
			}
			if ref := s.covering(c, x, y); ref != 0 {
				got = s.placement(ref)
			}
			if got != want {
				t.Fatalf("cell (%d,%d) is covered by %+v, want %+v", x, y, got, want)
			}
		}
	}
	for _, region := range []Rect{{0, 0, 1, 1}, {10, 20, 5, 5}, {50, 0, 1, 90}, {0, 45, 100, 1}, {95, 85, 100, 100}, {0, 0, 1 << 62, 1 << 62},
		{3, 3, 1<<63 - 1, 1<<63 - 1}, {100, 0, 1, 1}, {0, 1<<63 - 1, 1, 1<<63 - 1}} {
		var want []Placement
		for _, p := range all {
			if int64(p.X) < clampAdd(region.X, region.Width) && int64(p.X+p.Width) > region.X &&
				int64(p.Y) < clampAdd(region.Y, region.Height) && int64(p.Y+p.Height) > region.Y {
				want = append(want, p)
			}
		}
		expect(t, fmt.Sprintf("region %+v", region), want, pagesOfPlacements(t, s, c.id, &region))
	}
}

func clampAdd(a, b int64) int64 {
	if a > 1<<63-1-b {
		return 1<<63 - 1
	}
	return a + b
}

// pagesOfPlacements reads the placements in pages of three.
func pagesOfPlacements(t *testing.T, s *State, id int64, region *Rect) (all []Placement) {
	t.Helper()
	var after *Cell
	for {
		page, more, err := s.Placements(nil, id, region, after, 3)
		noErrors(t, err)
		all = append(all, page...)
		if !more {
			return all
		}
		if len(page) != 3 {
			t.Fatalf("a page of %d, want 3, since more follow", len(page))
		}
		after = &Cell{page[2].X, page[2].Y}
	}
}

func TestEmptyGridsCostLittle(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `RegisterClass class_id=1 name=gold; RegisterClassShape class_id=1 width=1 height=1
		CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		AddFungible container_id=1 class_id=1 key=0 quantity=1`)
	g := s.grids.at(1)
	if g.bits != nil {
		t.Error("a grid with one placement has a bitmap")
	}
	for key := range int64(1100) {
		mustApply(t, s, op(AddFungible, 1, 1, key, 1))
	}
	if g.bits == nil {
		t.Error("a grid with 1100 placements has no bitmap")
	}
	for key := range int64(1000) {
		mustApply(t, s, op(RemoveFungible, 1, 1, 1+key, 1))
	}
	if check(t, s); g.bits != nil {
		t.Error("a grid with 100 placements still has a bitmap")
	}
}
