package ledger

import "math"

func (s *State) consolidateStacks(op *Op) *Error {
	cref, kref, err := s.wantStacksOf(op, ConsolidateContainer, ConsolidateClass, placeArgs{})
	if err != nil {
		return err
	}
	into, err := s.consolidationTarget(op, cref, kref)
	if err != nil {
		return err
	}
	if err := s.wantFewStacks(cref, kref); err != nil {
		return err
	}
	if err := s.wantNoneHeld(cref, kref, into); err != nil {
		return err
	}
	moved := s.gather(cref, kref, into)
	if moved != 0 {
		s.setQuantity(into, s.stacks.at(into).quantity+moved)
	}
	s.touch(cref)
	s.decideMoved(moved)
	return nil
}

// gather drops from the container all stacks of the class except one (into), and
// returns the sum of the dropped quantities. It removes them from the container's
// tree as one piece, so that both the removal and its undo cost little per stack.
func (s *State) gather(cref, kref, into uint32) (moved int64) {
	c, k, t := s.containers.at(cref), s.classes.at(kref), stacksByClass{s}
	first, last := rank{k.id, -1}, rank{k.id, math.MaxInt64}
	if c.kind == Grid {
		treeWalk(t, c.stackTree, first, func(ref uint32) bool {
			r := s.stacks.at(ref)
			if r.class == kref && ref != into {
				s.unplace(r.place)
			}
			return r.class == kref
		})
	}
	before := s.countItems(cref, kref)
	piece := treeCut(t, &c.stackTree, first, last)
	s.undo.push(undoCut, piece, 0)
	treeWalk(t, piece, first, func(ref uint32) bool {
		if ref == into {
			return true
		}
		r := s.stacks.at(ref)
		moved += r.quantity
		s.digest -= stackItem(s.stackIdentity(r), r.quantity)
		s.stackIndex.remove(stackHash(cref, kref, r.key), ref)
		s.unlistStack(ref)
		s.undo.drop(undoGathered, ref)
		c.stacks--
		k.stacks--
		s.doing.consolidated++
		return true
	})
	l := t.links(into)
	s.undo.push(undoLeftAlone, into, uint64(l.left)<<32|uint64(l.right))
	treeInsert(t, &c.stackTree, into)
	s.digest += s.countItems(cref, kref) - before
	return moved
}

// rejoin undoes treeCut: it returns the piece to the tree of its container.
func (s *State) rejoin(piece uint32) {
	r, t := s.stacks.at(piece), stacksByClass{s}
	root := &s.containers.at(r.container).stackTree
	low, high := treeSplit(t, *root, rank{s.classes.at(r.class).id, math.MaxInt64})
	*root = treeJoin(t, treeJoin(t, low, piece), high)
}

// MaxConsolidated is the maximum number of stacks that one transaction may move with
// ConsolidateStacks. The cost of this operation grows with the number of stacks that it
// merges, and no other transaction is applied in the meantime.
const MaxConsolidated = 100_000

// wantFewStacks rejects a consolidation of more stacks than the transaction may still
// move. Transactions from the log are exempt: they were accepted, perhaps before there was
// a limit.
func (s *State) wantFewStacks(cref, kref uint32) *Error {
	c, k := s.containers.at(cref), s.classes.at(kref)
	most := 1 + MaxConsolidated - s.doing.consolidated // including the one that they are merged into
	if s.replaying || min(int64(c.stacks), k.stacks) <= int64(most) {
		return nil
	}
	count := 0
	treeWalk(stacksByClass{s}, c.stackTree, rank{k.id, -1}, func(ref uint32) bool {
		if s.stacks.at(ref).class != kref {
			return false
		}
		count++
		return count <= most
	})
	if count <= most {
		return nil
	}
	return Errorf(InvalidOperation, "Container %s holds more stacks of class %s than the %d that one transaction may consolidate: merge some of them in earlier transactions.",
		s.called(c), s.classCalled(k), MaxConsolidated).With(Num("container_id", c.id), Num("class_id", k.id), Num("max_stacks", MaxConsolidated))
}

// consolidationTarget returns the stack with the given key. If no key is given, it
// returns the class's stack with the lowest key in the container.
func (s *State) consolidationTarget(op *Op, cref, kref uint32) (uint32, *Error) {
	if op.Given(ConsolidateKey) {
		return s.wantStack(cref, kref, op.Args[ConsolidateKey])
	}
	c, k := s.containers.at(cref), s.classes.at(kref)
	ref := treeNext(stacksByClass{s}, c.stackTree, rank{k.id, -1})
	if ref == 0 || s.stacks.at(ref).class != kref {
		return 0, Errorf(StackNotFound, "Container %s holds no stack of class %s.", s.called(c), s.classCalled(k)).
			With(Num("container_id", c.id), Num("class_id", k.id))
	}
	return ref, nil
}
