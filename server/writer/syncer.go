package writer

import (
	"errors"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// The syncer makes batches durable, one at a time, in its own goroutine, and
// wakes the groups that wait for them.
type syncer struct {
	log    commitlog.Writer
	meters *meters
	in     chan *batch      // one batch at a time
	events chan syncEvent   // outcomes; sending never blocks the syncer
	await  func() syncEvent // receives an event; a simulation does the syncer's work here
	end    atomic.Uint64    // last durable commit
	took   time.Duration    // time that the log took for the last batch
	// failed delivers the log's error when the log can no longer be written.
	failed chan error
	quit   chan struct{} // closed to give up on a stalled batch
	ended  chan struct{} // closed when the goroutine has ended
}

// A syncEvent reports one of three outcomes for the batch in flight: it is durable,
// the log rejects it at present and it is being retried, or the log has failed.
type syncEvent struct {
	took    time.Duration // time that the log took to make the batch durable
	stalled *stall
	failed  *ledger.Error
}

// A stall holds the errors for requests while the log rejects a batch that it may
// accept later.
type stall struct {
	now     *ledger.Error // error for new requests
	unknown *ledger.Error // error for requests that are already waiting
}

// spaceEvery is the interval at which a stalled batch is retried.
const spaceEvery = 100 * time.Millisecond

var (
	shuttingDown = ledger.Errorf(ledger.ShuttingDown, "The daemon is stopping; nothing was changed: send the request again when it is running.")
	noSpace      = ledger.Errorf(ledger.LogUnavailable,
		"The disk of the commit log is full; nothing was changed: free some space, and send the request again.")
	noSpaceUnknown = ledger.Errorf(ledger.LogUnavailable,
		"The disk of the commit log is full, and it is unknown whether this request will take effect: free some space, and send it again with the same idempotency key.")
	noFiles = ledger.Errorf(ledger.LogUnavailable,
		"The daemon has too many files open to begin the next segment of the commit log; nothing was changed: send the request again soon.")
	noFilesUnknown = ledger.Errorf(ledger.LogUnavailable,
		"The daemon has too many files open to begin the next segment of the commit log, and it is unknown whether this request will take effect: send it again with the same idempotency key.")
	unreachable = ledger.Errorf(ledger.LogUnavailable,
		"The commit log can't be reached; nothing was changed: send the request again soon.")
	unreachableUnknown = ledger.Errorf(ledger.LogUnavailable,
		"The commit log can't be reached, and it is unknown whether this request has taken or will take effect: send it again with the same idempotency key.")
	tailFullNow = ledger.Errorf(ledger.LogUnavailable,
		"The store of the newest part of the commit log is full, because too few copies on other hosts keep up; nothing was changed: start standby write daemons, and send the request again.")
	tailFullUnknown = ledger.Errorf(ledger.LogUnavailable,
		"The store of the newest part of the commit log is full, and it is unknown whether this request will take effect: start standby write daemons, and send it again with the same idempotency key.")

	tailFull   = &stall{tailFullNow, tailFullUnknown}
	diskFull   = &stall{noSpace, noSpaceUnknown}
	filesShort = &stall{noFiles, noFilesUnknown}
	notReached = &stall{unreachable, unreachableUnknown}
)

// stallOf returns the stall for a temporary error of the log, and nil for any other
// error.
func stallOf(err error) *stall {
	switch {
	case errors.Is(err, commitlog.ErrTailFull):
		return tailFull
	case errors.Is(err, wal.ErrNoSpace) && wal.FilesShort(err):
		return filesShort
	case errors.Is(err, wal.ErrNoSpace):
		return diskFull
	case errors.Is(err, commitlog.ErrUnreachable):
		return notReached
	}
	return nil
}

func logFailed(err error) *ledger.Error {
	if errors.Is(err, commitlog.ErrFenced) {
		return ledger.Errorf(ledger.LogUnavailable,
			"Another daemon has become the writer. It is unknown whether this request took effect: send it to that daemon with the same idempotency key.")
	}
	return ledger.Errorf(ledger.LogUnavailable,
		"The commit log can't be written (%v). It is unknown whether this request took effect: send it again with the same idempotency key when the daemon is running.", err)
}

func newSyncer(l commitlog.Writer, end uint64, meters *meters) *syncer {
	s := &syncer{log: l, meters: meters, in: make(chan *batch, 1), failed: make(chan error, 1),
		quit: make(chan struct{}), ended: make(chan struct{})}
	s.events = make(chan syncEvent, 2) // at most two events for one batch: stalled, and then its outcome
	s.await = func() syncEvent { return <-s.events }
	s.end.Store(end)
	return s
}

// run makes batches durable until the channel in is closed or the log fails.
func (s *syncer) run() {
	defer close(s.ended)
	for b := range s.in {
		err := s.append(b)
		if why := stallOf(err); why != nil {
			s.stall(b, why)
			err = s.retry(b)
		}
		if s.conclude(b, err); err != nil {
			return
		}
	}
}

// conclude reports the outcome of the batch. After an error, nothing more is
// appended.
func (s *syncer) conclude(b *batch, err error) {
	if err != nil {
		refusal := logFailed(err)
		s.fail(err)
		s.events <- syncEvent{failed: refusal}
		b.settle(refusal)
		return
	}
	b.settle(nil)
	s.events <- syncEvent{took: s.took}
}

// stall tells the waiters of the batch that its outcome is unknown, since the log may
// stay full or unreachable for a long time.
func (s *syncer) stall(b *batch, why *stall) {
	s.events <- syncEvent{stalled: why}
	b.settle(why.unknown)
}

// append makes the batch durable and counts it.
func (s *syncer) append(b *batch) error {
	start := time.Now()
	if err := s.log.Append(&b.frame); err != nil {
		return err
	}
	s.took = time.Since(start)
	s.end.Store(b.frame.Last())
	s.meters.batchDurable(b, s.took)
	return nil
}

// retry retries the batch until the log accepts it or fails, or until giveUp is
// called.
func (s *syncer) retry(b *batch) error {
	again := time.NewTicker(spaceEvery)
	defer again.Stop()
	for {
		select {
		case <-s.quit:
			return wal.ErrNoSpace
		case <-again.C:
		}
		if err := s.append(b); stallOf(err) == nil {
			return err
		}
	}
}

// fail reports the error after which the log can no longer be written. Only the
// first call has an effect.
func (s *syncer) fail(err error) {
	select {
	case s.failed <- err:
	default:
	}
}

// giveUp ends the retries of a stalled batch.
func (s *syncer) giveUp() { close(s.quit) }
