package writer

import (
	"slices"
	"testing"

	"assetledger/ledger"
)

// newTurns is a bench on which every look at the clock finds the turn over.
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

// Large requests get turns one after another, the small ones one in between.
// Each is judged in its own order, and answered when its last batch is durable.
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

// A request of one transaction with many operations, or one that may cost as
// much, doesn't share a group.
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

// What is not judged when the daemon must end, or when its client has gone, is
// refused. What was judged stays.
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
				t.Errorf("commit %d", r.verdicts[0].seq)
			}
		})
	}
}
