package writer

import (
	"errors"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// readBack completes the replayed result i of r if its metadata is long. A retry
// nearly always has the same spelling as the first request, and then the metadata
// is that of the retry. Otherwise it is read from the log, and is valid until the
// next call. A short retry may get the result of a long first request, so readBack
// claims the memory that the result takes in the response.
func (d *daemon) readBack(r *request, i int, claim *httpserver.Claim) {
	v, tx := &r.verdicts[i], &r.Txs[i]
	if !v.long || r.preflight || ledger.SpellingOf(tx.Metadata) == v.spelling {
		return
	}
	err := d.log().Commit(v.seq, func(rec *ledger.Record) { r.read = append(r.read[:0], rec.Tx.Metadata...) })
	switch {
	case err != nil:
		d.api.Log.Error("the first result of an idempotency key can't be read back from the log", "seq", v.seq, "error", err)
		v.err = unreadableResult(v.seq, err)
	case !claim.GrowNow(int64(len(r.read))):
		v.err = ledger.Errorf(ledger.Overloaded, "The request was already executed, as commit %d, and too many requests are waiting to read its result back: retry a little later.", v.seq).
			With(ledger.Num("global_seq", int64(v.seq)))
	default:
		tx.Metadata = r.read
	}
}

// unreadableResult returns the error for a retry whose first result can't be read
// back.
func unreadableResult(seq uint64, err error) *ledger.Error {
	if archived := new(wal.ArchivedError); errors.As(err, &archived) {
		return ledger.Errorf(ledger.CommitArchived, "The request was already executed, as commit %d. Its metadata was spelled differently, and the commit was moved to an archive.", seq).
			With(ledger.Num("global_seq", int64(seq)), ledger.Num("first_seq", int64(archived.First)))
	}
	return ledger.Errorf(ledger.LogUnavailable, "The request was already executed, as commit %d, which can't be read back from the log now.", seq).
		With(ledger.Num("global_seq", int64(seq)))
}
