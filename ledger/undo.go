package ledger

// The undo list holds one entry for each change of the current transaction, oldest
// first. Undoing a transaction performs the inverse of each entry, newest first. A
// record that a transaction removes is only unlinked; its slab gets it back when
// the next transaction begins. So an undo finds it unchanged under its old number.
type undoList struct {
	entries []undoEntry
	dropped bool // some entry is a drop
	open    bool // the last transaction was accepted and may still be undone

	digest       uint64 // before the transaction
	nextInstance int64
	assigned     [nameTables]int64
	part2        bool
	names        []string // previous names of classes
}

type undoEntry struct {
	kind undoKind
	ref  uint32
	old  uint64
}

type undoKind uint8

const (
	undoQuantity         undoKind = iota // ref: stack; old: quantity
	undoStackMade                        // ref: stack
	undoStackDropped                     // ref: stack
	undoCut                              // ref: root of the piece of a tree of stacks
	undoGathered                         // ref: stack
	undoLeftAlone                        // ref: stack; old: its links in the piece
	undoAdded                            // ref: class; old: amount added
	undoRemoved                          // ref: class; old: amount removed
	undoUpdated                          // ref: container; old: updated_seq
	undoContainerMade                    // ref: container
	undoContainerDropped                 // ref: container
	undoClassMade                        // ref: class
	undoShapeMade                        // ref: shape
	undoMinted                           // ref: instance
	undoBurned                           // ref: instance
	undoSlotEntered                      // ref: instance
	undoSlotLeft                         // ref: instance; old: container << 32 | slot_index
	undoAttached                         // ref: child
	undoDetached                         // ref: child; old: parent
	undoPlaced                           // ref: placement
	undoUnplaced                         // ref: placement
	undoHoldMade                         // ref: hold
	undoHoldDropped                      // ref: hold
	undoHoldReduced                      // ref: hold; old: amount
	undoNamed                            // ref: label; old: table
	undoUnnamed                          // ref: label; old: table
	undoClassName                        // ref: class; old: index in undoList.names
	undoReversal                         // ref: reversal
	undoKinds
)

// undoKeep is the maximum number of entries whose memory stays allocated between
// transactions.
const undoKeep = 1 << 18

func (u *undoList) push(kind undoKind, ref uint32, old uint64) {
	u.entries = append(u.entries, undoEntry{kind, ref, old})
}

// drop records that ref was unlinked and must be released later.
func (u *undoList) drop(kind undoKind, ref uint32) {
	u.push(kind, ref, 0)
	u.dropped = true
}

// begin starts the next transaction.
func (s *State) begin() {
	s.endUndo()
	u := &s.undo
	u.digest, u.nextInstance, u.assigned, u.part2 = s.digest, s.nextInstance, s.assigned, s.part2
	s.seq++
}

// endUndo makes the last transaction final, and releases the records that it removed.
func (s *State) endUndo() {
	if s.undo.dropped {
		s.releaseDropped()
	}
	s.clearUndo()
}

func (s *State) clearUndo() {
	u := &s.undo
	if cap(u.entries) > undoKeep {
		u.entries = nil
	}
	u.entries, u.dropped, u.open, u.names = u.entries[:0], false, false, nil
}

// releaseDropped releases the records that the last transaction removed.
func (s *State) releaseDropped() {
	for _, e := range s.undo.entries {
		switch e.kind {
		case undoStackDropped, undoGathered:
			s.stacks.release(e.ref)
		case undoContainerDropped:
			s.releaseContainer(e.ref)
		case undoBurned:
			s.instances.release(e.ref)
		case undoUnplaced:
			s.placements.release(e.ref)
		case undoHoldDropped:
			s.holds.release(e.ref)
		case undoUnnamed:
			s.names[e.old].release(e.ref)
		}
	}
}

// rollback reverts the changes of the current transaction.
func (s *State) rollback() {
	u := &s.undo
	for i := len(u.entries) - 1; i >= 0; i-- {
		s.revert(u.entries[i])
	}
	s.digest, s.nextInstance, s.assigned, s.part2 = u.digest, u.nextInstance, u.assigned, u.part2
	s.seq--
	s.doing.out = nil
	s.clearUndo()
}

// revert performs the inverse of one change. The digest is restored as a whole.
func (s *State) revert(e undoEntry) {
	switch e.kind {
	case undoQuantity:
		s.stacks.at(e.ref).quantity = int64(e.old)
	case undoAdded:
		k := s.classes.at(e.ref)
		k.added = k.added.Sub(e.old)
	case undoRemoved:
		k := s.classes.at(e.ref)
		k.removed = k.removed.Sub(e.old)
	case undoUpdated:
		s.containers.at(e.ref).updated = e.old
	case undoStackMade:
		s.unlinkStack(e.ref)
		s.stacks.release(e.ref)
	case undoStackDropped:
		s.linkStack(e.ref)
	case undoCut:
		s.rejoin(e.ref)
	case undoGathered:
		r := s.stacks.at(e.ref)
		s.stackIndex.add(stackHash(r.container, r.class, r.key), e.ref)
		s.listStack(e.ref)
		s.containers.at(r.container).stacks++
		s.classes.at(r.class).stacks++
	case undoLeftAlone:
		r := s.stacks.at(e.ref)
		treeRemove(stacksByClass{s}, &s.containers.at(r.container).stackTree, e.ref)
		r.tree = links{uint32(e.old >> 32), uint32(e.old)}
	case undoContainerMade:
		s.unlinkContainer(e.ref)
		s.releaseContainer(e.ref)
	case undoContainerDropped:
		s.linkContainer(e.ref)
	case undoClassMade:
		s.unlinkClass(e.ref)
		s.classes.release(e.ref)
	case undoShapeMade:
		s.unlinkShape(e.ref)
		s.shapes.release(e.ref)
	case undoNamed:
		s.unlinkName(int(e.old), e.ref)
		s.names[e.old].release(e.ref)
	case undoUnnamed:
		s.linkName(int(e.old), e.ref)
	case undoClassName:
		s.classes.at(e.ref).name = s.undo.names[e.old]
	default:
		s.revertInstance(e)
	}
}

// revertInstance reverts what concerns instances, rectangles, holds and reversals.
func (s *State) revertInstance(e undoEntry) {
	switch e.kind {
	case undoMinted:
		s.classes.at(s.instances.at(e.ref).class).minted--
		s.unlinkInstance(e.ref)
		s.instances.release(e.ref)
	case undoBurned:
		s.classes.at(s.instances.at(e.ref).class).burned--
		s.linkInstance(e.ref)
	case undoSlotEntered:
		s.unlinkSlot(e.ref)
	case undoSlotLeft:
		s.linkSlot(e.ref, uint32(e.old>>32), uint32(e.old))
	case undoAttached:
		s.unlinkChild(e.ref)
	case undoDetached:
		s.linkChild(e.ref, uint32(e.old))
	case undoPlaced:
		s.unlinkPlacement(e.ref)
		s.placements.release(e.ref)
	case undoUnplaced:
		s.linkPlacement(e.ref)
	case undoHoldMade:
		s.unlinkHold(e.ref)
		s.holds.release(e.ref)
	case undoHoldDropped:
		s.linkHold(e.ref)
	case undoHoldReduced:
		s.addHeld(e.ref, int64(e.old))
	case undoReversal:
		treeRemove(reversalsByCommit{s}, &s.reversalTree, e.ref)
		s.reversals.release(e.ref)
	}
}
