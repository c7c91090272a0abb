package ledger_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/servertest/longtest"
)

// TestOneUnitOff replays histories with one quantity changed by one. From there
// on the digests must differ, unless the replay itself fails. For a held
// quantity, they must differ until the hold has ended.
func TestOneUnitOff(t *testing.T) {
	t.Parallel()
	r := newTrial(t, cmp.Or(ledger.Seed(), 11), modeltest.DefaultKnobs(), newCoverage())
	for len(r.records) < 600 {
		r.step()
	}
	changed := map[ledger.OpKind]int{}
	step := 1
	if testing.Short() {
		step = 10
	}
	for at := 0; at < len(r.records); at += step {
		var rec ledger.Record
		if err := rec.Decode(r.records[at]); err != nil {
			t.Fatal(err)
		}
		op := oneMore(&rec.Tx)
		if op == nil {
			continue
		}
		changed[op.Kind]++
		s := ledger.NewState(ledger.Config{IdempotencyKeys: rememberedKeys})
		for i := range r.records {
			next := &rec
			if i != at {
				next = new(ledger.Record)
				if err := next.Decode(r.records[i]); err != nil {
					t.Fatal(err)
				}
			}
			err := s.Replay(next, 0, 1)
			if i < at && (err != nil || s.Digest() != r.digests[i]) {
				t.Fatalf("commit %d, as it was: %v, digest %016x, want %016x", i+1, err, s.Digest(), r.digests[i])
			}
			if divergence := new(ledger.DivergenceError); errors.As(err, &divergence) {
				if divergence.Seq != uint64(i)+1 {
					t.Errorf("the replay of commit %d, after commit %d was changed, reports a divergence at %d", i+1, at+1, divergence.Seq)
				}
				break
			}
			if i >= at && op.Kind == ledger.HoldFungible {
				if h, err := s.Hold(op.Args[ledger.HoldID]); err != nil || h.HeldSeq != uint64(at)+1 {
					break // once the hold has ended, nothing shows that one more unit was held
				}
			}
			if i >= at && s.Digest() == r.digests[i] {
				t.Fatalf("commit %d was changed by one unit, but the digest after commit %d is the same", at+1, i+1)
			}
		}
	}
	for _, k := range []ledger.OpKind{ledger.AddFungible, ledger.RemoveFungible, ledger.TransferFungible, ledger.HoldFungible, ledger.SettleHold, ledger.SplitStack} {
		if changed[k] < 2 && !testing.Short() {
			t.Errorf("the quantity of %v was changed %d times, want at least 2", k, changed[k])
		}
	}
}

// oneMore adds one unit to the first operation with a quantity, and returns it.
func oneMore(tx *ledger.Transaction) *ledger.Op {
	for i := range tx.Ops {
		for j, arg := range tx.Ops[i].Kind.Args() {
			if arg.Type == ledger.ArgQuantity && tx.Ops[i].Given(j) {
				tx.Ops[i].Args[j]++
				return &tx.Ops[i]
			}
		}
	}
	return nil
}

// TestDivergenceIsNoticed changes one unit, and replays everything after it
// unchanged. The merge then moves one unit more than its record says, so its replay must
// return a DivergenceError.
func TestDivergenceIsNoticed(t *testing.T) {
	words := []string{
		"RegisterClass class_id=1 name=gold",
		"CreateContainer container_id=1 kind=Standard",
		"AddFungible container_id=1 class_id=1 key=1 quantity=10",
		"AddFungible container_id=1 class_id=1 key=2 quantity=5",
		"MergeStacks container_id=1 class_id=1 from_key=1 to_key=2",
	}
	first := ledger.NewState(ledger.Config{})
	second := ledger.NewState(ledger.Config{})
	for i, w := range words {
		op, err := ledger.ParseOpWords(w)
		if err != nil {
			t.Fatal(err)
		}
		rec := ledger.Record{Tx: ledger.Transaction{Ops: []ledger.Op{op}}}
		if err := first.Apply(&rec.Tx, 0, &rec.Out); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			oneMore(&rec.Tx)
		}
		before := second.Digest()
		replayed := second.Replay(&rec, 0, 1)
		var divergence *ledger.DivergenceError
		switch {
		case i == 4 && !errors.As(replayed, &divergence):
			t.Errorf("the replay of a merge that moves a different quantity: %v, want a DivergenceError", replayed)
		case i == 4 && second.Digest() != before:
			t.Error("the merge that diverged changed the state")
		case i < 4 && replayed != nil:
			t.Fatal(replayed)
		case (first.Digest() == second.Digest()) != (i < 2):
			t.Errorf("after commit %d the digests are %016x and %016x, want equal: %t", i+1, first.Digest(), second.Digest(), i < 2)
		}
	}
}

// TestDigestSeesEveryArgument changes one argument of one operation at a time.
// If the ledger accepts the change, either the digest must differ, or all reads must
// be the same.
func TestDigestSeesEveryArgument(t *testing.T) {
	t.Parallel()
	r := newTrial(t, cmp.Or(ledger.Seed(), 12), modeltest.DefaultKnobs(), newCoverage())
	commits := 2000
	switch {
	case testing.Short():
		commits /= 10
	case !longtest.Form(t, "half of the commits"):
		commits /= 2
	}
	for len(r.records) < commits {
		r.step()
	}
	s := ledger.NewState(ledger.Config{})
	seen := map[ledger.OpKind]int{}
	for at, b := range r.records {
		var rec ledger.Record
		if err := rec.Decode(b); err != nil {
			t.Fatal(err)
		}
		for i := range rec.Tx.Ops {
			for j := range rec.Tx.Ops[i].Kind.Args() {
				right := rec.Tx.Ops[i]
				if changeArgument(&rec.Tx.Ops[i], j) && r.digestSees(s, rec.Tx, i, right, r.digests[at]) {
					seen[right.Kind]++
				}
				rec.Tx.Ops[i] = right
			}
		}
		if err := s.Replay(&rec, 0, 1); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range modeltest.Kinds() {
		switch k {
		case ledger.RemoveContainer, ledger.RemoveFromGrid, ledger.BurnInstance, ledger.Detach, ledger.ReleaseHold: // there is rarely another item that can be removed
		default:
			if seen[k] == 0 && !k.IsCondition() && !testing.Short() {
				t.Errorf("no changed argument of %v was accepted and changed the digest", k)
			}
		}
	}
}

// digestSees tries tx, in which operation i was changed. The argument right is the
// original operation, and digest is the state's digest after the original transaction.
// digestSees returns true if the ledger accepts tx and the new digest is different. If
// the digest is the same, all reads must be the same too.
func (r *trial) digestSees(s *ledger.State, tx ledger.Transaction, i int, right ledger.Op, digest uint64) bool {
	r.t.Helper()
	var out ledger.Outcome
	if s.Apply(&tx, 0, &out) != nil {
		return false
	}
	defer s.Undo()
	if s.Digest() != digest {
		return true
	}
	got := allReads(s, r.model)
	s.Undo()
	changed := tx.Ops[i]
	tx.Ops[i] = right
	if err := s.Apply(&tx, 0, &out); err != nil {
		r.t.Fatal(err)
	}
	if d := difference(allReads(s, r.model), got); d != "" {
		r.t.Errorf("after commit %d, %+v instead of %+v: the digest is the same, but (-right +changed):\n%s", s.Seq()-1, changed, right, d)
	}
	return false
}

// changeArgument gives argument j a different value of its type. It does so only if
// the argument is given and is not a reference.
func changeArgument(op *ledger.Op, j int) bool {
	if !op.Given(j) || op.Ref&(1<<j) != 0 {
		return false
	}
	switch op.Kind.Args()[j].Type {
	case ledger.ArgName, ledger.ArgContainerName, ledger.ArgContainerNameOrNull, ledger.ArgClassCode, ledger.ArgClassCodeOrNull:
		was := op.Text(j)
		op.Name = strings.Replace(op.Name, was, was[:len(was)-1]+"_", 1)
	case ledger.ArgRotation:
		op.Args[j] = 90 - op.Args[j]
	case ledger.ArgBool, ledger.ArgFlag:
		op.Args[j] = 1 - op.Args[j]
	case ledger.ArgKind:
		op.Args[j] = op.Args[j]%3 + 1
		op.Has &= 1<<ledger.CreateContainerID | 1<<ledger.CreateKind | 1<<ledger.CreateOwner
	case ledger.ArgDecimals:
		op.Args[j] = (op.Args[j] + 1) % (ledger.MaxDecimals + 1)
	case ledger.ArgSide:
		op.Args[j] = op.Args[j]%ledger.MaxSide + 1
	default:
		if op.Args[j]++; op.Args[j] < 0 { // it was the maximum
			op.Args[j] = 1
		}
	}
	return true
}

// allReads returns the ledger's replies to all reads of everything in the model.
func allReads(s *ledger.State, m *modeltest.Model) map[string]modeltest.Reply {
	replies := map[string]modeltest.Reply{}
	for _, q := range modeltest.AllQueries(m) {
		replies[fmt.Sprint(q)] = ask(s, q)
	}
	return replies
}
