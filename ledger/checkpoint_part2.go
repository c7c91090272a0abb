package ledger

import (
	"cmp"
	"slices"
)

// The sections of holds and reversals in a checkpoint.

func (e *checkpointEncoder) holds() {
	s := e.s
	refs := make([]uint32, 0, s.holdIndex.len())
	treeWalk(holdsByContainer{s}, s.holdTree, lowest, func(ref uint32) bool {
		refs = append(refs, ref)
		return true
	})
	slices.SortFunc(refs, func(a, b uint32) int { return cmp.Compare(s.holds.at(a).id, s.holds.at(b).id) })
	for _, ref := range refs {
		h := s.holdInfo(ref)
		e.item(itemHold)
		e.numbers(uint64(h.ID), uint64(h.ContainerID), uint64(h.ClassID), uint64(h.Key), uint64(h.Quantity), h.HeldSeq, uint64(h.ExpiresAt))
	}
}

func (l *checkpointLoader) readHold() {
	d, s := l.d, l.s
	h := hold{id: d.id()}
	container, class, key := d.id(), d.id(), d.amount()
	h.quantity, h.seq, h.expires = d.id(), d.between(1, s.seq), int64(d.number(MaxTime))
	if h.expires == 0 {
		h.expires = never
	}
	cref, kref := s.findContainer(container), s.findClass(class)
	if d.err != nil {
		return
	}
	if cref != 0 && kref != 0 {
		h.stack = s.findStack(cref, kref, key)
	}
	if h.stack == 0 || h.id <= l.hold || h.quantity > s.available(s.stacks.at(h.stack)) {
		d.fault("hold %d is out of order, or its stack does not exist or has too little available", h.id)
		return
	}
	ref, r := s.holds.alloc()
	*r = h
	s.linkHold(ref)
	l.hold = h.id
}

func (e *checkpointEncoder) reversals() {
	s := e.s
	treeWalk(reversalsByCommit{s}, s.reversalTree, lowest, func(ref uint32) bool {
		r := s.reversals.at(ref)
		e.item(itemReversal)
		e.numbers(r.of, r.by)
		return e.err == nil
	})
}

func (l *checkpointLoader) readReversal() {
	d, s := l.d, l.s
	made := reversal{of: d.between(1, s.seq), by: d.between(1, s.seq)}
	if d.err == nil && (made.of <= l.reversed || made.by <= made.of) {
		d.fault("the reversal of commit %d by commit %d is out of order", made.of, made.by)
	}
	if d.err != nil {
		return
	}
	ref, r := s.reversals.alloc()
	*r = made
	treeInsert(reversalsByCommit{s}, &s.reversalTree, ref)
	l.reversed = made.of
}
