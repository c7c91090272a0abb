package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"assetledger/server/servertest/longtest"
)

// transferOp returns a transfer between two of eight containers. Now and then it
// moves a whole stack, so that stacks come and go.
func transferOp(r *rand.Rand, s *State) Op {
	from, class, key := 1+r.Int64N(8), 1+r.Int64N(8), r.Int64N(3)
	q := 1 + r.Int64N(3)
	stacks, _, _, _ := s.Balances(nil, from, BalanceFilter{}, nil, 100)
	if len(stacks) > 0 {
		of := stacks[r.IntN(len(stacks))]
		class, key = of.ClassID, of.Key
		if r.IntN(4) == 0 {
			q = of.Quantity
		}
	}
	return op(TransferFungible, from, 1+r.Int64N(8), class, key, q)
}

// mixedLog returns the records of random transactions, mostly of one transfer, some
// with an idempotency key.
func mixedLog(t *testing.T, r *rand.Rand, n int) (log [][]byte) {
	s, out := NewState(Config{IdempotencyKeys: 20}), Outcome{}
	tx := asTx(t, field)
	for len(log) < n {
		if err := s.Apply(tx, 0, &out); err == nil {
			s.Remember(tx, &out, s.Seq(), 1)
			log = append(log, AppendRecord(nil, tx, &out))
		}
		tx = &Transaction{Ops: []Op{transferOp(r, s)}}
		switch r.IntN(8) {
		case 0:
			tx.Ops[0] = randomStateOp(r, s.nextInstance)
		case 1:
			for range r.IntN(20) {
				tx.Ops = append(tx.Ops, op(AddFungible, 1+r.Int64N(8), 1+r.Int64N(8), r.Int64N(3), 1+r.Int64N(9)))
			}
		case 2:
			tx.Key, tx.Hash = fmt.Appendf(nil, "key %d", len(log)), [16]byte{byte(len(log))}
		}
	}
	return log
}

// A replayRun replays records into a state, one by one or in groups.
type replayRun struct {
	state   *State
	changes Changes
	notes   []string
	err     error
}

func newReplayRun() *replayRun {
	run := &replayRun{state: NewState(Config{IdempotencyKeys: 20})}
	run.changes.Grow(7)
	run.state.Observe(&run.changes, run.note)
	return run
}

func (run *replayRun) note() {
	for i := range run.changes.List() {
		c := run.changes.List()[i]
		whole := Change{}
		if other := run.changes.Other(&c); other != nil {
			whole, c.Op = *other, 0 // c.Op is only an index
		}
		run.notes = append(run.notes, fmt.Sprintf("%+v %+v", c, whole))
	}
	run.changes.Reset()
}

func (run *replayRun) replay(recs []Record, batchSeq uint32, together bool) {
	if run.err != nil {
		return
	}
	if together {
		before := run.state.Seq()
		n := 0
		if n, run.err = run.state.ReplayAll(recs, 7, batchSeq); run.state.Seq() != before+uint64(n) || run.err == nil && n != len(recs) {
			run.err = fmt.Errorf("%d of %d applied from commit %d to %d: %w", n, len(recs), before, run.state.Seq(), run.err)
		}
		return
	}
	for i := range recs {
		if run.err = run.state.Replay(&recs[i], 7, batchSeq+uint32(i)); run.err != nil {
			return
		}
	}
}

// sameRun compares the visible results of two runs.
func sameRun(t *testing.T, one, all *replayRun) {
	t.Helper()
	one.note()
	all.note()
	if fmt.Sprint(one.err) != fmt.Sprint(all.err) {
		t.Fatalf("one by one: %v\ntogether: %v", one.err, all.err)
	}
	if one.state.Digest() != all.state.Digest() || one.state.Seq() != all.state.Seq() {
		t.Fatalf("one by one the digest after commit %d is %016x, together after %d it is %016x",
			one.state.Seq(), one.state.Digest(), all.state.Seq(), all.state.Digest())
	}
	for i := range one.notes {
		if i >= len(all.notes) || one.notes[i] != all.notes[i] {
			t.Fatalf("change %d differs, one by one: %s\ntogether: %s", i, one.notes[i], all.notes[min(i, len(all.notes)-1):][:1])
		}
	}
	if len(all.notes) != len(one.notes) {
		t.Fatalf("one by one %d changes were noted, together %d", len(one.notes), len(all.notes))
	}
}

func decodeAll(t *testing.T, log [][]byte) []Record {
	t.Helper()
	recs := make([]Record, len(log))
	for i := range recs {
		if err := recs[i].Decode(log[i]); err != nil {
			t.Fatal(err)
		}
	}
	return recs
}

// TestReplayAll checks that records lead to the same state, idempotency keys and
// observed changes whether they are replayed one by one or in groups.
func TestReplayAll(t *testing.T) {
	t.Parallel()
	plain, seeds := 0, uint64(4)
	if !longtest.Form(t, "half of the seeds") {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 12))
		log := mixedLog(t, r, 3000)
		one, all := newReplayRun(), newReplayRun()
		for len(log) > 0 {
			n := min(1+r.IntN(90), len(log))
			recs := decodeAll(t, log[:n])
			for i := range recs {
				if recs[i].Tx.isPlainTransfer() {
					plain++
				}
			}
			one.replay(decodeAll(t, log[:n]), 5, false)
			all.replay(recs, 5, true)
			sameRun(t, one, all)
			log = log[n:]
		}
		if err := all.state.Invariants(); err != nil || all.err != nil {
			t.Fatalf("invariants: %v, replay: %v", err, all.err)
		}
		same(t, "replayed together", dump(t, one.state), dump(t, all.state))
		for i := range 3000 {
			key := fmt.Appendf(nil, "key %d", i)
			was, known := one.state.Recall(key)
			is, also := all.state.Recall(key)
			if known != also || fmt.Sprint(was) != fmt.Sprint(is) {
				t.Fatalf("%s: one by one %v %+v, together %v %+v", key, known, was, also, is)
			}
		}
	}
	if plain < 3000 {
		t.Errorf("%d plain transfers, want at least 3000", plain)
	}
}

// TestReplayAllOfAnotherLog checks that records that a state can't have accepted lead
// to the same error, or the same digest, whether they are replayed one by one or in
// groups. In each log one argument is changed. In most of them a record is also lost,
// repeated, or out of order.
func TestReplayAllOfAnotherLog(t *testing.T) {
	t.Parallel()
	refused, logs := 0, 300
	if !longtest.Form(t, "four fifths of the logs") {
		logs = 60
	}
	for seed := range uint64(logs) {
		r := rand.New(rand.NewPCG(seed, 13))
		log := mixedLog(t, r, 150)
		at := 1 + r.IntN(len(log)-2)
		switch r.IntN(4) {
		case 0:
			log = slices.Delete(log, at, at+1)
		case 1:
			log = slices.Insert(log, at, log[at])
		case 2:
			log[at], log[at+1] = log[at+1], log[at]
		}
		recs, again := decodeAll(t, log), decodeAll(t, log)
		ops := recs[at].Tx.Ops
		i, j := r.IntN(len(ops)), r.IntN(3)
		d := []int64{-1, 1, 1 << 40}[r.IntN(3)]
		ops[i].Args[j] += d
		again[at].Tx.Ops[i].Args[j] += d
		one, all := newReplayRun(), newReplayRun()
		one.replay(recs, 1, false)
		all.replay(again, 1, true)
		sameRun(t, one, all)
		if all.err != nil {
			refused++
		}
	}
	if refused < logs/3 {
		t.Errorf("%d logs were rejected, want at least %d", refused, logs/3)
	}
}

// TestReplayAllAllocatesNothing checks that ReplayAll doesn't allocate for transfers
// once it has the memory that it reuses.
func TestReplayAllAllocatesNothing(t *testing.T) {
	s := stocked(t, 100, 1)
	recs := make([]Record, 40)
	for i, tx := range transfers(len(recs), 100) {
		recs[i].Tx = tx
	}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := s.ReplayAll(recs, 0, 1); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
