package ledger_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"testing"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"
	"assetledger/server/servertest/longtest"
)

// allOperations is the default of -operations.
const allOperations = 100_000

var operationsFlag = flag.Int("operations", allOperations, "number of random operations to compare with the model")

// compare compares the ledger's answer with the model's.
func (r *trial) compare(sent *ledger.Transaction, want ledger.Outcome, refusal *modeltest.Refusal, err *ledger.Error) {
	r.t.Helper()
	switch {
	case refusal == nil && err != nil:
		r.fatal(sent, "the ledger rejects (%v), the model accepts", err)
	case refusal != nil && err == nil:
		r.fatal(sent, "the ledger accepts, the model rejects (%v)", refusal)
	case refusal != nil:
		if err.Code != refusal.Code || err.OpIndex != refusal.Op {
			r.fatal(sent, "the ledger says %v, the model %v", err, refusal)
		}
		r.details(sent, refusal, err)
		return
	}
	want.Facts = r.out.Facts // the model does not track facts
	if d := difference(want, r.out); d != "" {
		r.fatal(sent, "outcome (-model +ledger):\n%s", d)
	}
}

// details checks that the error has every detail that the model requires.
func (r *trial) details(sent *ledger.Transaction, refusal *modeltest.Refusal, err *ledger.Error) {
	r.t.Helper()
	got := map[string]any{}
	for _, d := range err.Details {
		if _, twice := got[d.Name]; twice {
			r.fatal(sent, "%s names %s twice", err.Code, d.Name)
		}
		if got[d.Name] = d.Int; d.IsStr {
			got[d.Name] = d.Str
		}
	}
	for name, want := range refusal.Details {
		if v, ok := got[name]; !ok || v != want {
			r.fatal(sent, "%s: details %v, want %s = %v among them", err.Code, err.Details, name, want)
		}
	}
	if _, held := refusal.Details["held"]; !held && got["held"] != nil {
		r.fatal(sent, "%s: details %v, though nothing is held", err.Code, err.Details)
	}
	if len(err.Details) == 0 || err.Message == "" {
		r.fatal(sent, "%s says nothing: message %q, details %v", err.Code, err.Message, err.Details)
	}
}

// recalled compares what the ledger and the model remember of an idempotency key, and
// checks that they agree on whether the request is the same.
func (r *trial) recalled(sent *ledger.Transaction, known ledger.Remembered, want modeltest.Answer) {
	r.t.Helper()
	same := known.Endpoint == r.body.Endpoint && known.Hash == r.body.Hash
	if want.Refusal != nil {
		if want.Refusal.Code != ledger.IdempotencyConflict || same {
			r.fatal(sent, "the ledger remembers key %q (same request: %v), the model says %v", sent.Key, same, want.Refusal)
		}
		r.seen.refused[refusal{modeltest.WholeTransaction, ledger.IdempotencyConflict}]++
		return
	}
	old, _ := r.model.Recall(sent.Key)
	got := modeltest.Remembered{Tx: old.Tx, Seq: known.Seq, BatchSeq: known.BatchSeq, FirstMinted: known.FirstMinted, Minted: known.Minted}
	if old.Class != 0 {
		// FirstMinted holds the class. In the ledger it is 0 if the class was
		// registered before anything had a name. Then the request says which class it is.
		if got.Class, got.FirstMinted = known.FirstMinted, 0; got.Class == 0 && old.Tx.Ops[0].Given(0) && old.Tx.Ops[0].Ref == 0 {
			got.Class = old.Class
		}
	}
	if d := difference(old, got); !want.Replayed || !same || d != "" || !remembers(known, old.Tx.Metadata) {
		r.fatal(sent, "key %q: model replays %v; ledger finds the same request %v, metadata %s (-model +ledger):\n%s", sent.Key, want.Replayed, same, known.Metadata, d)
	}
	r.seen.replayed++
}

// remembers reports whether the remembered metadata is the given one, either
// complete or as the hash of its spelling.
func remembers(known ledger.Remembered, metadata []byte) bool {
	if known.Long {
		return len(metadata) > ledger.MaxInlineMetadata && known.Spelling == ledger.SpellingOf(metadata)
	}
	return bytes.Equal(known.Metadata, metadata)
}

// committed encodes and decodes the record of an accepted request, and replays
// it on the twin.
func (r *trial) committed(sent *ledger.Transaction, batchSeq uint32) {
	r.t.Helper()
	for _, op := range sent.Ops {
		r.seen.accepted[op.Kind]++
	}
	if sent.Endpoint == ledger.EndpointReverse {
		for _, op := range r.model.OpsOf(sent.Reverses) {
			r.seen.takenBack[op.Kind]++
		}
	}
	r.seen.operations += len(r.body.Ops)

	b := ledger.AppendRecord(nil, &r.body, &r.out)
	if err := r.rec.Decode(b); err != nil {
		r.fatal(sent, "its record does not decode: %v", err)
	}
	if d := difference(ledger.Record{Tx: shown(r.body), Out: r.out}, ledger.Record{Tx: shown(r.rec.Tx), Out: r.rec.Out}); d != "" {
		r.fatal(sent, "record (-written +read):\n%s", d)
	}
	if err := r.twin.Replay(&r.rec, r.model.Now, batchSeq); err != nil {
		r.fatal(sent, "replay: %v", err)
	}
	r.state.Remember(&r.body, &r.out, r.state.Seq(), batchSeq)
	if r.state.Seq() != r.model.Seq() || r.twin.Seq() != r.model.Seq() {
		r.fatal(sent, "commit %d of the model is %d in the ledger and %d in its twin", r.model.Seq(), r.state.Seq(), r.twin.Seq())
	}
	if r.state.Digest() != r.twin.Digest() {
		r.fatal(sent, "digest %016x, after replay %016x", r.state.Digest(), r.twin.Digest())
	}
	r.records = append(r.records, b)
	r.digests = append(r.digests, r.state.Digest())
	r.check(sent)
}

func (r *trial) check(sent *ledger.Transaction) {
	r.t.Helper()
	if err := r.state.Invariants(); err != nil {
		r.fatal(sent, "invariants: %v", err)
	}
}

// restart continues the twin from its checkpoint. The checkpoint must equal
// that of the ledger that made the commits.
func (r *trial) restart() {
	r.t.Helper()
	place := ledger.CheckpointPlace{Time: r.model.Now}
	var first, second bytes.Buffer
	if err := errors.Join(r.state.WriteCheckpoint(&first, place), r.twin.WriteCheckpoint(&second, place)); err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		r.t.Fatalf("seed %d, after commit %d: the checkpoint after replay differs", r.seed, r.model.Seq())
	}
	loaded, _, err := ledger.ReadCheckpoint(&second, ledger.Config{IdempotencyKeys: rememberedKeys})
	if err != nil {
		r.t.Fatalf("seed %d, after commit %d: the checkpoint does not load: %v", r.seed, r.model.Seq(), err)
	}
	r.twin = loaded
}

// TestAgainstModel compares the ledger with a slow model over random requests,
// one by one.
func TestAgainstModel(t *testing.T) {
	operations, seeds := *operationsFlag, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if testing.Short() {
		operations /= 10
	}
	whole := !testing.Short() && (operations != allOperations || longtest.Form(t, "90 % of the random operations, and that every kind of rejection occurs"))
	if !testing.Short() && !whole {
		operations /= 10
	}
	if seed := ledger.Seed(); seed != 0 {
		seeds = []uint64{seed}
	}
	seen := make([]*coverage, len(seeds))
	t.Run("seeds", func(t *testing.T) {
		for i, seed := range seeds {
			seen[i] = newCoverage()
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				compareWorlds(t, seed, operations/len(seeds), seen[i])
			})
		}
	})
	all := newCoverage()
	for _, c := range seen {
		all.add(c)
	}
	t.Logf("%d requests, %d operations, %d answered from memory, %d holds expired; rejected in %d ways; reversed %v",
		all.requests, all.operations, all.replayed, all.expired, len(all.refused), all.takenBack)
	all.check(t, whole)
}

// compareWorlds compares the given number of operations.
func compareWorlds(t *testing.T, seed uint64, operations int, seen *coverage) {
	r := newTrial(t, seed, knobsFor(seed), seen)
	for n := 0; seen.operations < operations; n++ {
		r.step()
		if n%50 == 0 {
			r.queries()
			r.restart()
		}
		// Begin a new ledger now and then, because in an old one everything is
		// already registered.
		if n%2000 == 1999 {
			r = newTrial(t, seed+uint64(n)<<32, knobsFor(seed), seen)
		}
	}
	r.queries()
}

// check fails for everything that should occur in a run and never did, and for
// rejections that the model does not list.
func (c *coverage) check(t *testing.T, whole bool) {
	foreseen := map[refusal]bool{}
	for _, k := range append(modeltest.Kinds(), modeltest.WholeTransaction) {
		if k != modeltest.WholeTransaction && c.accepted[k] == 0 {
			t.Errorf("%v was never accepted", k)
		}
		final := false
		for _, code := range modeltest.Refusals(k) {
			foreseen[refusal{k, code}] = true
			final = final || code == ledger.NotReversible && !modeltest.MayChange(k)
			if c.refused[refusal{k, code}] == 0 && whole {
				t.Errorf("%v was never rejected with %s", k, code)
			}
		}
		if k != modeltest.WholeTransaction && !final && c.takenBack[k] == 0 && whole {
			t.Errorf("%v was never reversed", k)
		}
	}
	for how, n := range c.refused {
		if !foreseen[how] {
			t.Errorf("%v was rejected with %s %d times; modeltest.Refusals does not list that code", how.Kind, how.Code, n)
		}
	}
	if c.replayed == 0 || c.expired == 0 {
		t.Errorf("%d requests were answered from memory, %d holds expired; want both", c.replayed, c.expired)
	}
}

// knobsFor varies the worlds by the low half of the seed: crowded, roomy, tidy,
// wild, and with long transactions and large grids.
func knobsFor(seed uint64) modeltest.Knobs {
	k := modeltest.DefaultKnobs()
	k.Permits = 0.25
	switch uint32(seed) % 5 {
	case 1:
		k.MaxSide, k.MaxShape, k.MaxSlots, k.Containers, k.Keys = 40, 12, 70, 40, 8
	case 2:
		k.Wild, k.Refused = 0.02, 0.05
	case 3:
		k.Wild, k.Refused, k.Repeated = 0.4, 0.5, 0.3
	case 4:
		k.MaxOps, k.Refused, k.MaxSide, k.MaxShape, k.Bulky = 100, 0.05, 140, 70, 0.3
	}
	return k
}
