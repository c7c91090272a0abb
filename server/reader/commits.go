package reader

import (
	"context"
	"errors"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

var readCommit = endpoint{
	pattern: "/v1/read/commit/{global_seq}", id: "global_seq",
	collect: func(r *reading, s *ledger.State) *ledger.Error {
		if uint64(r.id) > s.Seq() {
			return ledger.Errorf(ledger.CommitNotFound, "There is no commit %d; the last one is %d.", r.id, s.Seq()).
				With(ledger.Num("global_seq", r.id))
		}
		return nil
	},
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		if err := r.Charge(commitRoom); err != nil {
			return dst, err
		}
		seq := uint64(r.id)
		dst = append(dst, `{"data":`...)
		err := r.daemon.commits.each(r.R.Context(), seq, seq, &r.record, func(f *wal.Frame, seq uint64) bool {
			dst = AppendCommit(dst, f, seq, &r.record)
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
	params:  paramsOfList | paramAfter, list: listCommits,
	collect: nothing,
	stream:  (*reading).feed,
	render: func(r *reading, dst []byte) ([]byte, *ledger.Error) {
		if err := r.Charge(commitRoom); err != nil {
			return dst, err
		}
		start, shown, room := len(dst), 0, true
		r.more = false
		last := max(r.params.After, uint64(r.params.Cursor.A))
		dst = append(dst, `{"data":{"commits":[`...)
		err := r.daemon.commits.each(r.R.Context(), last+1, r.checkpoint, &r.record, func(f *wal.Frame, seq uint64) bool {
			if shown == r.params.Limit || len(dst)-start > maxPageBytes || !room {
				r.more = true
				return false
			}
			if shown > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCommit(dst, f, seq, &r.record)
			room = r.holds(cap(dst))
			last = seq
			shown++
			return true
		})
		return append(r.endList(dst, cursor{A: int64(last)}, listCommits), '}'), r.daemon.readBack(err)
	},
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
	if httpserver.IsFilesShort(err) {
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
