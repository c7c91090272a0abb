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
	r, parse, err := d.reversal(x)
	if err != nil {
		return err
	}
	return d.oneOf(x, r, parse)
}

// preflightReversal serves the preflight of a reversal, whose response also has the
// operations of the new commit. If the idempotency key has been used, there would be
// no new commit, and the list is empty.
func (d *daemon) preflightReversal(x *httpserver.Exchange) *ledger.Error {
	r, parse, err := d.reversal(x)
	if err != nil {
		return err
	}
	tx, v, err := d.preflightOf(x, r, parse)
	if err != nil {
		return err
	}
	ops := tx.Ops
	if v.replayed {
		x.W.Header()[headerHit] = valueHit
		ops = nil
	}
	if !x.Claim.GrowNow(operationsText(ops)) {
		return httpserver.Overloaded
	}
	x.Out = append(ledger.AppendOperations(append(x.Out, `,"operations":`...), ops), '}')
	return nil
}

// operationsText returns the maximum number of bytes that the JSON of operations
// takes, including the copies made while its buffer grows.
func operationsText(ops []ledger.Op) int64 {
	const each = 768 // twice the size of a SplitStack with large integers
	size := int64(len(ops)) * each
	for i := range ops {
		size += 2 * int64(len(ops[i].Name))
	}
	return size
}

// reversal returns the request of a reversal, without its transaction, and the
// parser of its body.
func (d *daemon) reversal(x *httpserver.Exchange) (*request, parser, *ledger.Error) {
	seq, err := x.PathInteger("global_seq")
	if err == nil {
		err = x.NoQuery()
	}
	if err != nil {
		return nil, nil, err
	}
	r := &request{reversal: true, BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} // not pooled, since it may have many operations
	return r, func(body []byte, tx *ledger.Transaction) *ledger.Error {
		return ledger.ParseReversal(body, uint64(seq), tx, d.parsing)
	}, nil
}

// invert reads the commit that tx reverses, and gives tx the inverse operations.
// If the commit can't be read, the sequencer rejects the request, unless it is a
// retry of a reversal that was applied.
//
// A commit that is not durable yet was not acknowledged to any client, so it counts
// as not found.
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

// readBackPatience is the maximum time that a reversal waits for its turn to read.
const readBackPatience = 10 * time.Second

// takeReadBack waits until no other reversal is reading a commit. Only one may read at
// a time, because a request of a few bytes may read a commit of 10,000 operations.
// A reversal loses its place when its client disconnects. When the daemon stops,
// waiting reversals are rejected.
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
