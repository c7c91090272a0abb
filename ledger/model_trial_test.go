package ledger_test

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"assetledger/ledger"
	"assetledger/ledger/modeltest"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A trial runs the ledger and the model side by side over random requests, with
// a second ledger, the twin, that gets only the records of the first.
type trial struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand // for spelling, preflights and queries, but not for the requests themselves
	model *modeltest.Model
	gen   *modeltest.Gen
	state *ledger.State
	twin  *ledger.State
	body  ledger.Transaction // the parsed request
	out   ledger.Outcome
	rec   ledger.Record
	seen  *coverage

	records [][]byte // records of all commits
	digests []uint64 // the digest after each commit
}

// coverage counts what has occurred in a run.
type coverage struct {
	requests, operations, replayed int
	accepted                       map[ledger.OpKind]int
	refused                        map[refusal]int
	takenBack                      map[ledger.OpKind]int
	expired                        int // expired holds
}

// A refusal is one way in which the ledger rejects an operation.
type refusal struct {
	Kind ledger.OpKind
	Code ledger.Code
}

func newCoverage() *coverage {
	return &coverage{accepted: map[ledger.OpKind]int{}, refused: map[refusal]int{}, takenBack: map[ledger.OpKind]int{}}
}

// add adds the counts of another run.
func (c *coverage) add(o *coverage) {
	c.requests, c.operations = c.requests+o.requests, c.operations+o.operations
	c.replayed, c.expired = c.replayed+o.replayed, c.expired+o.expired
	for kind, n := range o.accepted {
		c.accepted[kind] += n
	}
	for how, n := range o.refused {
		c.refused[how] += n
	}
	for kind, n := range o.takenBack {
		c.takenBack[kind] += n
	}
}

const rememberedKeys = 25 // idempotency keys; so few that some are forgotten and used again

func newTrial(t *testing.T, seed uint64, knobs modeltest.Knobs, seen *coverage) *trial {
	m := modeltest.New(rememberedKeys)
	return &trial{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 2)), model: m, gen: modeltest.NewGen(seed, m, knobs), seen: seen,
		state: ledger.NewState(ledger.Config{IdempotencyKeys: rememberedKeys}),
		twin:  ledger.NewState(ledger.Config{IdempotencyKeys: rememberedKeys})}
}

// difference returns "" for equal values; nil and empty slices are equal. Most
// values are equal, so it calls go-cmp, which is slow, only for the others.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return gocmp.Diff(want, got, cmpopts.IgnoreUnexported(ledger.Transaction{}), cmpopts.EquateEmpty())
}

// shown returns a transaction without the parser's memory.
func shown(tx ledger.Transaction) ledger.Transaction {
	return ledger.Transaction{Endpoint: tx.Endpoint, Ops: modeltest.Meant(tx.Ops), Key: tx.Key, Hash: tx.Hash, Metadata: tx.Metadata,
		Reverses: tx.Reverses, Principal: tx.Principal}
}

// fatal stops at the first difference, because all later ones would follow from
// it.
func (r *trial) fatal(tx *ledger.Transaction, format string, args ...any) {
	r.t.Helper()
	r.t.Logf("seed %d, after commit %d, request %s", r.seed, r.model.Seq(), modeltest.Body(tx, nil))
	r.t.Fatalf(format, args...)
}

// step sends one request to the ledger and the model.
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
		r.fatal(&sent, "the ledger does not remember key %q, but the model does", sent.Key)
	}
	err := r.state.Apply(&r.body, r.model.Now, &r.out)
	r.compare(&sent, want.Out, want.Refusal, err)
	if err != nil {
		if got := r.state.Digest(); got != before {
			r.fatal(&sent, "rejected, but the digest changed from %016x to %016x", before, got)
		}
		r.seen.refused[refusal{want.Refusal.Kind, err.Code}]++
		r.seen.operations += err.OpIndex + 1
		return
	}
	if d := difference(r.model.Ops(), modeltest.Meant(r.body.Ops)); d != "" {
		r.fatal(&sent, "operations as the log stores them (-model +ledger):\n%s", d)
	}
	if r.rng.IntN(8) == 0 {
		r.undoAndRepeat(&sent, before)
	}
	r.committed(&sent, batchSeq)
}

// passTime advances the clock. With a probability of one in four, it then makes the
// ledger and the model release holds that have expired.
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
		return // the holds are then released late
	}
	most := 1 + r.rng.IntN(5)
	want := r.model.Expired()
	want = want[:min(len(want), most)]
	got := r.state.Expire(r.model.Now, most, &r.body)
	if got != (len(want) > 0) {
		r.t.Fatalf("seed %d, after commit %d: holds expire in the ledger: %v, in the model: %v", r.seed, r.model.Seq(), got, want)
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

// parse spells the request in a random way and makes the ledger parse it.
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
		r.fatal(sent, "the parser rejects %s: %v", body, err)
	}
	r.body.SetSender(sent.Principal, sent.Permit())
	if d := difference(sent.Ops, r.body.Ops); d != "" || r.body.Endpoint != sent.Endpoint || r.body.Reverses != sent.Reverses ||
		!bytes.Equal(r.body.Key, sent.Key) || !bytes.Equal(r.body.Metadata, sent.Metadata) {
		r.fatal(sent, "parsed differently from what was sent: key %q, metadata %s\n%s", r.body.Key, r.body.Metadata, d)
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

// preflight applies and undoes the request, which must leave no trace.
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

// undoAndRepeat undoes the commit and applies it again.
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
		r.fatal(sent, "accepted, undone, and then rejected: %v", err)
	}
	if d := difference(first, r.out); d != "" || r.state.Digest() != after {
		r.fatal(sent, "applied again after undo, digest %016x then %016x, outcome (-first +again):\n%s", after, r.state.Digest(), d)
	}
}
