package ledger

import (
	"fmt"
	"testing"
)

// toAndFro returns operations that move an item of 1000 x 1000 cells, alternately one
// column to the right and back.
func toAndFro(moves int) (ops []Op) {
	for i := range int64(moves) {
		ops = append(ops, op(MoveInGrid, 1, 1, 1, 1-i%2, 0))
	}
	return ops
}

// TestGridWorkIsBounded moves a large item until one transaction has done too
// much work. The same moves are accepted if they come from a log.
func TestGridWorkIsBounded(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		RegisterClassShape class_id=1 width=1000 height=1000; AddFungible container_id=1 class_id=1 key=0 quantity=1`)
	const each = 2 * workMark * 16 * 1000
	most := MaxGridWork / each
	before := s.Digest()
	mustApply(t, s, toAndFro(most)...)
	s.Undo()
	mustApply(t, s, toAndFro(most)...) // the work of the first transaction does not count
	s.Undo()
	err := s.Apply(&Transaction{Ops: toAndFro(MaxOperations)}, 0, &Outcome{})
	if err == nil || err.Code != InvalidOperation || err.OpIndex > most || err.OpIndex < most/2 || detail(err, "max_grid_work") != fmt.Sprint(MaxGridWork) {
		t.Fatalf("want a rejection at move %d at the latest, got %v", most, err)
	}
	if s.Digest() != before {
		t.Error("the digest differs after a rejection")
	}
	rec := &Record{Tx: Transaction{Ops: toAndFro(2 * most), version: recordVersion1}}
	if err := s.Replay(rec, 0, 1); err != nil {
		t.Error(err)
	}
	if err := s.Apply(&Transaction{Ops: toAndFro(2 * most)}, 0, &Outcome{}); err == nil {
		t.Error("the limit no longer applies after a replay")
	}
}

// TestManyThingsAreLittleWork fills grids with as many operations as a
// transaction may have, and stays below the limit on work.
func TestManyThingsAreLittleWork(t *testing.T) {
	for _, c := range []struct{ w, h, full int64 }{{1, 1, 0}, {10, 10, 0}, {3, 33, 0}, {100, 1, 0}, {1, 100, 0}, {1, 1, 1000}, {4, 3, 900}} {
		s := NewState(Config{})
		accept(t, s, fmt.Sprintf(`RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
			RegisterClassShape class_id=1 width=%d height=%d`, c.w, c.h))
		if c.full > 0 {
			accept(t, s, fmt.Sprintf(`RegisterClassShape class_id=1 key=99999 width=1024 height=%d; AddFungible container_id=1 class_id=1 key=99999 quantity=1`, c.full))
		}
		var ops []Op
		for key := range int64(MaxOperations) {
			ops = append(ops, op(AddFungible, 1, 1, key, 1))
		}
		mustApply(t, s, ops...)
		if s.doing.gridWork > MaxGridWork*3/4 {
			t.Errorf("%+v: %d units of work, want at most %d", c, s.doing.gridWork, MaxGridWork*3/4)
		}
	}
}

// BenchmarkGridWork applies transactions that come close to the limit on work or on
// operations, and undoes them. It reports the time per unit of work, which should be
// similar in all cases.
func BenchmarkGridWork(b *testing.B) {
	const world = `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Grid grid_width=1024 grid_height=1024
		RegisterClassShape class_id=1 key=1 width=1 height=1; RegisterClassShape class_id=1 key=2 width=2 height=3; `
	holes := "" // a pattern of columns, with gaps of one cell between them, down to the last rows
	for key := int64(100); key < 100+341; key++ {
		holes += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=2 height=1020; AddFungible container_id=1 class_id=1 key=%d quantity=1 x=%d y=0", key, key, 3*(key-100)+1)
	}
	fill := "" // small items in the last rows, so that there is a bitmap
	for key := int64(3000); key < 4100; key++ {
		fill += fmt.Sprintf("; RegisterClassShape class_id=1 key=%d width=1 height=1; AddFungible container_id=1 class_id=1 key=%d quantity=1 x=%d y=%d", key, key, key%1024, 1010+key/1024)
	}
	few := "; RegisterClassShape class_id=1 key=3 width=1 height=1024; CreateContainer container_id=2 kind=Grid grid_width=1024 grid_height=1024" // fewer items in two grids, without a bitmap; one item is as tall as the grid
	for id := 1; id <= 2; id++ {
		few += fmt.Sprintf("; AddFungible container_id=%d class_id=1 key=3 quantity=1 x=1023 y=0", id)
		for key := 5000; key < 6000; key++ {
			few += fmt.Sprintf("; AddFungible container_id=%d class_id=1 key=%d quantity=1 x=0 y=%d", id, key, key-5000)
		}
	}
	for _, c := range []struct {
		name, world string
		each        []Op
	}{
		{"search in holes", holes + "; AddFungible container_id=1 class_id=1 key=1 quantity=1 x=0 y=0",
			[]Op{op(MoveInGrid, 1, 0, 0, 0, 500), op(AddFungible, 1, 1, 2, 1), op(RemoveFungible, 1, 1, 2, 1),
				op(MoveInGrid, 1, 0, 500, 0, 1000), op(AddFungible, 1, 1, 2, 1), op(RemoveFungible, 1, 1, 2, 1), op(MoveInGrid, 1, 0, 1000, 0, 0)}},
		{"large moves", fill + `; RegisterClassShape class_id=1 key=3 width=1000 height=1000; AddFungible container_id=1 class_id=1 key=3 quantity=1 x=0 y=0`,
			[]Op{op(MoveInGrid, 1, 1, 1, 1, 0), op(MoveInGrid, 1, 1, 1, 0, 0)}},
		{"moves by list", "; RegisterClassShape class_id=1 width=1 height=1" + few, []Op{op(MoveInGrid, 1, 1023, 500, 1022, 0), op(MoveInGrid, 1, 1022, 500, 1023, 0)}},
		{"two grids", "; RegisterClassShape class_id=1 width=1 height=1" + few, []Op{op(AddFungible, 1, 1, 9, 1), op(AddFungible, 2, 1, 9, 1), op(RemoveFungible, 1, 1, 9, 1), op(RemoveFungible, 2, 1, 9, 1)}},
		{"small moves", `; AddFungible container_id=1 class_id=1 key=1 quantity=1 x=0 y=0`,
			[]Op{op(MoveInGrid, 1, 0, 0, 1, 0), op(MoveInGrid, 1, 1, 0, 0, 0)}},
		{"large things", fill + `; RegisterClassShape class_id=1 key=3 width=1000 height=1000`,
			[]Op{op(AddFungible, 1, 1, 3, 1), op(RemoveFungible, 1, 1, 3, 1)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := NewState(Config{})
			mustApply(b, s, asTx(b, world+c.world).Ops...)
			tx, out := &Transaction{}, Outcome{}
			for len(tx.Ops)+len(c.each) <= MaxOperations {
				tx.Ops = append(tx.Ops, c.each...)
			}
			if err := s.Apply(tx, 0, &out); err != nil {
				tx.Ops = tx.Ops[:err.OpIndex]
			} else {
				s.Undo()
			}
			work := 0
			for b.Loop() {
				if err := s.Apply(tx, 0, &out); err != nil {
					b.Fatal(err)
				}
				work += s.doing.gridWork
				s.Undo()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(work), "ns/work")
			b.ReportMetric(float64(len(tx.Ops)), "ops")
		})
	}
}
