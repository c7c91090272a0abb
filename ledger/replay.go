package ledger

import (
	"fmt"
	"slices"
)

// A DivergenceError means that replaying a record of the log gives a different
// result than when its transaction was accepted: the log, the state or the program
// differs.
type DivergenceError struct {
	Seq  uint64 // global_seq of the record
	What string // what differs
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("ledger: commit %d does not replay as it was accepted: %s", e.Seq, e.What)
}

// Replay applies a record of the log as commit Seq()+1, compares what the ledger decides
// with the decisions in the record, and remembers the result under the record's key. The
// argument at is the time of the frame that holds the record. The error is a
// *DivergenceError; after it, the state is unchanged.
func (s *State) Replay(rec *Record, at int64, batchSeq uint32) error {
	s.replaying = true
	err := s.Apply(&rec.Tx, at, &s.replayed)
	s.replaying = false
	if err != nil {
		return &DivergenceError{s.seq + 1, "it is rejected: " + err.Error()}
	}
	what := difference(&s.replayed, &rec.Out)
	if what == "" && !slices.Equal(s.replayed.Facts, rec.Out.Facts) && rec.Tx.version != recordVersion1 { // version 1 has no facts
		what = fmt.Sprintf("it finds %+v; the record says %+v", s.replayed.Facts, rec.Out.Facts)
	}
	if what != "" {
		seq := s.seq
		s.Undo()
		return &DivergenceError{seq, what}
	}
	s.Remember(&rec.Tx, &s.replayed, s.seq, batchSeq)
	return nil
}

// difference describes the first difference between two outcomes, or returns ""
// if there is none.
func difference(now, then *Outcome) string {
	if now.Minted != then.Minted || now.FirstMinted != then.FirstMinted {
		return fmt.Sprintf("it mints %d instances from %d; the record says %d from %d",
			now.Minted, now.FirstMinted, then.Minted, then.FirstMinted)
	}
	if len(now.Decisions) != len(then.Decisions) {
		return fmt.Sprintf("it makes %d decisions; the record has %d", len(now.Decisions), len(then.Decisions))
	}
	for i := range now.Decisions {
		if now.Decisions[i] != then.Decisions[i] {
			return fmt.Sprintf("decision %d is %+v; the record says %+v", i, now.Decisions[i], then.Decisions[i])
		}
	}
	return ""
}
