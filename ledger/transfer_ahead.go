package ledger

// Most transactions are one transfer between two stacks that exist before and after it.
// Expect collects the two sides of each transfer, and Prefetch finds the stacks of a
// group of transfers together. Apply and ReplayAll then change these stacks directly:
// they check everything first, and don't search for the stacks again. Apply executes all
// other transactions operation by operation.

// ReplayAll replays records as Replay does, with the same results, as commits
// Seq()+1, Seq()+2, …, and returns how many it has applied. batchSeq is the number
// that the first record has in its batch. The commits can't be undone.
func (s *State) ReplayAll(recs []Record, at int64, batchSeq uint32) (n int, err error) {
	for n < len(recs) {
		group := recs[n:min(n+prefetchSides/2, len(recs))]
		for i := range group {
			if s.ahead.n > prefetchSides-2 {
				group = group[:i]
				break
			}
			s.Expect(&group[i].Tx)
		}
		s.Prefetch()
		for i := range group {
			if err := s.replayAhead(&group[i], at, batchSeq+uint32(n)); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

// replayAhead replays one record of a group for which Prefetch was called. Unlike
// Apply, it keeps no undo list for a plain transfer.
func (s *State) replayAhead(rec *Record, at int64, batchSeq uint32) error {
	if out := &rec.Out; out.Minted != 0 || out.FirstMinted != 0 || len(out.Decisions)+len(out.Facts) != 0 {
		return s.Replay(rec, at, batchSeq)
	}
	s.endUndo()
	s.seq++
	if !s.transferAhead(&rec.Tx, false) {
		s.seq--
		return s.Replay(rec, at, batchSeq)
	}
	s.Remember(&rec.Tx, &rec.Out, s.seq, batchSeq)
	return nil
}

// plainTransfer has the arguments of a transfer without a place, as bits.
const plainTransfer = 1<<TransferFrom | 1<<TransferTo | 1<<TransferClass | 1<<TransferKey | 1<<TransferQuantity

// isPlainTransfer reports whether the transaction is one transfer without a place
// and without names, reverses no commit, and is by a sender that may use all containers.
func (tx *Transaction) isPlainTransfer() bool {
	if len(tx.Ops) != 1 || tx.Reverses != 0 || tx.permit.Limited() {
		return false
	}
	op := &tx.Ops[0]
	return op.Kind == TransferFungible && op.Has == plainTransfer && op.Null|op.Ref == 0
}

// transferAhead applies a plain transfer to the stacks that Prefetch found for its
// sides. The caller has begun the commit. transferAhead returns false, and has changed
// nothing, if the transaction is not a plain transfer or would be rejected, if the stacks
// are different ones or have holds, if a container is not Standard, or if the transfer
// would empty the source. So it changes only the quantities of the stacks and the
// updated_seq of their containers. The results of Prefetch may be out of date, so each
// record is compared with the arguments.
func (s *State) transferAhead(tx *Transaction, undo bool) bool {
	if tx.sides == 0 || !tx.isPlainTransfer() {
		return false
	}
	op, from, to := &tx.Ops[0], &s.ahead.sides[tx.sides-1], &s.ahead.sides[tx.sides]
	if from.stack == 0 || to.stack == 0 {
		s.ahead.same = 0 // Apply reads the indexes for this transfer, and perhaps for the next ones too
		return false
	}
	fc, tc, k := s.containers.at(from.container), s.containers.at(to.container), s.classes.at(from.class)
	source, target := s.stacks.at(from.stack), s.stacks.at(to.stack)
	key, q := op.Args[TransferKey], op.Args[TransferQuantity]
	if fc.id != op.Args[TransferFrom] || tc.id != op.Args[TransferTo] || k.id != op.Args[TransferClass] ||
		fc == tc || fc.kind != Standard || tc.kind != Standard || !k.fungible ||
		source.container != from.container || source.class != from.class || source.key != key ||
		target.container != to.container || target.class != from.class || target.key != key ||
		source.held|target.held != 0 || q < 1 || source.quantity <= q {
		s.ahead.same = 0
		return false
	}
	if undo {
		s.undo.push(undoQuantity, to.stack, uint64(target.quantity))
		s.undo.push(undoQuantity, from.stack, uint64(source.quantity))
		s.undo.push(undoUpdated, from.container, fc.updated)
		s.undo.push(undoUpdated, to.container, tc.updated)
	}
	s.changeQuantity(target, stackIdentity(tc.id, k.id, key), target.quantity+q)
	s.changeQuantity(source, stackIdentity(fc.id, k.id, key), source.quantity-q)
	s.changeUpdated(fc)
	s.changeUpdated(tc)
	if s.observed != nil {
		s.observeTransfer(k, key, q, tc, target, fc, source)
	}
	return true
}
