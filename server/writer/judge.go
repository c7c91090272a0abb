package writer

import "assetledger/ledger"

// Judging one transaction against the state.

// commit judges one transaction and, unless it is rejected or replayed, puts it into the
// filling batch.
func (s *sequencer) commit(r *request, tx *ledger.Transaction, v *verdict) *ledger.Error {
	if known, err := s.recall(r, tx, v); known || err != nil {
		return err
	}
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.state.Apply(tx, s.stamp(), &s.out); err != nil {
		return err
	}
	s.record = ledger.AppendRecord(s.record[:0], tx, &s.out)
	if err := s.fit(recordPrefix + len(s.record)); err != nil {
		s.state.Undo()
		return err
	}
	v.seq, v.firstMinted, v.minted = s.state.Seq(), s.out.FirstMinted, s.out.Minted
	v.batchSeq = s.filling.add(v.seq, s.at, s.record, tx.Ops, s.state.Digest())
	s.state.Remember(tx, &s.out, v.seq, v.batchSeq)
	return nil
}

// stamp returns the time of the filling batch, at which its transactions are
// judged, in Unix nanoseconds. It never decreases. A batch gets its time when its
// first transaction is judged. If fit moves a transaction to the next batch, that
// batch gets the time at which the transaction was judged.
func (s *sequencer) stamp() int64 {
	if s.filling.empty() {
		s.at = max(s.now(), s.at)
	}
	return s.at
}

// preflight judges a transaction in the same way as commit, and undoes it. Unlike
// commit, it does not require that the log has room.
func (s *sequencer) preflight(r *request, tx *ledger.Transaction, v *verdict) *ledger.Error {
	if known, err := s.recall(r, tx, v); known || err != nil {
		return err
	}
	if err := s.state.Apply(tx, s.stamp(), &s.out); err != nil {
		return err
	}
	s.record = ledger.AppendRecord(s.record[:0], tx, &s.out)
	s.state.Undo()
	v.firstMinted, v.minted = s.out.FirstMinted, s.out.Minted
	return s.fits(recordPrefix + len(s.record))
}

// recall answers a transaction whose idempotency key is remembered: with the first
// result if it is the same transaction, and otherwise with an error.
func (s *sequencer) recall(r *request, tx *ledger.Transaction, v *verdict) (known bool, err *ledger.Error) {
	if len(tx.Key) == 0 {
		return false, nil
	}
	first, known := s.state.Recall(tx.Key)
	if !known {
		return false, nil
	}
	if first.Endpoint != tx.Endpoint || first.Hash != tx.Hash {
		if tx.Permit().Limited() { // it may be another client's request, which must stay secret
			return true, ledger.Errorf(ledger.IdempotencyConflict,
				"The idempotency key was used by another request: use a new key for a new request.").
				With(ledger.Text("idempotency_key", string(tx.Key)))
		}
		return true, ledger.Errorf(ledger.IdempotencyConflict,
			"The idempotency key was used by another request, which is commit %d: use a new key for a new request.", first.Seq).
			With(ledger.Text("idempotency_key", string(tx.Key)), ledger.Num("global_seq", int64(first.Seq)))
	}
	if first.Long {
		v.long, v.spelling = true, first.Spelling // readBack completes it later, in another goroutine
	} else {
		tx.Metadata = r.keep(first.Metadata) // spelled as in the first request
	}
	v.seq, v.batchSeq, v.firstMinted, v.minted, v.replayed = first.Seq, first.BatchSeq, first.FirstMinted, first.Minted, true
	return true, nil
}
