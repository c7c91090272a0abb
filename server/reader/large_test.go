package reader

import (
	"runtime"
	"testing"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// allocated calls the function do, and returns the number of bytes that it allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLargeCommitTakesItsMemoryOnce checks that the text of a commit of many
// operations is made in one buffer, and not in a series of growing ones.
func TestLargeCommitTakesItsMemoryOnce(t *testing.T) {
	rec := ledger.Record{}
	for range 5000 {
		op, err := ledger.ParseOpWords("TransferFungible from_container=1001 to_container=1002 class_id=17 key=0 quantity=250")
		if err != nil {
			t.Fatal(err)
		}
		rec.Tx.Ops = append(rec.Tx.Ops, op)
	}
	var text []byte
	took := allocated(func() { text = AppendCommit(nil, &wal.Frame{First: 1, Count: 1}, 1, &rec) })
	if most := uint64(len(text)) * 3; took > most { // with the race detector, 2.5 times the size is allocated
		t.Errorf("%d bytes of text took %d, want at most %d", len(text), took, most)
	}
}

// TestPastHoldsNothingWhileItWaits checks that a read that goes far back waits for
// its turn before it allocates memory for a state.
func TestPastHoldsNothingWhileItWaits(t *testing.T) {
	r := startReader(t, deepLog(t))
	r.until(11)
	v, err := r.tail.index.View(1)
	if err != nil {
		t.Fatal(err)
	}
	waiting := func(int64) error { return httpserver.Overloaded }
	took := allocated(func() {
		if _, err := v.At(11, waiting); err != httpserver.Overloaded {
			t.Errorf("without a turn: %v, want Overloaded", err)
		}
	})
	if took > 64<<10 {
		t.Errorf("the read allocated %d bytes before its turn, want at most 64 KiB", took)
	}
	if _, err := v.At(11, func(int64) error { return nil }); err != nil {
		t.Error(err)
	}
}
