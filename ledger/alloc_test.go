package ledger

import (
	"runtime"
	"testing"
	"unsafe"
)

// TestHotPathsAllocateNothing checks that hot paths don't allocate once they
// have the memory that they reuse.
func TestHotPathsAllocateNothing(t *testing.T) {
	s := stocked(t, 100, 3)
	var tx, keyed Transaction
	var out Outcome
	var balances []Balance
	var answer, record []byte
	var decoded Record
	for body, to := range map[string]*Transaction{oneTransfer: &tx, keyedTransfer: &keyed} {
		if err := ParseTransaction([]byte(body), to, ParseLimits{}); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err *Error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	plain, withKey := []byte(oneTransfer), []byte(keyedTransfer)
	for _, path := range []struct {
		name string
		run  func()
	}{
		{"parse", func() { must(ParseTransaction(plain, &tx, ParseLimits{})) }},
		{"parse with key and metadata", func() { must(ParseTransaction(withKey, &keyed, ParseLimits{})) }},
		{"apply", func() { must(s.Apply(&tx, 0, &out)) }},
		{"apply and undo", func() {
			must(s.Apply(&tx, 0, &out))
			s.Undo()
		}},
		{"encode", func() { record = AppendRecord(record[:0], &keyed, &out) }},
		{"decode", func() {
			if err := decoded.Decode(record); err != nil {
				t.Fatal(err)
			}
		}},
		{"result", func() { answer = AppendResult(answer[:0], &keyed, 1<<60, 7, 0, 0) }},
		{"balances", func() {
			var err *Error
			balances, _, _, err = s.Balances(balances[:0], 17, BalanceFilter{}, nil, 1000)
			must(err)
		}},
	} {
		if n := testing.AllocsPerRun(100, path.run); n != 0 {
			t.Errorf("%s: %v allocations, want 0", path.name, n)
		}
	}
}

// TestLargeRecordTakesItsMemoryOnce checks that decoding a record of many
// operations allocates their memory once. Growing it step by step would take
// five times as much, most of it garbage.
func TestLargeRecordTakesItsMemoryOnce(t *testing.T) {
	op, err := ParseOpWords("AddFungible container_id=1 class_id=1 key=7 quantity=5")
	if err != nil {
		t.Fatal(err)
	}
	tx, out := Transaction{}, Outcome{}
	for range 5000 {
		tx.Ops = append(tx.Ops, op)
	}
	b := AppendRecord(nil, &tx, &out)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var r Record
	err = r.Decode(b)
	runtime.ReadMemStats(&after)
	took, most := after.TotalAlloc-before.TotalAlloc, 3*uint64(len(tx.Ops))*uint64(unsafe.Sizeof(op)) // the race detector doubles the size
	if err != nil || len(r.Tx.Ops) != len(tx.Ops) || took > most {
		t.Errorf("%v; %d operations took %d bytes, want at most %d", err, len(r.Tx.Ops), took, most)
	}
}
