package writer

import (
	"slices"
	"testing"

	"assetledger/ledger"
)

// newTurns returns a bench on which a turn is over at every check of the clock.
func newTurns(t *testing.T) *bench {
	b := newBench(t, newRAMLog())
	now := int64(0)
	b.now = func() int64 { now += int64(turnTime); return now }
	b.submit(world)
	b.step()
	b.syncOne()
	b.check = 1
	return b
}

func seqs(r *request) (list []uint64) {
	for i := range r.verdicts {
		list = append(list, r.verdicts[i].seq)
	}
	return list
}

// Large requests get their turns one after another, with one turn for small
// requests in between. The transactions of each request are judged in order, and the
// request is answered when its last batch is durable.
func TestTurns(t *testing.T) {
	b := newTurns(t)
	tx := transferTx(1, "")
	a, ga := b.submit(tx, tx, tx)
	c, gc := b.submit(tx, tx)
	s1, g1 := b.submit(tx)
	b.step() // one of a
	b.step() // the small one
	s2, g2 := b.submit(tx)
	b.step() // one of c
	b.step() // the small one
	b.step() // one of a
	b.step() // the rest of c
	b.syncOne()
	b.wantDone("what is durable only in part", gc, false)
	b.step() // the rest of a
	b.wantDone("the first small one", g1, false)
	b.syncOne()
	for _, g := range []*group{g1, g2, gc} {
		b.wantDone("after its last batch", g, true)
	}
	b.wantDone("what is durable only in part", ga, false)
	b.syncOne()
	b.wantDone("after its last batch", ga, true)
	for what, got := range map[string][2][]uint64{
		"small":  {slices.Concat(seqs(s1), seqs(s2)), {3, 5}},
		"first":  {seqs(a), {2, 6, 8}},
		"second": {seqs(c), {4, 7}},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: commits %d, want %d", what, got[0], got[1])
		}
	}
}

// A request of one transaction with many operations does not share a group.
// Neither does one that may cost as much.
func TestLargeTransactionsWaitAlone(t *testing.T) {
	b := newTurns(t)
	op := `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}`
	large := `{"operations":[` + op
	for range turnCheck {
		large += "," + op
	}
	_, g1 := b.submit(transferTx(1, ""))
	_, g2 := b.submit(large + "]}")
	_, g3 := b.submit(transferTx(1, ""))
	_, g4 := b.submit(`{"operations":[{"op":"ConsolidateStacks","args":{"container_id":1,"class_id":1}}]}`)
	if g1 == g2 || g3 != g1 || g4 == g1 || g4 == g2 {
		t.Error("wrong groups")
	}
}

// Transactions that have not been judged when the daemon must end, or when their
// client is gone, are rejected. Those that have been judged stay.
func TestTurnsEnd(t *testing.T) {
	tx := transferTx(1, "")
	for _, c := range []struct {
		about string
		end   func(*bench, *request)
		stop  bool
		codes []ledger.Code
	}{
		{"stopping", func(b *bench, _ *request) { b.hurry.Store(true) }, false, []ledger.Code{"", ledger.ShuttingDown, ledger.ShuttingDown}},
		{"stopping, on_error stop", func(b *bench, _ *request) { b.hurry.Store(true) }, true, []ledger.Code{"", ledger.ShuttingDown, ledger.NotAttempted}},
		{"client gone", func(_ *bench, r *request) { r.alive = func() bool { return false } }, false, []ledger.Code{"", ledger.Overloaded, ledger.Overloaded}},
	} {
		t.Run(c.about, func(t *testing.T) {
			b := newTurns(t)
			r, g := b.submit(tx, tx, tx)
			r.StopOnError = c.stop
			b.submit(tx, tx)
			b.step()
			c.end(b, r)
			b.step()
			b.step()
			for b.inFlight != nil {
				b.syncOne()
			}
			b.wantDone(c.about, g, true)
			for i, want := range c.codes {
				if got := code(r.verdicts[i].err); got != want {
					t.Errorf("transaction %d: %q, want %q", i, got, want)
				}
			}
			if r.verdicts[0].seq != 2 {
				t.Errorf("the first transaction is commit %d, want 2", r.verdicts[0].seq)
			}
		})
	}
}

// The blocks of a stream are judged in their order, one at a time. Together they
// take turns with other requests, as one large request would.
func TestTurnsOfStreams(t *testing.T) {
	b := newTurns(t)
	tx := transferTx(1, "")
	var one, other lane
	one.stream, other.stream = true, true
	block := func(l *lane, txs ...string) *request {
		r := &request{bulk: true, lane: l, BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, len(txs))}}
		for i := range txs {
			if err := ledger.ParseTransaction([]byte(txs[i]), &r.Txs[i], ledger.ParseLimits{}); err != nil {
				t.Fatal(err)
			}
		}
		r.judged()
		if _, err := b.intake.submit(r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	a1, a2, a3 := block(&one, tx, tx, tx), block(&one, tx), block(&one, tx)
	batch, _ := b.submit(tx, tx)
	b1 := block(&other, tx, tx)
	small, _ := b.submit(tx)
	if got := b.intake.depth(); got != 6 {
		t.Errorf("%d requests wait, want 6", got)
	}
	for !b.intake.empty() {
		b.step()
		for b.inFlight != nil {
			b.syncOne()
		}
	}
	for what, got := range map[string][2][]uint64{
		"first of a stream": {seqs(a1), {2, 6, 9}},
		"second":            {seqs(a2), {10}},
		"third":             {seqs(a3), {11}},
		"batch":             {seqs(batch), {4, 7}},
		"of another stream": {seqs(b1), {5, 8}},
		"the small one":     {seqs(small), {3}},
	} {
		if !slices.Equal(got[0], got[1]) {
			t.Errorf("%s: commits %d, want %d", what, got[0], got[1])
		}
	}
	if got := b.intake.depth(); got != 0 {
		t.Errorf("%d requests wait at the end, want none", got)
	}
}
