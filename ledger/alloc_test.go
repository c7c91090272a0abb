package ledger

import "testing"

// TestHotPathsAllocateNothing once they have the memory that they reuse.
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
			t.Errorf("%s: %v allocations", path.name, n)
		}
	}
}
