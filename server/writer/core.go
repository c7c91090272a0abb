package writer

import (
	"log/slog"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/metrics"
	"assetledger/wal"
)

// A Core is the write daemon without HTTP or goroutines. Its caller performs every
// step of the sequencer and of the syncer, in any order, so that a run can be
// repeated. The simulation uses it.
type Core struct {
	seq     *sequencer
	durable func(*wal.Frame)
	full    bool // the log rejects the batch at present
}

// NewCore returns a core. The state must include every commit of the log. The parameter
// queue is the maximum number of waiting requests. The clock is the function now, in
// Unix nanoseconds. The function durable is called with each batch that becomes durable;
// the frame is valid only during the call.
func NewCore(l commitlog.Writer, state *ledger.State, queue int, now func() int64, durable func(*wal.Frame)) *Core {
	log := slog.New(slog.DiscardHandler)
	c := &Core{
		seq:     newSequencer(state, l, queue, newMeters(new(metrics.Registry)), log, func() { panic("a core has no goroutine that could call exit") }),
		durable: durable,
	}
	c.seq.now, c.seq.check = now, 1 // a turn may end after any transaction
	c.seq.sync.await = func() syncEvent {
		c.append()
		return <-c.seq.sync.events
	}
	return c
}

// A Submission is a transaction in progress in a core.
type Submission struct {
	r *request
	i int // index of the transaction in r
	g *group
}

// A CoreStream is a stream of commits to a core, without its connection.
type CoreStream struct {
	lane        lane
	stopOnError bool
}

// NewCoreStream returns a stream with on_error stop or continue.
func NewCoreStream(stopOnError bool) *CoreStream {
	return &CoreStream{lane: lane{stream: true}, stopOnError: stopOnError}
}

// SubmitBlock queues lines of a stream, and returns a submission for each line. The
// lines are judged after all earlier lines of the stream. The caller must not use the
// slice afterwards. If SubmitBlock returns an error, nothing was queued.
func (c *Core) SubmitBlock(s *CoreStream, lines []ledger.Transaction) ([]*Submission, *ledger.Error) {
	r := &request{bulk: true, lane: &s.lane, BatchRequest: ledger.BatchRequest{Txs: lines, StopOnError: s.stopOnError}}
	r.judged()
	g, err := c.seq.intake.submit(r)
	if err != nil {
		return nil, err
	}
	all := make([]*Submission, len(lines))
	for i := range all {
		all[i] = &Submission{r, i, g}
	}
	return all, nil
}

// Submit queues a transaction, which the caller must not use afterwards. If it
// returns an error, nothing was queued.
func (c *Core) Submit(tx *ledger.Transaction) (*Submission, *ledger.Error) {
	r := &request{BatchRequest: ledger.BatchRequest{Txs: []ledger.Transaction{*tx}}}
	r.judged()
	g, err := c.seq.intake.submit(r)
	if err != nil {
		return nil, err
	}
	return &Submission{r, 0, g}, nil
}

// A Result is the outcome of a submission.
type Result struct {
	Seq         uint64
	BatchSeq    uint32
	FirstMinted int64
	Minted      int
	Refusal     *ledger.Error // error if the transaction was rejected
	Unknown     bool          // the log failed or stalled; no other field is set
	Replayed    bool          // an earlier request with the same idempotency key made the commit
}

// Result returns the outcome of the transaction. The result done is false until the
// outcome may be sent to the client.
func (s *Submission) Result() (result Result, done bool) {
	select {
	case <-s.g.done:
	default:
		return Result{}, false
	}
	if s.g.err != nil {
		return Result{Unknown: true}, true
	}
	v := &s.r.verdicts[s.i]
	return Result{v.seq, v.batchSeq, v.firstMinted, v.minted, v.err, false, v.replayed}, true
}

// Judge releases expired holds, in one commit, and gives the next group a turn.
func (c *Core) Judge() {
	c.seq.expire()
	if g := c.seq.intake.take(); g != nil {
		c.seq.turn(g)
	}
	c.events()
}

// Sync makes the batch in flight durable, if there is one and the log accepts it.
func (c *Core) Sync() {
	c.append()
	c.events()
}

// InFlight reports whether a batch waits for Sync.
func (c *Core) InFlight() bool { return c.seq.inFlight != nil }

// Durable returns the last durable commit.
func (c *Core) Durable() uint64 { return c.seq.sync.end.Load() }

// Fail ends the core as an error of the log does.
func (c *Core) Fail(err error) {
	c.seq.synced(syncEvent{failed: logFailed(err)})
	c.events()
}

// Failed reports whether the log has failed. If it has, all submissions have a result.
func (c *Core) Failed() bool { return c.seq.failed != nil }

// Stop rejects new transactions. It returns true if all accepted ones have a result, or
// if the log currently rejects the batch in flight. Otherwise, continue with Judge and
// Sync.
func (c *Core) Stop() (done bool) {
	c.seq.intake.refuse(shuttingDown)
	return c.seq.finished() || c.full
}

// append does the work of the syncer's goroutine.
func (c *Core) append() {
	q := c.seq
	if q.inFlight == nil || len(q.sync.events) > 0 {
		return
	}
	b := q.inFlight
	select {
	case <-q.sync.in:
	default: // an earlier call received the batch, and the log rejected it for the time being
	}
	err := q.sync.append(b)
	if why := stallOf(err); why != nil {
		if !c.full {
			q.sync.stall(b, why)
		}
		c.full = true
		return
	}
	c.full = false
	q.sync.conclude(b, err)
	if err == nil {
		c.durable(&b.frame)
	}
}

// events does the sequencer's work between two turns.
func (c *Core) events() {
	c.seq.poll()
	c.seq.poll()
	c.seq.handOver()
	if !c.Failed() {
		return
	}
	for g := c.seq.intake.take(); g != nil; g = c.seq.intake.take() {
		c.seq.turn(g)
	}
}
