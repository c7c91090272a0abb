package reader

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"assetledger/ledger"
	"assetledger/server/commitlog"
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
	render: func(r *reading, _ []byte) ([]byte, *ledger.Error) {
		dst, refusal := r.beginAnswer()
		if refusal != nil {
			return dst, refusal
		}
		r.from, r.to = uint64(r.id), uint64(r.id)
		dst, _, err := r.appendOldest(append(dst, `{"data":`...))
		return dst, r.daemon.readBack(err)
	},
}

// maxPageBytes is the size at which a page of commits ends early, because one
// commit may take a megabyte. A page also ends early if the budget has no room for
// more.
const maxPageBytes = 8 << 20

const (
	// commitRoom is the memory claimed for a commit before its size is known.
	commitRoom = 32 << 10
	// tailRoom is enough for the bytes of a response around its commits.
	tailRoom = 512
)

var readCommits = endpoint{
	pattern: "/v1/read/commits",
	params:  paramsOfList | paramAfter | paramOrder | paramBefore | paramIdempotencyKey, list: listCommits,
	collect: (*reading).planCommits,
	stream:  (*reading).feed,
	render: func(r *reading, _ []byte) ([]byte, *ledger.Error) {
		dst, refusal := r.beginAnswer()
		if refusal != nil {
			return dst, refusal
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

// planCommits sets the maximum range of the page, r.from to r.to, and whether there
// are more commits after it.
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

// appendOldest appends the commits of the page, and returns the cursor of the next
// page. A commit is rendered in the memory of a reader of the log, and appended
// when there is room for it. There are few such readers, so only the first commit
// waits for room, without holding a reader.
func (r *reading) appendOldest(dst []byte) ([]byte, cursor, error) {
	start, last, wanted := len(dst), r.from-1, 0
	take := func(log *commitlog.PlacedReader, f *wal.Frame, rec *ledger.Record, seq uint64) bool {
		if len(dst)-start > maxPageBytes {
			r.more = true
			return false
		}
		log.Text = r.appendCommit(log.Text[:0], f, rec, seq)
		grown, ok := r.roomFor(dst, len(log.Text)+tailRoom, 0)
		if !ok && seq == r.from {
			wanted = len(dst) + len(log.Text) + tailRoom
			return false
		}
		if !ok {
			r.more = true
			return false
		}
		if dst = grown; seq > r.from {
			dst = append(dst, ',')
		}
		dst, last = append(dst, log.Text...), seq
		return true
	}
	err := r.daemon.commits.each(r.R.Context(), r.from, r.to, take)
	if wanted > 0 && err == nil {
		if cap(dst) > commitRoom {
			dst, r.Out = slices.Clone(dst), nil
		}
		if refused := r.awaitRoom(wanted); refused != nil {
			return dst, cursor{}, refused
		}
		err = r.daemon.commits.each(r.R.Context(), r.from, r.to, take)
	}
	return dst, cursor{A: int64(last)}, err
}

// appendCommit appends a commit, and names the commit that has reversed it since, if
// there is one.
func (r *reading) appendCommit(dst []byte, f *wal.Frame, rec *ledger.Record, seq uint64) []byte {
	i, found := slices.BinarySearchFunc(r.reversals, seq, func(v ledger.Reversal, seq uint64) int { return cmp.Compare(v.Seq, seq) })
	if !found {
		return AppendCommit(dst, f, seq, rec)
	}
	return appendCommit(dst, f, seq, rec, r.reversals[i].By)
}

// readBack translates an error from reading commits into a response. Damage to the
// log does not affect the balances that this daemon serves, so it stays up but is no
// longer healthy.
func (d *daemon) readBack(err error) *ledger.Error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*ledger.Error](err); ok {
		return refused
	}
	if errors.Is(err, context.Canceled) {
		return ledger.Errorf(ledger.Overloaded, "The client has gone.") // nobody receives this
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
