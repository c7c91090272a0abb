package ledger_test

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var operationsFlag = flag.Int("operations", 100_000, "how many random operations to compare with the model")

// A trial runs the ledger and the model side by side over random requests,
// with a second ledger that sees nothing but the records of the first.
type trial struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand // spelling, preflights and queries; not what the requests are
	model *modeltest.Model
	gen   *modeltest.Gen
	state *ledger.State
	twin  *ledger.State
	body  ledger.Transaction // what was parsed
	out   ledger.Outcome
	rec   ledger.Record
	seen  *coverage

	records [][]byte // of all commits
	digests []uint64 // after each of them
}

// coverage counts what a run has met.
type coverage struct {
	requests, operations, replayed int
	accepted                       map[ledger.OpKind]int
	refused                        map[refusal]int
	takenBack                      map[ledger.OpKind]int
	expired                        int // holds
}

// refusal is one way in which the ledger refuses an operation.
type refusal struct {
	Kind ledger.OpKind
	Code ledger.Code
}

func newCoverage() *coverage {
	return &coverage{accepted: map[ledger.OpKind]int{}, refused: map[refusal]int{}, takenBack: map[ledger.OpKind]int{}}
}

const rememberedKeys = 25 // so few that keys are forgotten and come again

func newTrial(t *testing.T, seed uint64, knobs modeltest.Knobs, seen *coverage) *trial {
	m := modeltest.New(rememberedKeys)
	return &trial{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), model: m, gen: modeltest.NewGen(seed, m, knobs), seen: seen,
		state: ledger.NewState(ledger.Config{IdempotencyKeys: rememberedKeys}),
		twin:  ledger.NewState(ledger.Config{IdempotencyKeys: rememberedKeys})}
}

// difference is empty for equal values; nil and empty slices are equal. Most
// values are, so go-cmp, which is slow, is asked for the others only.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return gocmp.Diff(want, got, cmpopts.IgnoreUnexported(ledger.Transaction{}), cmpopts.EquateEmpty())
}

// shown is a transaction without the parser's memory.
func shown(tx ledger.Transaction) ledger.Transaction {
	return ledger.Transaction{Endpoint: tx.Endpoint, Ops: modeltest.Meant(tx.Ops), Key: tx.Key, Hash: tx.Hash, Metadata: tx.Metadata,
		Reverses: tx.Reverses, Principal: tx.Principal}
}

// fatal stops at the first difference; all after it would follow from it.
func (r *trial) fatal(tx *ledger.Transaction, format string, args ...any) {
	r.t.Helper()
	r.t.Logf("seed %d, after commit %d, request %s", r.seed, r.model.Seq(), modeltest.Body(tx, nil))
	r.t.Fatalf(format, args...)
}

// step sends one request to both.
func (r *trial) step() {
	r.t.Helper()
	r.passTime()
	sent := r.gen.Next()
	r.parse(&sent)
	r.seen.requests++
	batchSeq := 1 + r.rng.Uint32N(9)
	if r.rng.IntN(4) == 0 {
		r.preflight(&sent)
		r.parse(&sent) // judging has decided when its holds expire
	}
	if known, ok := r.state.Recall(r.body.Key); len(sent.Key) > 0 && ok {
		r.recalled(&sent, known, r.model.Submit(&sent, batchSeq))
		return
	}
	before := r.state.Digest()
	want := r.model.Submit(&sent, batchSeq)
	if want.Replayed || want.Refusal != nil && want.Refusal.Code == ledger.IdempotencyConflict {
		r.fatal(&sent, "the ledger does not remember key %q, the model does", sent.Key)
	}
	err := r.state.Apply(&r.body, r.model.Now, &r.out)
	r.compare(&sent, want.Out, want.Refusal, err)
	if err != nil {
		if got := r.state.Digest(); got != before {
			r.fatal(&sent, "refused, but the digest went from %016x to %016x", before, got)
		}
		r.seen.refused[refusal{want.Refusal.Kind, err.Code}]++
		r.seen.operations += err.OpIndex + 1
		return
	}
	if d := difference(r.model.Ops(), modeltest.Meant(r.body.Ops)); d != "" {
		r.fatal(&sent, "operations as the log holds them (-model +ledger):\n%s", d)
	}
	if r.rng.IntN(8) == 0 {
		r.undoAndRepeat(&sent, before)
	}
	r.committed(&sent, batchSeq)
}

// passTime moves the clock, and lets both release the holds that have expired.
func (r *trial) passTime() {
	r.t.Helper()
	switch r.rng.IntN(30) {
	case 0:
		r.model.Now += r.rng.Int64N(20e9)
	case 1:
		r.model.Now += 1e9 - r.model.Now%1e9 // to a whole second
	default:
		r.model.Now += r.rng.Int64N(3e8)
	}
	if next, ok := r.state.NextExpiry(); next != r.model.NextExpiry() || ok != (next != 0) {
		r.t.Fatalf("seed %d, after commit %d: the next hold expires at %d in the ledger (%v), at %d in the model", r.seed, r.model.Seq(), next, ok, r.model.NextExpiry())
	}
	if r.rng.IntN(4) > 0 {
		return // then it comes late
	}
	most := 1 + r.rng.IntN(5)
	want := r.model.Expired()
	want = want[:min(len(want), most)]
	got := r.state.Expire(r.model.Now, most, &r.body)
	if got != (len(want) > 0) {
		r.t.Fatalf("seed %d, after commit %d: the ledger lets holds expire: %v, the model %v", r.seed, r.model.Seq(), got, want)
	}
	if !got {
		return
	}
	var released []int64
	for _, op := range r.body.Ops {
		released = append(released, op.Args[ledger.HoldID])
	}
	r.same("holds that expire", want, released)
	sent := ledger.Transaction{Ops: slices.Clone(r.body.Ops)}
	sent.SetSender([]byte(ledger.PrincipalLedger), nil)
	answer := r.model.Submit(&sent, 1)
	r.compare(&sent, answer.Out, answer.Refusal, r.state.Apply(&r.body, r.model.Now, &r.out))
	r.committed(&sent, 1)
	r.seen.expired += len(want)
}

// parse spells the request in a random way and has the ledger read it.
func (r *trial) parse(sent *ledger.Transaction) {
	r.t.Helper()
	body := modeltest.Body(sent, r.rng)
	var err *ledger.Error
	switch sent.Endpoint {
	case ledger.EndpointCommit:
		err = ledger.ParseTransaction(body, &r.body, ledger.ParseLimits{})
	case ledger.EndpointReverse:
		err = ledger.ParseReversal(body, sent.Reverses, &r.body, ledger.ParseLimits{})
	default:
		err = ledger.ParseRegistration(body, sent.Endpoint, &r.body, ledger.ParseLimits{})
	}
	if err != nil {
		r.fatal(sent, "the parser refuses %s: %v", body, err)
	}
	r.body.SetSender(sent.Principal, sent.Permit())
	if d := difference(sent.Ops, r.body.Ops); d != "" || r.body.Endpoint != sent.Endpoint || r.body.Reverses != sent.Reverses ||
		!bytes.Equal(r.body.Key, sent.Key) || !bytes.Equal(r.body.Metadata, sent.Metadata) {
		r.fatal(sent, "parsed otherwise than sent: key %q, metadata %s\n%s", r.body.Key, r.body.Metadata, d)
	}
	if sent.Endpoint == ledger.EndpointReverse {
		var rec ledger.Record
		if err := rec.Decode(r.records[sent.Reverses-1]); err != nil {
			r.fatal(sent, "the record of commit %d does not decode: %v", sent.Reverses, err)
		}
		r.body.Invert(&rec, sent.Reverses)
	}
	if sent.Permit() != nil {
		r.body.ForbidReverses()
	}
}

// preflight applies and takes back, which must leave no trace.
func (r *trial) preflight(sent *ledger.Transaction) {
	r.t.Helper()
	before, seq := r.state.Digest(), r.state.Seq()
	want, refusal := r.model.Preflight(sent)
	err := r.state.Apply(&r.body, r.model.Now, &r.out)
	r.compare(sent, want, refusal, err)
	if err == nil {
		r.state.Undo()
	}
	if r.state.Digest() != before || r.state.Seq() != seq {
		r.fatal(sent, "a preflight changed the ledger")
	}
}

// undoAndRepeat takes the commit back and does it again.
func (r *trial) undoAndRepeat(sent *ledger.Transaction, before uint64) {
	r.t.Helper()
	after := r.state.Digest()
	first := r.out
	first.Decisions = append([]ledger.Decision(nil), r.out.Decisions...)
	first.Facts = append([]ledger.Fact(nil), r.out.Facts...)
	r.state.Undo()
	if got := r.state.Digest(); got != before {
		r.fatal(sent, "after undo the digest is %016x, before it was %016x", got, before)
	}
	r.check(sent)
	if err := r.state.Apply(&r.body, r.model.Now, &r.out); err != nil {
		r.fatal(sent, "accepted, undone, and then refused: %v", err)
	}
	if d := difference(first, r.out); d != "" || r.state.Digest() != after {
		r.fatal(sent, "done again after undo, digest %016x then %016x, outcome (-first +again):\n%s", after, r.state.Digest(), d)
	}
}

// compare holds the answer of the ledger against the model's.
func (r *trial) compare(sent *ledger.Transaction, want ledger.Outcome, refusal *modeltest.Refusal, err *ledger.Error) {
	r.t.Helper()
	switch {
	case refusal == nil && err != nil:
		r.fatal(sent, "the ledger refuses (%v), the model accepts", err)
	case refusal != nil && err == nil:
		r.fatal(sent, "the ledger accepts, the model refuses (%v)", refusal)
	case refusal != nil:
		if err.Code != refusal.Code || err.OpIndex != refusal.Op {
			r.fatal(sent, "the ledger says %v, the model %v", err, refusal)
		}
		r.details(sent, refusal, err)
		return
	}
	want.Facts = r.out.Facts // the model does not know where things stood
	if d := difference(want, r.out); d != "" {
		r.fatal(sent, "outcome (-model +ledger):\n%s", d)
	}
}

// details looks in the error for all that the model says must be there.
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

// recalled compares what the ledger remembers of a key, and whether it takes
// the request for the same.
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
		// 0 if it was registered when nothing had a name: the request says which class it is.
		if got.Class, got.FirstMinted = known.FirstMinted, 0; got.Class == 0 && old.Tx.Ops[0].Given(0) && old.Tx.Ops[0].Ref == 0 {
			got.Class = old.Class
		}
	}
	if d := difference(old, got); !want.Replayed || !same || d != "" || !remembers(known, old.Tx.Metadata) {
		r.fatal(sent, "key %q: model replays %v; ledger finds the same request %v, metadata %s (-model +ledger):\n%s", sent.Key, want.Replayed, same, known.Metadata, d)
	}
	r.seen.replayed++
}

// remembers reports whether the metadata is what was remembered: whole, or its spelling.
func remembers(known ledger.Remembered, metadata []byte) bool {
	if known.Long {
		return len(metadata) > ledger.MaxInlineMetadata && known.Spelling == ledger.SpellingOf(metadata)
	}
	return bytes.Equal(known.Metadata, metadata)
}

// committed sends the record of an accepted request through its codec to the twin.
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
		r.fatal(sent, "own record does not decode: %v", err)
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

// restart lets the twin go on from its checkpoint, which must be that of the
// ledger that made the commits.
func (r *trial) restart() {
	r.t.Helper()
	place := ledger.CheckpointPlace{Time: r.model.Now}
	var first, second bytes.Buffer
	if err := errors.Join(r.state.WriteCheckpoint(&first, place), r.twin.WriteCheckpoint(&second, place)); err != nil {
		r.t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		r.t.Fatalf("seed %d, after commit %d: the checkpoint after replay is another one", r.seed, r.model.Seq())
	}
	loaded, _, err := ledger.ReadCheckpoint(&second, ledger.Config{IdempotencyKeys: rememberedKeys})
	if err != nil {
		r.t.Fatalf("seed %d, after commit %d: the checkpoint does not load: %v", r.seed, r.model.Seq(), err)
	}
	r.twin = loaded
}

// TestAgainstModel compares the ledger with a slow model of it over random
// requests, one by one.
func TestAgainstModel(t *testing.T) {
	operations, seeds := *operationsFlag, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if testing.Short() {
		operations /= 10
	}
	if seed := ledger.Seed(); seed != 0 {
		seeds = []uint64{seed}
	}
	seen := newCoverage()
	for i, seed := range seeds {
		r := newTrial(t, seed, knobsFor(seed), seen)
		for n := 0; seen.operations < operations*(i+1)/len(seeds); n++ {
			r.step()
			if n%50 == 0 {
				r.queries()
				r.restart()
			}
			// Now and then a new ledger: in an old one everything is registered.
			if n%2000 == 1999 {
				r = newTrial(t, seed+uint64(n)<<32, knobsFor(seed), seen)
			}
		}
		r.queries()
	}
	t.Logf("%d requests, %d operations, %d answered from memory, %d holds expired; refused in %d ways; taken back %v",
		seen.requests, seen.operations, seen.replayed, seen.expired, len(seen.refused), seen.takenBack)
	seen.check(t)
}

// check fails for what a run never met, and for refusals that nobody foresaw.
func (c *coverage) check(t *testing.T) {
	foreseen := map[refusal]bool{}
	for _, k := range append(modeltest.Kinds(), modeltest.WholeTransaction) {
		if k != modeltest.WholeTransaction && c.accepted[k] == 0 {
			t.Errorf("%v was never accepted", k)
		}
		final := false
		for _, code := range modeltest.Refusals(k) {
			foreseen[refusal{k, code}] = true
			final = final || code == ledger.NotReversible && !modeltest.MayChange(k)
			if c.refused[refusal{k, code}] == 0 && !testing.Short() {
				t.Errorf("%v was never refused with %s", k, code)
			}
		}
		if k != modeltest.WholeTransaction && !final && c.takenBack[k] == 0 && !testing.Short() {
			t.Errorf("%v was never taken back", k)
		}
	}
	for how, n := range c.refused {
		if !foreseen[how] {
			t.Errorf("%v was refused with %s %d times, which the interface does not foresee", how.Kind, how.Code, n)
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
