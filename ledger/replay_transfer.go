package ledger

// Most records of a log are transfers between two stacks that exist before and
// after. ReplayAll finds the stacks of a group of them together, as Prefetch does,
// and then changes them directly: it checks first, and what it changes needs no
// undo list. All other records are replayed one by one.

// ReplayAll replays records as Replay does, with the same results, as commits
// Seq()+1, Seq()+2, …, and returns how many it has applied. batchSeq is the number
// of the first one in its batch. The commits can't be undone.
func (s *State) ReplayAll(recs []Record, at int64, batchSeq uint32) (n int, err error) {
	for n < len(recs) {
		var sides [prefetchSides / 2]uint8 // place in ahead.sides of the two of each record, or noSides
		group := recs[n:min(n+len(sides), len(recs))]
		for i := range group {
			if s.ahead.n > prefetchSides-2 {
				group = group[:i]
				break
			}
			sides[i] = s.expectRecord(&group[i])
		}
		s.Prefetch()
		for i := range group {
			if err := s.replayAhead(&group[i], sides[i], at, batchSeq+uint32(n)); err != nil {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

const noSides = 255

// expectRecord is Expect for a record. It returns the place of the two sides of a
// plain transfer, or noSides. Their stacks are worth finding even if they are in the
// processor's cache.
func (s *State) expectRecord(rec *Record) uint8 {
	if !rec.isPlainTransfer() {
		s.Expect(&rec.Tx)
		return noSides
	}
	first := s.ahead.n
	if s.expect(rec.Tx.Ops); s.ahead.n != first+2 {
		return noSides // its class is unknown
	}
	return uint8(first)
}

// replayAhead replays one record of a group, of which Prefetch has found two sides.
func (s *State) replayAhead(rec *Record, sides uint8, at int64, batchSeq uint32) error {
	s.endUndo()
	if sides == noSides || !s.replayTransfer(&rec.Tx.Ops[0], &s.ahead.sides[sides], &s.ahead.sides[sides+1]) {
		return s.Replay(rec, at, batchSeq)
	}
	s.Remember(&rec.Tx, &rec.Out, s.seq, batchSeq)
	return nil
}

// plainTransfer are the arguments of a transfer without a place.
const plainTransfer = 1<<TransferFrom | 1<<TransferTo | 1<<TransferClass | 1<<TransferKey | 1<<TransferQuantity

// isPlainTransfer reports whether the record is one transfer without a place, about
// which nothing was decided.
func (r *Record) isPlainTransfer() bool {
	tx, out := &r.Tx, &r.Out
	if len(tx.Ops) != 1 || tx.Reverses != 0 || tx.permit != nil || out.Minted != 0 || out.FirstMinted != 0 || len(out.Decisions)+len(out.Facts) != 0 {
		return false
	}
	op := &tx.Ops[0]
	return op.Kind == TransferFungible && op.Has == plainTransfer && op.Null|op.Ref == 0
}

// replayTransfer applies a plain transfer to the stacks that were found for its
// sides. It returns false, and has changed nothing, if they are other stacks, or if
// anything but their quantities and the commit of their containers would change, or
// if the transfer would be rejected.
func (s *State) replayTransfer(op *Op, from, to *side) bool {
	if from.stack == 0 || to.stack == 0 {
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
		return false
	}
	s.seq++
	s.changeQuantity(target, stackIdentity(tc.id, k.id, key), target.quantity+q)
	s.changeQuantity(source, stackIdentity(fc.id, k.id, key), source.quantity-q)
	s.changeUpdated(fc)
	s.changeUpdated(tc)
	if s.observed != nil {
		s.observeTransfer(k, key, q, tc, target, fc, source)
	}
	return true
}
