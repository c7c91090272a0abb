package writer

import (
	"errors"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
)

// Sizes that close a batch, in bytes of its body.
const (
	// batchBytes is the size of a full batch: a larger one costs latency and
	// gains nothing. A single record may be larger, up to the log's MaxBody.
	batchBytes = 1 << 20
	// eagerBytes is the size from which a batch is handed over in the middle of a
	// group when the syncer is idle: enough to be worth a sync.
	eagerBytes = 256 << 10
	// recordPrefix is the bytes that the log adds to each record.
	recordPrefix = 4
)

const (
	// turnTime is how long one group may keep the sequencer while others wait.
	// A turn is at least one transaction.
	turnTime = time.Millisecond
	// turnCheck is the number of operations between two checks of the clock.
	turnCheck = 32
)

// The sequencer owns the ledger's state. Its one goroutine takes requests in the
// order of their arrival, judges each against the state, and puts the records of
// accepted ones into the filling batch. While the syncer makes one batch
// durable, the next one fills. It is handed over as soon as the syncer is idle,
// so the sync is the clock, and there is no timer except the one for holds that
// expire.
//
//	intake → judge → filling batch → syncer → durable → group done
//
// Groups take turns, so that a large request does not hold up small ones. Its
// transactions are judged in order, and those of other requests in between.
//
// The state runs ahead of the log. So no response, not even a rejection, is sent
// before the batch that the request was judged against is durable.
type sequencer struct {
	state  *ledger.State
	log    commitlog.Writer
	intake *intake
	sync   *syncer
	meters *meters
	logger *slog.Logger

	filling  *batch
	inFlight *batch // nil: the syncer is idle
	spare    *batch // the other one, while the syncer is idle

	now func() int64 // the clock, in Unix nanoseconds
	at  int64        // time of the batch begun last; see stamp

	began int64       // when the turn began
	work  int         // operations since the last look at the clock
	check int         // turnCheck; a simulation looks more often
	hurry atomic.Bool // requests that are not judged yet are rejected

	keepExpired bool               // expired holds are not released
	expired     ledger.Transaction // reused for every commit that releases holds
	caughtUp    *group             // done when the holds that had expired before the start are released

	out     ledger.Outcome // reused for every transaction
	record  []byte         // reused for every record
	maxBody int
	stalled *stall        // the log does not accept the batch in flight now; nil: it does
	failed  *ledger.Error // the log failed: everything is over

	exit    func()        // ends the process as a failure
	stopped chan struct{} // closed when the goroutine has ended
}

// newSequencer returns a sequencer on a state that is at the end of the log. exit
// ends the process; a panic calls it.
func newSequencer(state *ledger.State, l commitlog.Writer, queue int, meters *meters, logger *slog.Logger, exit func()) *sequencer {
	s := &sequencer{
		state: state, log: l, intake: newIntake(queue), meters: meters, logger: logger, maxBody: l.MaxBody(),
		now: func() int64 { return time.Now().UnixNano() }, at: l.LastTime(),
		filling: new(batch), spare: new(batch), check: turnCheck, exit: exit, stopped: make(chan struct{}),
		caughtUp: &group{done: make(chan struct{})},
	}
	s.sync = newSyncer(l, state.Seq(), meters)
	return s
}

// start runs the two goroutines.
func (s *sequencer) start() {
	go func() {
		defer s.crash("syncer")
		s.sync.run()
	}()
	go func() {
		defer s.crash("sequencer")
		s.run()
	}()
}

// crash ends the process after a panic: the state may be half changed, and no
// response may be based on it.
func (s *sequencer) crash(who string) {
	if p := recover(); p != nil {
		s.logger.Error("panic: a defect in the ledger, please report it; the daemon ends, and what is durable is safe",
			"in", who, "panic", p, "stack", string(debug.Stack()))
		s.exit()
	}
}

// stop rejects new requests and those that are not judged yet, has the last
// batch made durable, and returns when that is done.
func (s *sequencer) stop() {
	s.intake.refuse(shuttingDown)
	s.hurry.Store(true)
	<-s.stopped
	<-s.sync.ended
}

func (s *sequencer) run() {
	defer close(s.stopped)
	defer close(s.sync.in)
	s.expireFirst()
	timer := time.NewTimer(0)
	for {
		var due <-chan time.Time
		if wait := s.expire(); wait >= 0 {
			timer.Reset(wait)
			due = timer.C
		}
		g := s.intake.take()
		switch {
		case g != nil:
			s.turn(g)
			s.poll()
			s.handOver()
		case s.finished():
			return
		default:
			select {
			case <-s.intake.wake:
			case <-due:
			case e := <-s.sync.events:
				s.synced(e)
				s.handOver()
			}
		}
	}
}

// finished reports whether no request can arrive any more and all work is done.
// It does not wait for a stalled log, whose waiters have been answered.
func (s *sequencer) finished() bool {
	if s.intake.refusing() == nil || !s.intake.empty() {
		return false
	}
	if s.stalled != nil {
		s.logger.Warn("the last batch is not written, since there is no space or the log can't be reached; those who sent it were told that its outcome is unknown",
			"first_seq", s.inFlight.frame.First)
		s.sync.giveUp()
		return true
	}
	return s.failed != nil || s.inFlight == nil && s.filling.empty()
}

// turn judges requests of g until all are judged or others want their turn, and
// makes sure that they are woken.
//
// A group waits for the batch that is filling when its last request is judged.
// Batches become durable in order, so the batches of its earlier turns are
// durable by then.
func (s *sequencer) turn(g *group) {
	s.began, s.work = s.now(), 0
	for fresh := true; g.judged < len(g.requests) && s.failed == nil; fresh = false {
		if g.lane == nil && g.judged%commitlog.PrefetchAhead == 0 {
			s.prefetch(g.requests[g.judged:])
		}
		if !fresh && s.work >= s.check && s.yields() || !s.judge(g.requests[g.judged]) {
			s.intake.release(g, false)
			return
		}
		g.judged++
	}
	s.intake.release(g, true)
	s.await(g)
}

// prefetch loads the memory that the first of several small requests need, all
// at once.
func (s *sequencer) prefetch(requests []*request) {
	for _, r := range requests[:min(commitlog.PrefetchAhead, len(requests))] {
		s.state.Expect(&r.Txs[0])
	}
	s.state.Prefetch()
}

// await makes g done when everything judged so far is durable, or when that is
// known to be impossible.
func (s *sequencer) await(g *group) {
	switch {
	case s.failed != nil:
		g.finish(s.failed)
	case !s.filling.empty():
		s.filling.attach(g)
	case s.inFlight != nil:
		s.inFlight.attach(g)
	default:
		g.finish(s.confirm())
	}
}

// confirm asks the log whether this daemon is still the writer, before a group
// is answered that appends nothing: no append would tell.
func (s *sequencer) confirm() *ledger.Error {
	switch err := s.log.Confirm(); {
	case err == nil:
		return nil
	case errors.Is(err, commitlog.ErrUnreachable):
		return unreachableUnknown
	default:
		return s.logEnded(err)
	}
}

// logEnded records that the log can't be written any more.
func (s *sequencer) logEnded(err error) *ledger.Error {
	s.sync.fail(err)
	s.synced(syncEvent{failed: logFailed(err)})
	return s.failed
}

// yields reports whether the turn is over and others wait for theirs. If the
// clock jumps, the turn is over.
func (s *sequencer) yields() bool {
	s.work = 0
	now := s.now()
	if d := now - s.began; d >= 0 && d < int64(turnTime) {
		return false
	}
	s.began = now
	return !s.intake.empty()
}

// operationCost returns the number of operations. A consolidation, whose work
// does not show in its size, counts as heavy.
func operationCost(ops []ledger.Op, heavy int) int {
	cost := len(ops)
	for i := range ops {
		if ops[i].Kind == ledger.ConsolidateStacks {
			return cost + heavy
		}
	}
	return cost
}

var (
	notAttempted = ledger.Errorf(ledger.NotAttempted, "Not tried, since an earlier transaction of this request failed and on_error is stop.")
	abandoned    = ledger.Errorf(ledger.Overloaded, "Not tried, since the time for the response had run out.")
)

// judge judges the transactions of r from r.next on. It returns false when the
// turn is over before the last one.
func (s *sequencer) judge(r *request) bool {
	refusal := s.unwanted(r)
	if r.preflight {
		v := &r.verdicts[0]
		r.atSeq = s.state.Seq()
		if v.err = refusal; refusal == nil {
			v.err = s.preflight(r, &r.Txs[0], v)
			s.work += operationCost(r.Txs[0].Ops, s.check)
		}
		return true
	}
	for start := r.next; r.next < len(r.Txs); r.next++ {
		i := r.next
		if i > start && s.work >= s.check {
			if s.yields() {
				return false
			}
			refusal = s.unwanted(r)
		}
		if r.bulk && i%commitlog.PrefetchAhead == 0 {
			for j := range r.Txs[i:min(i+commitlog.PrefetchAhead, len(r.Txs))] {
				s.state.Expect(&r.Txs[i+j])
			}
			s.state.Prefetch()
		}
		v := &r.verdicts[i]
		switch {
		case r.halted():
			v.err = notAttempted
		case i < len(r.Errs) && r.Errs[i] != nil:
			v.err = r.Errs[i]
		case refusal != nil:
			v.err = refusal
		default:
			v.err = s.commit(r, &r.Txs[i], v)
			s.work += operationCost(r.Txs[i].Ops, s.check)
		}
		if v.err != nil && r.StopOnError {
			r.lane.failed = true
		}
	}
	return true
}

// unwanted returns why the rest of r is not to be judged, nil if it is.
func (s *sequencer) unwanted(r *request) *ledger.Error {
	switch {
	case s.hurry.Load():
		return shuttingDown
	case r.alive != nil && !r.alive():
		return abandoned
	}
	return nil
}

// commit judges one transaction and puts it into the filling batch.
func (s *sequencer) commit(r *request, tx *ledger.Transaction, v *verdict) *ledger.Error {
	if known, err := s.recall(r, tx, v); known || err != nil {
		return err
	}
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.state.Apply(tx, s.stamp(), &s.out); err != nil {
		return err
	}
	s.record = ledger.AppendRecord(s.record[:0], tx, &s.out)
	if err := s.fit(recordPrefix + len(s.record)); err != nil {
		s.state.Undo()
		return err
	}
	v.seq, v.firstMinted, v.minted = s.state.Seq(), s.out.FirstMinted, s.out.Minted
	v.batchSeq = s.filling.add(v.seq, s.at, s.record, tx.Ops, s.state.Digest())
	s.state.Remember(tx, &s.out, v.seq, v.batchSeq)
	return nil
}

// stamp returns the time of the filling batch, at which its transactions are
// judged. It never decreases. A batch gets its time when its first transaction
// is judged, and keeps it when fit puts that transaction into a later one.
func (s *sequencer) stamp() int64 {
	if s.filling.empty() {
		s.at = max(s.now(), s.at)
	}
	return s.at
}

// preflight judges a transaction as commit does, and undoes it.
func (s *sequencer) preflight(r *request, tx *ledger.Transaction, v *verdict) *ledger.Error {
	if known, err := s.recall(r, tx, v); known || err != nil {
		return err
	}
	if err := s.state.Apply(tx, s.stamp(), &s.out); err != nil {
		return err
	}
	s.record = ledger.AppendRecord(s.record[:0], tx, &s.out)
	s.state.Undo()
	v.firstMinted, v.minted = s.out.FirstMinted, s.out.Minted
	return s.fits(recordPrefix + len(s.record))
}

// recall answers a transaction whose key is remembered: with the first result
// if it is the same transaction, otherwise with an error.
func (s *sequencer) recall(r *request, tx *ledger.Transaction, v *verdict) (known bool, err *ledger.Error) {
	if len(tx.Key) == 0 {
		return false, nil
	}
	first, known := s.state.Recall(tx.Key)
	if !known {
		return false, nil
	}
	if first.Endpoint != tx.Endpoint || first.Hash != tx.Hash {
		if tx.Permit().Limited() { // it may be the request of another client, which this one must not learn about
			return true, ledger.Errorf(ledger.IdempotencyConflict,
				"The idempotency key was used by another request: use a new key for a new request.").
				With(ledger.Text("idempotency_key", string(tx.Key)))
		}
		return true, ledger.Errorf(ledger.IdempotencyConflict,
			"The idempotency key was used by another request, which is commit %d: use a new key for a new request.", first.Seq).
			With(ledger.Text("idempotency_key", string(tx.Key)), ledger.Num("global_seq", int64(first.Seq)))
	}
	if first.Long {
		v.long, v.spelling = true, first.Spelling // readBack completes it, not in this goroutine
	} else {
		tx.Metadata = r.keep(first.Metadata) // spelled as in the first request
	}
	v.seq, v.batchSeq, v.firstMinted, v.minted, v.replayed = first.Seq, first.BatchSeq, first.FirstMinted, first.Minted, true
	return true, nil
}

// writable returns why no transaction may be accepted now, nil if it may.
func (s *sequencer) writable() *ledger.Error {
	if s.stalled != nil {
		return s.stalled.now
	}
	if !s.filling.empty() {
		return nil // checked when it was begun
	}
	err := s.log.Room()
	if err == nil {
		return nil
	}
	if why := stallOf(err); why != nil {
		return why.now
	}
	return s.logEnded(err)
}

// fits returns an error for a record that no batch can hold.
func (s *sequencer) fits(size int) *ledger.Error {
	if size <= s.maxBody {
		return nil
	}
	return ledger.Errorf(ledger.PayloadTooLarge, "The transaction takes %d bytes in the log, and %d is the most that one may take: split it.",
		size-recordPrefix, s.maxBody-recordPrefix).
		With(ledger.Num("record_bytes", int64(size-recordPrefix)), ledger.Num("limit_bytes", int64(s.maxBody-recordPrefix)))
}

// fit makes room in the filling batch for size bytes, by handing it over; if
// necessary it waits for the syncer. The batch that is handed over lacks the
// last change of the state. That is right, because its digest lacks it too.
func (s *sequencer) fit(size int) *ledger.Error {
	if err := s.fits(size); err != nil {
		return err
	}
	have := len(s.filling.frame.Body)
	if have >= eagerBytes {
		s.poll()
		s.handOver()
	}
	for !s.filling.empty() && have+size > min(batchBytes, s.maxBody) {
		switch {
		case s.failed != nil:
			return s.failed
		case s.stalled != nil:
			return s.stalled.now
		case s.inFlight == nil:
			s.handOver()
		default:
			s.synced(s.sync.await())
		}
	}
	if have > 0 {
		return s.writable()
	}
	return nil
}

// poll takes an event of the syncer, without waiting.
func (s *sequencer) poll() {
	select {
	case e := <-s.sync.events:
		s.synced(e)
	default:
	}
}

// handOver hands the filling batch to the syncer, if the syncer is idle.
func (s *sequencer) handOver() {
	if s.filling.empty() || s.inFlight != nil || s.failed != nil {
		return
	}
	s.inFlight, s.filling, s.spare = s.filling, s.spare, nil
	s.sync.in <- s.inFlight
}

// synced processes an event of the syncer about the batch in flight.
func (s *sequencer) synced(e syncEvent) {
	switch {
	case e.failed != nil:
		s.failed = e.failed
		s.filling.settle(e.failed)
		s.intake.refuse(e.failed)
	case e.stalled != nil:
		s.stalled = e.stalled
		s.filling.settle(e.stalled.unknown)
	default:
		if s.stalled != nil {
			s.filling.reopen()
		}
		s.stalled = nil
		s.spare, s.inFlight = s.inFlight, nil
		s.spare.reset()
	}
}
