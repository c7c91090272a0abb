package reader

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assetledger/ledger"
	"assetledger/wal"
)

var readCommit = endpoint{
	pattern: "/v1/read/commit/{global_seq}", id: "global_seq",
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if uint64(r.id) > s.Seq() {
			return ledger.Errorf(ledger.CommitNotFound, "There is no commit %d; the last one is %d.", r.id, s.Seq()).
				With(ledger.Num("global_seq", r.id))
		}
		r.reversals = s.Reversals(r.reversals[:0], uint64(r.id), uint64(r.id))
		return nil
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		if err := r.Charge(commitRoom); err != nil {
			return dst, err
		}
		seq := uint64(r.id)
		dst = append(dst, `{"data":`...)
		err := r.daemon.commits.each(r.R.Context(), seq, seq, &r.record, func(f *wal.Frame, seq uint64) bool {
			dst = r.appendCommit(dst, f, seq)
			return r.holds(cap(dst))
		})
		return dst, r.daemon.readBack(err)
	},
}

// maxPageBytes ends a page of commits early: one commit may be a megabyte. So
// does a budget that has no room for more.
const maxPageBytes = 8 << 20

// commitRoom is the room that a commit is given before its size is known.
const commitRoom = 32 << 10

var readCommits = endpoint{
	pattern: "/v1/read/commits",
	params:  paramsOfList | paramAfter | paramOrder | paramBefore | paramIdempotencyKey, list: listCommits,
	collect: (*reading).planCommits,
	stream:  (*reading).feed,
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		if err := r.Charge(commitRoom); err != nil {
			return dst, err
		}
		dst = append(dst, `{"data":{"commits":[`...)
		var place cursor
		var err error
		if r.params.Newest {
			dst, place, err = r.appendNewest(dst)
		} else {
			dst, place, err = r.appendOldest(dst)
		}
		return append(r.endList(dst, place, listCommits), '}'), r.daemon.readBack(err)
	},
}

// planCommits decides which commits the page has at most, r.from to r.to, and
// whether there are others behind them.
func (r *reading) planCommits(s *ledger.State) *ledger.Error {
	p := &r.params
	first, last := p.After+1, s.Seq()
	if p.has(paramBefore) {
		last = min(last, max(p.Before, 1)-1)
	}
	if p.has(paramIdempotencyKey) {
		known, ok := s.Recall([]byte(p.IdempotencyKey))
		if first, last = known.Seq, known.Seq; !ok {
			first, last = 1, 0
		}
	}
	limit := uint64(p.Limit)
	if p.Newest {
		if p.has(paramCursor) {
			last = min(last, max(uint64(p.Cursor.A), 1)-1)
		}
		r.from, r.to = first, last
		if r.more = last >= first && last-first >= limit; r.more {
			r.from = last - limit + 1
		}
	} else {
		first = max(first, uint64(p.Cursor.A)+1)
		r.from, r.to = first, last
		if r.more = last >= first && last-first >= limit; r.more {
			r.to = first + limit - 1
		}
	}
	r.reversals = s.Reversals(r.reversals[:0], r.from, r.to)
	return nil
}

// appendOldest appends the commits of the page, and says after which one the next begins.
func (r *reading) appendOldest(dst []byte) ([]byte, cursor, error) {
	start, room := len(dst), true
	last := r.from - 1
	err := r.daemon.commits.each(r.R.Context(), r.from, r.to, &r.record, func(f *wal.Frame, seq uint64) bool {
		if len(dst)-start > maxPageBytes || !room {
			r.more = true
			return false
		}
		if seq > r.from {
			dst = append(dst, ',')
		}
		dst = r.appendCommit(dst, f, seq)
		room = r.holds(cap(dst))
		last = seq
		return true
	})
	return dst, cursor{A: int64(last)}, err
}

// appendCommit appends a commit with what is known of it since.
func (r *reading) appendCommit(dst []byte, f *wal.Frame, seq uint64) []byte {
	i, found := slices.BinarySearchFunc(r.reversals, seq, func(v ledger.Reversal, seq uint64) int { return cmp.Compare(v.Seq, seq) })
	if !found {
		return AppendCommit(dst, f, seq, &r.record)
	}
	return appendCommit(dst, f, seq, &r.record, r.reversals[i].By)
}

// readBack turns an error of reading commits back into an answer. The balances
// served are not touched by it, so the daemon stays, but is no longer healthy.
func (d *daemon) readBack(err error) *ledger.Error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return ledger.Errorf(ledger.Overloaded, "The client has gone.") // so nobody reads this
	}
	if wal.FilesShort(err) {
		return ledger.Errorf(ledger.Overloaded, "This read daemon has too many files open to read the log back: try again.")
	}
	var archived *wal.ArchivedError
	if errors.As(err, &archived) {
		return ledger.Errorf(ledger.CommitArchived, "Commit %d was moved to an archive; the log here begins at commit %d.", archived.Seq, archived.First).
			With(ledger.Num("global_seq", int64(archived.Seq)), ledger.Num("first_seq", int64(archived.First)))
	}
	var damage *wal.CorruptError
	if errors.As(err, &damage) {
		d.damaged.Store(true)
	}
	d.log.Error("commits can't be read back from the log", "error", err)
	return ledger.Errorf(ledger.LogUnavailable, "The commit can't be read back from the log: %v.", err)
}
