package sim

import (
	"assetledger/ledger"
	"assetledger/server/writer"
)

// A simStream is a stream of commits that clients share. Their requests are its
// lines, submitted in blocks. It ends with its writer at the latest.
type simStream struct {
	*simWorld
	core    *writer.CoreStream // nil: it is not open
	stop    bool               // on_error is stop
	lines   []ledger.Transaction
	waiting []*simAttempt // lines not yet submitted
	sent    []*simAttempt // lines without a result, oldest first
	last    uint64        // commit of the last committed line
	failed  bool          // a line was rejected
}

// add adds a line, which waits until its block is submitted.
func (s *simStream) add(tx *ledger.Transaction) *simAttempt {
	if s.core == nil {
		s.stop = s.rng.IntN(4) == 0
		s.core = writer.NewCoreStream(s.stop && !s.sabotage.goesOn)
	}
	a := new(simAttempt)
	s.lines, s.waiting = append(s.lines, *tx), append(s.waiting, a)
	return a
}

// step submits the waiting lines, or closes the stream when all have results.
func (s *simStream) step() {
	s.check()
	switch {
	case s.rng.IntN(2) == 0:
		s.submit()
	case s.core != nil && len(s.waiting)+len(s.sent) == 0 && (s.failed && s.stop || s.rng.IntN(20) == 0):
		s.leave()
	}
}

// submit submits the waiting lines as one block.
func (s *simStream) submit() {
	s.check()
	if s.writer == nil || len(s.lines) == 0 {
		return
	}
	core := s.core
	if s.sabotage.shuffled {
		core = writer.NewCoreStream(s.stop)
	}
	all, err := s.writer.core.SubmitBlock(core, s.lines)
	if err != nil {
		return // the block was rejected: try again later
	}
	for i, a := range s.waiting {
		a.Submission, a.after = all[i], s.writer.core.Durable()
	}
	s.sent, s.lines, s.waiting = append(s.sent, s.waiting...), nil, nil
}

// check checks that results come in the order of their lines, and that the
// commits are in that order too. With on_error stop, nothing may be committed
// after an error.
func (s *simStream) check() {
	waits := false
	left := s.sent[:0]
	for _, a := range s.sent {
		v, done := a.Result()
		if !done {
			waits = true
			left = append(left, a)
			continue
		}
		s.stats.lines++
		switch {
		case v.Unknown: // the log has failed, so a later line may get this result before the batch in flight is settled; the daemon sends the results of the oldest block first
		case waits:
			s.failf("a line was answered before an earlier one of its stream")
		case s.failed && s.stop:
			s.stats.stopped++
			if v.Refusal == nil || v.Refusal.Code != ledger.NotAttempted {
				s.failf("a line was tried after an error with on_error stop: commit %d, %v", v.Seq, v.Refusal)
			}
		case v.Refusal != nil:
			s.failed = true
		case v.Replayed:
		case v.Seq <= s.last:
			s.failf("commit %d belongs to a later line than commit %d of the same stream", v.Seq, s.last)
		default:
			s.last = v.Seq
		}
	}
	s.sent = left
}

// leave ends the stream. Its clients learn nothing more.
func (s *simStream) leave() {
	s.check()
	*s = simStream{simWorld: s.simWorld}
}
