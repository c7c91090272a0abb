package ledger

import "testing"

// TestPrefetchChangesNothing, whether there is what is asked for or not, and
// allocates nothing.
func TestPrefetchChangesNothing(t *testing.T) {
	s := stocked(t, prefetchFrom/4, 5)
	digest, seq := s.Digest(), s.Seq()
	tx := &Transaction{Ops: []Op{
		op(TransferFungible, 1, 2, 1, 0, 1), op(TransferFungible, 1, 1<<40, 1, 0, 1), op(TransferFungible, 1, 2, 9, 0, 1),
		op(AddFungible, 3, 1, 77, 1), op(RemoveFungible, 4, 1, 1, 1), op(CreateContainer, 1<<40, int64(Standard)),
	}}
	if n := testing.AllocsPerRun(10, func() { s.Prefetch(tx) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s.prefetched == 0 {
		t.Error("nothing was loaded")
	}
	if s.Digest() != digest || s.Seq() != seq {
		t.Error("the state has changed")
	}
	if err := s.Invariants(); err != nil {
		t.Error(err)
	}
}
