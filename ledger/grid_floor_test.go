package ledger

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestFirstPlaceAfterChanges adds, moves and removes items of many shapes in
// grids with and without a bitmap. One of the grids is recreated now and then,
// and some changes are undone. Each place found is compared with the result of
// searching all rows.
func TestFirstPlaceAfterChanges(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	s := NewState(Config{})
	const shapes = 400
	sizes := [][2]int{{90, 70}, {700, 500}, {64, 33}}
	text := `RegisterClass class_id=1 name=gold`
	for i, size := range sizes {
		text += fmt.Sprintf("; CreateContainer container_id=%d kind=Grid grid_width=%d grid_height=%d", i+1, size[0], size[1])
	}
	for key := range shapes {
		large := 12 + key%3*60
		text += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=%d height=%d", key, 1+r.IntN(large), 1+r.IntN(large))
	}
	accept(t, s, text)
	var f fitter
	found, full, kept, made := 0, 0, 0, 0
	for round := range 6000 {
		id := 1 + r.Int64N(3)
		c := s.containers.at(s.findContainer(id))
		width, height := int(c.gridWidth), int(c.gridHeight)
		key := r.Int64N(shapes)
		if id == 3 {
			key = r.Int64N(6)
		}
		tx := &Transaction{}
		switch ref := s.findStack(s.findContainer(id), s.findClass(1), key); {
		case ref != 0 && r.IntN(3) == 0:
			p := s.placements.at(s.stacks.at(ref).place)
			tx.Ops = []Op{op(MoveInGrid, id, int64(p.x), int64(p.y), r.Int64N(int64(width)), r.Int64N(int64(height)))}
		case ref != 0:
			tx.Ops = []Op{op(RemoveFungible, id, 1, key, s.stacks.at(ref).quantity)}
		case id == 3 && c.stacks == 0 && r.IntN(2) == 0:
			made++
			again := func() string {
				return fmt.Sprintf("RemoveContainer container_id=3; CreateContainer container_id=3 kind=Grid grid_width=%d grid_height=%d", 1+r.IntN(200), 1+r.IntN(200))
			}
			s.occupiedPlane(c)
			mustApply(t, s, asTx(t, again()).Ops...) // twice, so that the grid has its first record again
			tx = asTx(t, again())
		default:
			tx.Ops = []Op{op(AddFungible, id, 1, key, 1)}
			shape := s.shapes.at(s.findShape(s.findClass(1), key))
			w, h := int(shape.width), int(shape.height)
			plane := make([]uint64, rowWords(width)*height)
			for _, p := range placements(t, s, id) {
				markArea(plane, rowWords(width), area{p.X, p.Y, p.Width, p.Height}, true)
			}
			wx, wy, wok := f.firstFit(plane, width, w, h, 0, height-h+1)
			x, y, ok := s.firstPlace(c, w, h)
			if ok != wok || ok && (x != wx || y != wy) {
				t.Fatalf("round %d: %d x %d in container %d: (%d,%d) %v, want (%d,%d) %v", round, w, h, id, x, y, ok, wx, wy, wok)
			}
			if s.fit.of == c.grid {
				kept++
			}
			if !ok {
				full++
			} else {
				found++
			}
		}
		if r.IntN(6) == 0 {
			tx.Ops = append(tx.Ops, op(Detach, 1)) // rejected
		}
		if err := s.Apply(tx, 0, &Outcome{}); err == nil && r.IntN(6) == 0 {
			s.Undo()
		}
		if round%8 == 0 {
			check(t, s)
		}
	}
	if found < 1000 || full < 200 || kept < 200 || made < 15 {
		t.Errorf("%d places were found, %d items did not fit, %d searches used a kept plane, %d grids were rebuilt; want at least 1000, 200, 200, 15", found, full, kept, made)
	}
}

// TestFreedCellsAreSearchedAlone repeatedly frees a cell above many full rows.
// Only the rows around it may be searched again.
func TestFreedCellsAreSearchedAlone(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		RegisterClassShape class_id=1 key=0 width=1024 height=1000; RegisterClassShape class_id=1 key=1 width=1 height=1
		RegisterClassShape class_id=1 key=2 width=2 height=2; RegisterClassShape class_id=1 key=3 width=3 height=2
		AddFungible container_id=1 class_id=1 key=0 quantity=1 x=0 y=1; AddFungible container_id=1 class_id=1 key=1 quantity=1`)
	for key := range int64(2) {
		mustApply(t, s, op(AddFungible, 1, 1, 2+key, 1), op(RemoveFungible, 1, 1, 2+key, 1))
	}
	before := s.fit.rows
	const rounds = 100
	for i := range int64(rounds) {
		mustApply(t, s, op(MoveInGrid, 1, 4*i, 0, 4*i+4, 0), op(AddFungible, 1, 1, 2, 1), op(AddFungible, 1, 1, 3, 1),
			op(RemoveFungible, 1, 1, 2, 1), op(RemoveFungible, 1, 1, 3, 1))
	}
	if rows := s.fit.rows - before; rows > rounds*30 {
		t.Errorf("%d rows were searched in %d rounds, want at most %d", rows, rounds, rounds*30)
	}
	before = s.fit.rows
	accept(t, s, "RegisterClassShape class_id=1 key=4 width=10 height=10; RegisterClassShape class_id=1 key=5 width=1024 height=10; AddFungible container_id=1 class_id=1 key=5 quantity=1 x=0 y=1010")
	for range rounds {
		refuse(t, s, "AddFungible container_id=1 class_id=1 key=4 quantity=1")
	}
	if rows := s.fit.rows - before; rows > rounds {
		t.Errorf("%d rows were searched for an item that does not fit, want at most %d", rows, rounds)
	}
}
