package writer

import (
	"errors"

	"assetledger/ledger"
	"assetledger/server/commitlog"
)

// The part between the sequencer and the syncer: the filling batch, and the groups
// that wait until a batch is durable.

// Sizes at which a batch is handed over, in bytes of its body.
const (
	// batchBytes is the size of a full batch. A larger batch increases latency and
	// gains nothing. A single record may be larger, up to the log's MaxBody.
	batchBytes = 1 << 20
	// eagerBytes is the size from which a batch is handed over in the middle of a
	// group if the syncer is idle. It is enough to be worth a sync.
	eagerBytes = 256 << 10
	// recordPrefix is the number of bytes that the log adds to each record.
	recordPrefix = 4
)

// await makes g done when everything judged so far is durable, or when it is known
// that it can't become durable. While the log is stalled or can't be reached, neither
// can be known, so g is told that the outcome is unknown.
func (s *sequencer) await(g *group) {
	switch {
	case s.failed != nil:
		g.finish(s.failed)
	case s.stalled != nil:
		g.finish(s.stalled.unknown)
	case !s.filling.empty():
		s.filling.attach(g)
	default:
		if err := s.confirm(); err != nil || s.inFlight == nil {
			g.finish(err)
			return
		}
		s.inFlight.attach(g)
	}
}

// confirm asks the log whether this daemon is still the writer. It is called before
// answering a group for which nothing will be appended, because then no append makes
// this check. The batch in flight proves nothing either: it may have been appended
// before the group was judged.
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

// logEnded records that the log can no longer be written, and returns the error
// for requests.
func (s *sequencer) logEnded(err error) *ledger.Error {
	s.sync.fail(err)
	s.synced(syncEvent{failed: logFailed(err)})
	return s.failed
}

// writable returns the error for new transactions if none can be accepted at
// present, and nil otherwise.
func (s *sequencer) writable() *ledger.Error {
	if s.stalled != nil {
		return s.stalled.now
	}
	if !s.filling.empty() {
		return nil // checked when the batch was begun
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
	return ledger.Errorf(ledger.PayloadTooLarge, "The transaction takes %d bytes in the log, and the maximum is %d: split it.",
		size-recordPrefix, s.maxBody-recordPrefix).
		With(ledger.Num("record_bytes", int64(size-recordPrefix)), ledger.Num("limit_bytes", int64(s.maxBody-recordPrefix)))
}

// fit ensures that the filling batch has room for size bytes. If it is too
// full, fit hands it over and, if necessary, waits for the syncer first. The
// batch that is handed over does not include the last change of the state,
// and neither does its digest.
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

// poll processes an event of the syncer if there is one. It does not wait.
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
	s.inFlight, s.filling, s.spare, s.small = s.filling, s.spare, nil, false
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
		s.returning(s.inFlight.frame.Count+s.filling.frame.Count, e.took)
		s.spare, s.inFlight = s.inFlight, nil
		s.spare.reset()
	}
}
