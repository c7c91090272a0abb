package writer

import (
	"errors"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// reverse serves the reversal of a commit.
func (d *daemon) reverse(x *httpserver.Exchange) *ledger.Error {
	seq, err := x.PathInteger("global_seq")
	if err == nil {
		err = x.NoQuery()
	}
	if err != nil {
		return err
	}
	r := &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} // not pooled: its operations may be many
	return d.oneOf(x, r, func(body []byte, tx *ledger.Transaction) *ledger.Error {
		return ledger.ParseReversal(body, uint64(seq), tx, d.parsing)
	})
}

// invert reads the commit that tx reverses, and sets the inverse operations of
// tx. If the commit can't be read, the sequencer rejects the request, unless it
// is a retry of one that was applied.
//
// A commit that is not durable yet was acknowledged to nobody, so it counts as
// not found.
func (d *daemon) invert(x *httpserver.Exchange, tx *ledger.Transaction) {
	seq, end := tx.Reverses, d.end()
	if seq > end {
		tx.Refuse(ledger.Errorf(ledger.CommitNotFound, "There is no commit %d; the last one is %d.", seq, end).
			With(ledger.Num("global_seq", int64(seq))))
		return
	}
	if err := d.takeReadBack(x); err != nil {
		tx.Refuse(err)
		return
	}
	defer func() { <-d.readBacks }()
	err := d.log().Commit(seq, func(rec *ledger.Record) {
		if !x.Claim.GrowNow(ledger.InverseSize(rec)) {
			tx.Refuse(httpserver.Overloaded)
			return
		}
		tx.Invert(rec, seq)
	})
	if err != nil {
		tx.Refuse(d.unreadable(seq, err))
	}
}

// readBackPatience is how long a reversal waits for its turn to read.
const readBackPatience = 10 * time.Second

// takeReadBack waits until no other reversal reads its commit, because a few
// bytes may request a commit of 10,000 operations. When the daemon ends, waiting
// reversals are rejected.
func (d *daemon) takeReadBack(x *httpserver.Exchange) *ledger.Error {
	patience := time.NewTimer(readBackPatience)
	defer patience.Stop()
	select {
	case d.readBacks <- struct{}{}:
	case <-x.R.Context().Done():
		return httpserver.Overloaded
	case <-patience.C:
		return httpserver.Overloaded
	}
	if err := d.ending(); err != nil {
		<-d.readBacks
		return err
	}
	return nil
}

// unreadable returns the error for a commit that can't be read from the log.
func (d *daemon) unreadable(seq uint64, err error) *ledger.Error {
	if archived := new(wal.ArchivedError); errors.As(err, &archived) {
		return ledger.Errorf(ledger.CommitArchived, "Commit %d was moved to an archive; the log here begins at commit %d.", seq, archived.First).
			With(ledger.Num("global_seq", int64(seq)), ledger.Num("first_seq", int64(archived.First)))
	}
	if wal.FilesShort(err) {
		return ledger.Errorf(ledger.Overloaded, "This daemon has too many files open to read the log back: try again.")
	}
	d.api.Log.Error("a commit to be reversed can't be read back from the log", "seq", seq, "error", err)
	return ledger.Errorf(ledger.LogUnavailable, "Commit %d can't be read back from the log now.", seq).
		With(ledger.Num("global_seq", int64(seq)))
}
