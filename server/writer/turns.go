package writer

import (
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
)

// Requests share the sequencer in turns, so that a large one does not delay small
// ones.

const (
	// turnTime is the maximum time that one group keeps the sequencer while others
	// wait. A turn has at least one transaction.
	turnTime = time.Millisecond
	// turnCheck is the number of operations between two checks of the clock.
	turnCheck = 32
)

// turn judges requests of g until all are judged or its turn is over, and ensures
// that the judged ones are woken.
//
// A group waits for the batch that is filling when its last request is judged.
// Batches become durable in order, so when that batch is durable, those of the group's
// earlier turns are durable too.
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

// prefetch loads the memory that the first few of several small requests need, so
// that their cache misses overlap.
func (s *sequencer) prefetch(requests []*request) {
	for _, r := range requests[:min(commitlog.PrefetchAhead, len(requests))] {
		s.state.Expect(&r.Txs[0])
	}
	s.state.Prefetch()
}

// yields reports whether the turn is over and other groups wait for theirs. If the
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

// operationCost returns the number of operations. If there is a consolidation, which
// may merge any number of stacks, it adds the parameter heavy.
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
	notAttempted = ledger.Errorf(ledger.NotAttempted, "Not tried, because an earlier transaction of this request failed and on_error is stop.")
	abandoned    = ledger.Errorf(ledger.Overloaded, "Not tried, because the time for the response had run out.")
)

// judge judges the transactions of r, beginning with r.next. It returns false if
// the turn ends before the last one.
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

// unwanted returns the error for the rest of r if it must not be judged, and nil
// otherwise.
func (s *sequencer) unwanted(r *request) *ledger.Error {
	switch {
	case s.hurry.Load():
		return shuttingDown
	case r.alive != nil && !r.alive():
		return abandoned
	}
	return nil
}
