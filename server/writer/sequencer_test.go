package writer

import (
	"fmt"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/metrics"
	"assetledger/wal"
)

// A bench is a sequencer without running goroutines. The test takes every step
// itself, so that it can produce each interleaving.
type bench struct {
	*sequencer
	t   testing.TB
	log *ramLog
}

func newBench(t testing.TB, l *ramLog) *bench {
	state := ledger.NewState(ledger.Config{IdempotencyKeys: 100})
	s := newSequencer(state, l, 8, newMeters(new(metrics.Registry)), silent, func() { panic("exit") })
	return &bench{s, t, l}
}

// submit queues transactions as one request. Several transactions make a batch
// request.
func (b *bench) submit(txs ...string) (*request, *group) {
	b.t.Helper()
	r := &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, len(txs))}, bulk: len(txs) > 1}
	for i, body := range txs {
		if err := ledger.ParseTransaction([]byte(body), &r.Txs[i], ledger.ParseLimits{}); err != nil {
			b.t.Fatal(body, err)
		}
	}
	r.judged()
	g, err := b.intake.submit(r)
	if err != nil {
		b.t.Fatal(err)
	}
	return r, g
}

// step gives a group its turn, as run does.
func (b *bench) step() {
	b.turn(b.intake.take())
	b.poll()
	b.handOver()
}

// syncOne makes the batch in flight durable, and notifies the sequencer.
func (b *bench) syncOne() {
	b.t.Helper()
	batch := b.inFlight
	if <-b.sync.in != batch || batch == nil {
		b.t.Fatal("no batch in flight")
	}
	if err := b.sync.append(batch); err != nil {
		b.t.Fatal(err)
	}
	batch.settle(nil)
	b.sync.events <- syncEvent{}
	b.poll()
	b.handOver()
}

func isDone(g *group) bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (b *bench) wantDone(what string, g *group, want bool) {
	b.t.Helper()
	if isDone(g) != want {
		b.t.Fatalf("%s: done is %v, want %v", what, !want, want)
	}
}

// Whatever the response is, it is sent only after the batch that the request
// was judged against is durable.
func TestAnswersWaitForWhatTheyRestOn(t *testing.T) {
	const keyed = `,"idempotency_key":"k"`
	for _, c := range []struct {
		about     string
		tx        string
		preflight bool
		code      ledger.Code
		replayed  bool
	}{
		{about: "a rejection", tx: transferTx(999, ""), code: ledger.InsufficientBalance},
		{about: "a replay", tx: transferTx(5, keyed), replayed: true},
		{about: "a conflict", tx: transferTx(6, keyed), code: ledger.IdempotencyConflict},
		{about: "a preflight", tx: transferTx(7, ""), preflight: true},
		{about: "a rejected preflight", tx: transferTx(999, ""), preflight: true, code: ledger.InsufficientBalance},
	} {
		for _, filling := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, batch filling %v", c.about, filling), func(t *testing.T) {
				b := newBench(t, newRAMLog())
				_, first := b.submit(world)
				b.step()
				b.wantDone("a commit before its sync", first, false)
				if filling {
					b.submit(transferTx(5, keyed))
					b.step() // the world is in flight, and this batch fills
				} else {
					b.syncOne()
					b.wantDone("a commit after its sync", first, true)
					b.submit(transferTx(5, keyed))
					b.step() // now in flight
				}
				r, g := b.submit(c.tx)
				r.preflight = c.preflight
				b.step()
				b.wantDone("what depends on a batch that is not durable", g, false)
				if filling {
					b.syncOne()
					b.wantDone("after the sync of the batch before that", g, false)
				}
				b.syncOne()
				b.wantDone("after the sync", g, true)
				v := r.verdicts[0]
				if code(v.err) != c.code || v.replayed != c.replayed {
					t.Errorf("the verdict is %+v, want the code %q, replayed %v", v, c.code, c.replayed)
				}
				r, g = b.submit(c.tx)
				r.preflight = c.preflight
				b.step()
				b.wantDone("when everything is durable: at once", g, true)
			})
		}
	}
}

func code(err *ledger.Error) ledger.Code {
	if err == nil {
		return ""
	}
	return err.Code
}

// Small requests that arrive while the sequencer is busy share one group and one
// batch. A batch request has its own group, but not its own batch.
func TestGrouping(t *testing.T) {
	b := newBench(t, newRAMLog())
	_, g0 := b.submit(world)
	b.step()
	_, g1 := b.submit(transferTx(1, ""))
	_, g2 := b.submit(transferTx(1, ""))
	_, g3 := b.submit(transferTx(1, ""), transferTx(1, ""))
	r4, g4 := b.submit(transferTx(1, ""))
	if g0 == g1 || g1 != g2 || g2 == g3 || g4 != g1 {
		t.Fatal("wrong groups")
	}
	if got := b.intake.depth(); got != 4 {
		t.Errorf("%d requests wait, want 4", got)
	}
	for range 2 {
		b.step()
	}
	b.syncOne()
	b.syncOne()
	if !isDone(g3) || !isDone(g4) {
		t.Fatal("not done after two syncs")
	}
	if v := r4.verdicts[0]; v.seq != 6 || v.batchSeq != 5 {
		t.Errorf("verdict %+v, want commit 6, the fifth of its batch", v)
	}
	for i, f := range b.log.written() {
		if want := []uint32{1, 5}[i]; f.Count != want {
			t.Errorf("batch %d has %d commits, want %d", i, f.Count, want)
		}
	}
	if b.intake.depth() != 0 {
		t.Error("the queue is not empty")
	}
}

// A batch request that is too large for one batch of the log is spread over several.
// Each batch has the digest of the state at its end, and can be replayed.
func TestSpreadOverBatches(t *testing.T) {
	l := newRAMLog()
	l.maxBody = 400
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	txs := make([]string, 50)
	for i := range txs {
		txs[i] = transferTx(1, fmt.Sprintf(`,"idempotency_key":"key %d"`, i))
	}
	a := w.post(200, "/v1/commit/batch", batchOf("", txs...))
	if strings.Contains(a.body, "error") || a.header.Get(httpserver.HeaderSeq) != "51" {
		t.Fatalf("%v, want no error, up to commit 51", a)
	}
	w.stop()
	frames := l.written()
	if len(frames) < 5 {
		t.Errorf("%d batches, want at least 5", len(frames))
	}
	for _, f := range frames {
		if len(f.Body) > l.maxBody {
			t.Errorf("the batch of commit %d has %d bytes, want at most %d", f.First, len(f.Body), l.maxBody)
		}
	}
	again := startWriter(t, l) // fails if a digest differs
	b := again.post(200, "/v1/commit/batch", batchOf("", txs...))
	if want := strings.ReplaceAll(a.body, `"}}`, `"},"replayed":true}`); b.body != want {
		t.Errorf("replayed after a restart:\n%s\nwant\n%s", b.body, want)
	}
}

// A transaction that is too large for any batch is rejected, and changes
// nothing.
func TestTooLargeForTheLog(t *testing.T) {
	l := newRAMLog()
	l.maxBody = 400
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	large := transferTx(1, `,"idempotency_key":"large","metadata":{"text":"`+strings.Repeat("x", 400)+`"}`)
	for _, path := range []string{"/v1/commit", "/v1/commit/preflight", "/v1/commit"} {
		if a := w.post(413, path, large); a.code() != "PayloadTooLarge" {
			t.Errorf("%s: %v, want PayloadTooLarge", path, a)
		}
	}
	if a := w.post(422, "/v1/commit", transferTx(1001, "")); !strings.Contains(a.body, `"available":1000`) {
		t.Errorf("%s, want 1000 available", a.body)
	}
	if a := w.post(200, "/v1/commit", transferTx(1000, "")); a.header.Get(httpserver.HeaderSeq) != "2" {
		t.Errorf("%v, want commit 2", a)
	}
}

// While the log has no space for the batch in flight, nothing new is accepted, and
// waiting requests are told that their outcome is unknown. Once there is space again,
// everything continues and nothing is lost.
func TestNoSpaceForABatch(t *testing.T) {
	b := newBench(t, newRAMLog())
	_, g1 := b.submit(world)
	b.step()
	_, g2 := b.submit(transferTx(1, ""))
	b.step() // now filling
	b.log.set(fmt.Errorf("spare: %w", wal.ErrNoSpace), nil)
	batch := <-b.sync.in
	ended := make(chan error)
	b.sync.stall(batch, diskFull)
	go func() { ended <- b.sync.retry(batch) }()
	b.synced(<-b.sync.events)
	<-g1.done
	for _, g := range []*group{g1, g2} {
		if !isDone(g) || g.err != noSpaceUnknown {
			t.Errorf("a waiter was told: %v, want %v", g.err, noSpaceUnknown)
		}
	}
	r3, _ := b.submit(transferTx(1, ""))
	b.step()
	if r3.verdicts[0].err != noSpace {
		t.Errorf("a new request was told: %v, want %v", r3.verdicts[0].err, noSpace)
	}
	b.log.set(nil, nil)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	b.synced(syncEvent{})
	b.handOver()
	b.syncOne()
	r4, g4 := b.submit(transferTx(1, ""))
	b.step()
	b.syncOne()
	if !isDone(g4) || g4.err != nil || r4.verdicts[0].seq != 3 {
		t.Errorf("afterwards: error %v, verdict %+v; want commit 3", g4.err, r4.verdicts[0])
	}
}

// The times of batches never decrease, even across a restart. A batch has the time at
// which its first transaction was judged, unless the clock was set back.
func TestBatchesHaveTheTimeOfTheirFirstJudging(t *testing.T) {
	l := newRAMLog()
	l.lastTime = 5000
	b := newBench(t, l)
	now := int64(4000)
	b.now = func() int64 { return now }
	for i, step := range []struct{ now, want int64 }{{4000, 5000}, {6000, 6000}, {5500, 6000}, {6001, 6001}} {
		now = step.now
		b.submit(fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`, i+1))
		b.step()
		if got := b.inFlight.frame.Time; got != step.want {
			t.Errorf("batch %d has the time %d, want %d", i, got, step.want)
		}
		b.syncOne()
	}
}
