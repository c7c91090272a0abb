package ledger

import "math"

// Reversals: which commit reverses which, and whether an inverse operation finds
// exactly what the commit left.

// A reversal is the link between a commit and the one that reversed it. Each takes
// 24 bytes of memory.
type reversal struct {
	of, by uint64
	tree   links
}

func (r *reversal) freeLink() *uint32 { return &r.tree.left }

type reversalsByCommit struct{ s *State }

func (t reversalsByCommit) links(ref uint32) *links { return &t.s.reversals.at(ref).tree }
func (t reversalsByCommit) rank(ref uint32) rank {
	return rank{major: int64(t.s.reversals.at(ref).of)}
}

// ReversedBy returns the commit that reversed the commit seq. ok is false if
// none did.
func (s *State) ReversedBy(seq uint64) (by uint64, ok bool) {
	ref := treeFind(reversalsByCommit{s}, s.reversalTree, rank{major: int64(seq)})
	if ref == 0 {
		return 0, false
	}
	return s.reversals.at(ref).by, true
}

// A Reversal says that commit By reversed commit Seq.
type Reversal struct{ Seq, By uint64 }

// Reversals appends the reversals of the commits from..to, ordered by Seq.
func (s *State) Reversals(dst []Reversal, from, to uint64) []Reversal {
	treeWalk(reversalsByCommit{s}, s.reversalTree, rank{int64(from) - 1, math.MaxInt64}, func(ref uint32) bool {
		r := s.reversals.at(ref)
		if r.of > to {
			return false
		}
		dst = append(dst, Reversal{r.of, r.by})
		return true
	})
	return dst
}

func (r *reversal) item() uint64 { return mix4Words(tagReversal, r.of, r.by, 0, 0) }

// beginReversal links the transaction with the commit that it reverses. For a
// sender limited to owners, it first checks what the sender may use; see
// reachesAll.
func (s *State) beginReversal(tx *Transaction) *Error {
	of := tx.inverse // nil: an import states the commit
	if of != nil && of.ops == nil {
		return of.refused
	}
	if of != nil && s.doing.limited && !s.reachesAll(of) {
		return commitForbidden(tx.Reverses)
	}
	if tx.Reverses >= s.seq {
		return Errorf(CommitNotFound, "There is no earlier commit %d to reverse; the last one is %d.", tx.Reverses, s.seq-1).
			With(Num("global_seq", int64(tx.Reverses)))
	}
	if by, ok := s.ReversedBy(tx.Reverses); ok {
		return Errorf(AlreadyReversed, "Commit %d was already reversed by commit %d.", tx.Reverses, by).With(Num("global_seq", int64(by)))
	}
	if of != nil && of.refused != nil {
		return of.refused
	}
	ref, r := s.reversals.alloc()
	r.of, r.by = tx.Reverses, s.seq
	treeInsert(reversalsByCommit{s}, &s.reversalTree, ref)
	s.digest += r.item()
	s.undo.push(undoReversal, ref, 0)
	return nil
}

// reachesAll reports whether the sender may use every container and instance that
// the operations of a commit name, and every instance that they minted. Conditions
// do not count. The container of a hold that a commit released is no longer
// known, so no sender limited to owners may reverse such a commit. To reverse a commit
// that registers a class or shape or renames a class, the sender needs permission to
// register.
func (s *State) reachesAll(of *inverse) bool {
	minted := of.minted
	for i := range of.ops {
		op := &of.ops[i]
		switch op.Kind {
		case MintInstance:
			if !s.reachesInstance(minted) {
				return false
			}
			minted++
		case ReleaseHold:
			return false
		case RegisterClass, RegisterClassShape, RenameClass:
			if !s.doing.permit.Register {
				return false
			}
		}
		if !op.Kind.IsCondition() && !s.reachesArgs(op) { // conditions have no inverse
			return false
		}
	}
	return true
}

// reachesArgs reports whether the sender may use every container and instance that the
// arguments of an operation name.
func (s *State) reachesArgs(op *Op) bool {
	for j, arg := range op.Kind.Args() {
		if !op.Given(j) && newIDArg[op.Kind]&(1<<j) == 0 {
			continue
		}
		switch id := op.Args[j]; {
		case arg.Type == ArgContainer || op.Kind == CreateContainer && j == CreateContainerID:
			if ref := s.findContainer(id); ref == 0 || !s.reaches(ref) {
				return false
			}
		case arg.Type == ArgInstance:
			if !s.reachesInstance(id) {
				return false
			}
		}
	}
	return true
}

func (s *State) reachesInstance(id int64) bool {
	ref := s.findInstance(id)
	return ref != 0 && s.mayUse(ref)
}

// hideReversed replaces an error that names something the sender may not use. The sender
// did not name it: the inverse operation takes the name from the reversed commit.
func (s *State) hideReversed(tx *Transaction, err *Error) *Error {
	if tx.inverse != nil && s.doing.limited && err.Code == Forbidden {
		return commitForbidden(tx.Reverses)
	}
	return err
}

// ForbidReverses makes Apply reject tx if its body states which commit it
// reverses. Only an import, which needs the scope admin, may do that.
func (tx *Transaction) ForbidReverses() {
	if tx.Reverses != 0 && tx.Endpoint == EndpointCommit {
		tx.Refuse(Errorf(Forbidden, "This token may not say which commit a transaction reverses: that needs the scope admin.").
			With(Text("scope", "admin")))
	}
}

// Refuse makes Apply reject tx, which reverses a commit, with err, for example because
// that commit can't be given to Invert. A retry with a known idempotency key still gets
// the first result.
func (tx *Transaction) Refuse(err *Error) { tx.inverse = &inverse{refused: err} }

// wantUnchanged returns an error for an inverse operation that does not find what
// the commit left.
func (s *State) wantUnchanged(of *inverse, g *guard, op *Op) *Error {
	if g.kind == guardNone {
		return nil
	}
	if g.kind == guardNoGrid {
		// A container created after the commit is a different one, in which the commit
		// left nothing.
		if ref := s.findContainer(g.a); ref != 0 && s.containers.at(ref).kind == Grid && s.containers.at(ref).created <= of.seq && s.reaches(ref) {
			return notReversible(of, g.op, "record", "its record was made by an earlier version, and does not say where the stack was.")
		}
		return nil
	}
	same, err := s.meets(of, g, op)
	if err != nil && err.Code == Forbidden {
		return err.At(int(s.doing.op))
	}
	if err != nil || !same {
		return notReversible(of, g.op, "changed", "what it left has changed since.")
	}
	return nil
}

func (s *State) reaches(cref uint32) bool { return s.doing.permit.allows(s.containers.at(cref).owner) }

// meets reports whether the state has what the commit left. Errors are those of
// lookups.
func (s *State) meets(of *inverse, g *guard, op *Op) (bool, *Error) {
	switch g.kind {
	case guardCreated:
		_, c, err := s.wantContainer(op, CreateContainerID)
		return err == nil && c.created == of.seq, err
	case guardHold:
		// The sender may use the container. A hold with this id elsewhere is a
		// different one.
		ref := s.findHold(op.Args[HoldID])
		return ref != 0 && s.holds.at(ref).seq == of.seq && s.holds.at(ref).quantity == g.a, nil
	case guardParent:
		_, r, err := s.wantInstance(op, InstanceArg)
		return err == nil && r.where == Attached && s.instances.at(r.host).id == g.a, err
	case guardSlots:
		return s.meetsSlots(g, op)
	}
	cref, c, err := s.wantContainer(op, GridContainer)
	if err != nil || c.kind != Grid {
		return false, err
	}
	ref := s.placeOf(g, cref)
	if ref == 0 {
		return false, nil
	}
	p := s.placements.at(ref)
	return p.container == cref && p.x == g.at.X && p.y == g.at.Y && p.turned == g.at.Turned, nil
}

// placeOf returns the placement of the stack or instance that the guard is about, or 0
// if there is none.
func (s *State) placeOf(g *guard, cref uint32) uint32 {
	if g.kind == guardInstance {
		if ref := s.findInstance(g.a); ref != 0 && s.instances.at(ref).where == InGrid {
			return s.instances.at(ref).spot
		}
		return 0
	}
	if ref := s.findStack(cref, s.findClass(g.a), g.b); ref != 0 {
		return s.stacks.at(ref).place
	}
	return 0
}

// meetsSlots is like meets, for the slot of RemoveFromSlot or the two of SwapSlots.
func (s *State) meetsSlots(g *guard, op *Op) (bool, *Error) {
	in := func(container, slot int, want int64) (bool, *Error) {
		cref, c, err := s.wantContainer(op, container)
		if err != nil || c.kind != Slots {
			return false, err
		}
		ref := s.slotAt(cref, op.Args[slot])
		return ref == 0 && want == 0 || ref != 0 && s.instances.at(ref).id == want, nil
	}
	if op.Kind == RemoveFromSlot {
		return in(SlotContainer, SlotIndex, g.a)
	}
	same, err := in(SwapContainer, SwapA, g.a)
	if err != nil {
		return false, err
	}
	other := SwapContainer
	if op.Given(SwapOther) {
		other = SwapOther
	}
	also, err := in(other, SwapB, g.b)
	return same && also, err
}
