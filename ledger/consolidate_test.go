package ledger

import (
	"math"
	"math/rand/v2"
	"testing"
)

// stacksIn returns a state in which container 1 has n stacks of class 1 and n of
// class 2.
func stacksIn(t testing.TB, n int64) *State {
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; RegisterClass class_id=2 name=tin; CreateContainer container_id=1 kind=Standard; CreateContainer container_id=2 kind=Standard")
	for key := int64(0); key < n; {
		var ops []Op
		for ; key < n && len(ops) < 10_000; key++ {
			ops = append(ops, op(AddFungible, 1, 1, key, 1), op(AddFungible, 1, 2, key, 1))
		}
		mustApply(t, s, ops...)
	}
	return s
}

// TestConsolidationIsBounded moves as many stacks as one transaction may. Then it
// tries to move more, with one operation and with two.
func TestConsolidationIsBounded(t *testing.T) {
	t.Parallel()
	consolidate := func(class int64) Op { return op(ConsolidateStacks, 1, class) }
	s := stacksIn(t, MaxConsolidated+1)
	before := s.Digest()
	mustApply(t, s, consolidate(1))
	s.Undo()
	if s.Digest() != before {
		t.Error("the digest differs after Undo")
	}
	for _, c := range []struct {
		name string
		ops  []Op
		at   int
	}{
		{"one more", []Op{op(AddFungible, 1, 1, 1<<40, 1), consolidate(1)}, 1},
		{"again", []Op{consolidate(1), op(AddFungible, 1, 1, 1<<40, 1), consolidate(1)}, 2},
		{"two classes", []Op{consolidate(1), consolidate(2)}, 1},
	} {
		tx := &Transaction{Ops: c.ops}
		err := s.Apply(tx, 0, &Outcome{})
		if err == nil || err.Code != InvalidOperation || err.OpIndex != c.at {
			t.Fatalf("%s: %v, want InvalidOperation at operation %d", c.name, err, c.at)
		}
		if got := err.Details[2]; got != Num("max_stacks", 100_000) || s.Digest() != before {
			t.Errorf("%s: the third detail is %+v, want max_stacks 100000; the digest is %016x, want %016x", c.name, got, s.Digest(), before)
		}
	}
	// A log from before the limit existed can be replayed.
	mustApply(t, s, op(AddFungible, 1, 1, 1<<40, 1))
	rec := &Record{Tx: Transaction{Ops: []Op{consolidate(1)}}, Out: Outcome{Decisions: []Decision{{Quantity: MaxConsolidated + 1}}}}
	if err := s.Replay(rec, 0, 1); err != nil {
		t.Error(err)
	}
	tx := &Transaction{Ops: []Op{op(AddFungible, 1, 2, 1<<40, 1), consolidate(2)}}
	if err := s.Apply(tx, 0, &Outcome{}); err == nil || err.Code != InvalidOperation {
		t.Error("the limit no longer applies after a replay:", err)
	}
}

// TestConsolidateAmongOthers consolidates one of three classes and undoes that.
// Merging the stacks one by one must lead to the same state as the consolidation.
func TestConsolidateAmongOthers(t *testing.T) {
	r := rand.New(rand.NewPCG(Seed(), 1))
	for _, kind := range []string{"kind=Standard", "kind=Grid grid_width=20 grid_height=20"} {
		for range 40 {
			s := NewState(Config{})
			accept(t, s, "RegisterClass class_id=1 name=a; RegisterClass class_id=2 name=b; RegisterClass class_id=3 name=c; CreateContainer container_id=1 "+kind)
			accept(t, s, "RegisterClassShape class_id=1 width=1 height=1; RegisterClassShape class_id=2 width=1 height=2; RegisterClassShape class_id=3 width=1 height=1")
			for range 60 {
				mustApply(t, s, op(AddFungible, 1, 1+r.Int64N(3), r.Int64N(40), 1+r.Int64N(9)))
			}
			mustApply(t, s, op(AddFungible, 1, 2, 17, 1), op(AddFungible, 1, 2, 18, 1))
			stacks, _, _, err := s.Balances(nil, 1, BalanceFilter{ClassID: new(int64(2))}, nil, math.MaxInt)
			noErrors(t, err)
			into := stacks[r.IntN(len(stacks))].Key
			before := dump(t, s)
			mustApply(t, s, op(ConsolidateStacks, 1, 2, into))
			check(t, s)
			consolidated := dump(t, s)
			s.Undo()
			check(t, s)
			same(t, "undone", before, dump(t, s))
			var merges []Op
			for _, b := range stacks {
				if b.Key != into {
					merges = append(merges, op(MergeStacks, 1, 2, b.Key, into))
				}
			}
			mustApply(t, s, merges...)
			same(t, "merged one by one", consolidated, dump(t, s))
		}
	}
}

func BenchmarkConsolidate(b *testing.B) {
	s := stacksIn(b, MaxConsolidated)
	applyAll(b, s, []Transaction{{Ops: []Op{op(ConsolidateStacks, 1, 1)}}}, s.Undo)
}
