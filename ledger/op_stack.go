package ledger

import "math"

func (s *State) addFungible(op *Op) *Error {
	want, err := readPlace(op, AddX)
	if err != nil {
		return err
	}
	cref, kref, err := s.wantStacksOf(op, FungibleContainer, FungibleClass, want)
	if err != nil {
		return err
	}
	c, k := s.containers.at(cref), s.classes.at(kref)
	key, q := op.Args[FungibleKey], op.Args[FungibleQuantity]
	target := s.findStack(cref, kref, key)
	at, err := s.stackSpot(c, kref, key, target, want)
	if err != nil {
		return err
	}
	if err := wantQuantity(q); err != nil {
		return err
	}
	if q > math.MaxInt64-k.total() {
		return s.totalExceeded(k, q)
	}
	s.addTotal(kref, q)
	s.give(cref, kref, key, q, target, at)
	s.touch(cref)
	return nil
}

// totalExceeded refuses to add q to a class that has no room for it. A sender
// limited to owners does not get the total: it is the sum of what all owners have.
func (s *State) totalExceeded(k *class, q int64) *Error {
	if s.doing.limited {
		return Errorf(InvalidOperation, "Adding %d of class %d would raise the total of the class above %d.", q, k.id, int64(math.MaxInt64)).
			With(Num("class_id", k.id), Num("quantity", q))
	}
	return Errorf(InvalidOperation, "Class %d has a total of %d; adding %d would exceed %d.", k.id, k.total(), q, int64(math.MaxInt64)).
		With(Num("class_id", k.id), Num("total_quantity", k.total()), Num("quantity", q))
}

// give adds to the stack target, or makes it (target 0), at a place in a Grid.
func (s *State) give(cref, kref uint32, key, q int64, target uint32, at spot) {
	if target != 0 {
		s.setQuantity(target, s.stacks.at(target).quantity+q)
		return
	}
	target = s.makeStack(cref, kref, key, q)
	if s.containers.at(cref).kind == Grid {
		s.place(cref, target, false, at)
	}
}

func (s *State) removeFungible(op *Op) *Error {
	cref, kref, err := s.wantStacksOf(op, FungibleContainer, FungibleClass, placeArgs{})
	if err != nil {
		return err
	}
	key, q := op.Args[FungibleKey], op.Args[FungibleQuantity]
	source, err := s.wantStack(cref, kref, key)
	if err != nil {
		return err
	}
	if err := s.wantAvailable(source, q); err != nil {
		return err
	}
	s.noteSource(source, q)
	s.removeTotal(kref, q)
	s.setQuantity(source, s.stacks.at(source).quantity-q)
	s.touch(cref)
	return nil
}

// wantStacksOf finds a container that can hold stacks, at the place asked for,
// and a fungible class.
func (s *State) wantStacksOf(op *Op, container, class int, want placeArgs) (cref, kref uint32, err *Error) {
	cref, c, err := s.wantContainer(op, container)
	if err != nil {
		return 0, 0, err
	}
	kref, k, err := s.wantClass(op, class)
	if err != nil {
		return 0, 0, err
	}
	return cref, kref, wantStackKinds(c, k, want)
}

// wantAvailable refuses a quantity below 1 or above what the stack has available.
func (s *State) wantAvailable(source uint32, q int64) *Error {
	if err := wantQuantity(q); err != nil {
		return err
	}
	r := s.stacks.at(source)
	if r.quantity < q || r.held != 0 && s.available(r) < q {
		return s.insufficientBalance(r, q)
	}
	return nil
}

func (s *State) transferFungible(op *Op) *Error {
	want, err := readPlace(op, TransferX)
	if err != nil {
		return err
	}
	if op.Ref != 0 {
		s.resolve(op, TransferFrom, TransferTo)
	}
	if id := op.Args[TransferFrom]; id == op.Args[TransferTo] && id != 0 {
		return Errorf(InvalidOperation, "from_container and to_container are both %d; a transfer needs two containers.", id).
			With(Num("from_container", id), Num("to_container", id))
	}
	from, fc, err := s.wantContainer(op, TransferFrom)
	if err != nil {
		return err
	}
	to, tc, err := s.wantContainer(op, TransferTo)
	if err != nil {
		return err
	}
	kref, k, err := s.wantClass(op, TransferClass)
	if err != nil {
		return err
	}
	if err := wantStacks(fc); err != nil {
		return err
	}
	if err := wantStackKinds(tc, k, want); err != nil {
		return err
	}
	key, q := op.Args[TransferKey], op.Args[TransferQuantity]
	source, err := s.wantStack(from, kref, key)
	if err != nil {
		return err
	}
	target := s.findStack(to, kref, key)
	at, err := s.stackSpot(tc, kref, key, target, want)
	if err != nil {
		return err
	}
	if err := s.wantAvailable(source, q); err != nil {
		return err
	}
	s.noteSource(source, q)
	s.give(to, kref, key, q, target, at)
	s.setQuantity(source, s.stacks.at(source).quantity-q)
	s.touch(from)
	s.touch(to)
	return nil
}

// wantStackKinds checks that the container holds stacks, the place fits its
// kind, and the class has stacks.
func wantStackKinds(c *container, k *class, want placeArgs) *Error {
	if err := wantStacks(c); err != nil {
		return err
	}
	if err := wantPlaceFits(c, want); err != nil {
		return err
	}
	return wantFungible(k)
}

func (s *State) mergeStacks(op *Op) *Error {
	fromKey, toKey := op.Args[MergeFromKey], op.Args[MergeToKey]
	if fromKey == toKey {
		return Errorf(InvalidOperation, "from_key and to_key are both %d; a merge needs two stacks.", fromKey).
			With(Num("from_key", fromKey), Num("to_key", toKey))
	}
	cref, kref, err := s.wantStacksOf(op, MergeContainer, MergeClass, placeArgs{})
	if err != nil {
		return err
	}
	from, err := s.wantStack(cref, kref, fromKey)
	if err != nil {
		return err
	}
	to, err := s.wantStack(cref, kref, toKey)
	if err != nil {
		return err
	}
	if err := s.wantNotHeld(from); err != nil {
		return err
	}
	moved := s.stacks.at(from).quantity
	s.noteSource(from, moved)
	s.dropStack(from)
	s.setQuantity(to, s.stacks.at(to).quantity+moved)
	s.touch(cref)
	s.decideMoved(moved)
	return nil
}

// decideMoved puts a quantity that the ledger found into the outcome.
func (s *State) decideMoved(q int64) {
	s.doing.out.Decisions = append(s.doing.out.Decisions, Decision{Op: s.doing.op, Quantity: q})
}

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
	c, id := s.containers.at(cref), s.classes.at(kref).id
	moved, after := int64(0), rank{id, -1}
	for {
		ref := treeNext(stacksByClass{s}, c.stackTree, after)
		if ref == 0 || s.stacks.at(ref).class != kref {
			break
		}
		r := s.stacks.at(ref)
		after.minor = r.key
		if ref != into {
			moved += r.quantity
			s.dropStack(ref)
			s.doing.consolidated++
		}
	}
	if moved != 0 {
		s.setQuantity(into, s.stacks.at(into).quantity+moved)
	}
	s.touch(cref)
	s.decideMoved(moved)
	return nil
}

// MaxConsolidated is how many stacks one transaction may move by
// ConsolidateStacks: it is the only operation whose cost grows with what is
// stored, and nothing else is judged meanwhile.
const MaxConsolidated = 100_000

// wantFewStacks refuses to consolidate more stacks than a transaction may move.
// What the log holds was accepted, perhaps before there was a limit.
func (s *State) wantFewStacks(cref, kref uint32) *Error {
	c, k := s.containers.at(cref), s.classes.at(kref)
	most := 1 + MaxConsolidated - s.doing.consolidated // with the one that they go into
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
	return Errorf(InvalidOperation, "Container %d holds more stacks of class %d than one transaction may consolidate, which is %d: merge some of them in earlier transactions.",
		c.id, k.id, MaxConsolidated).With(Num("container_id", c.id), Num("class_id", k.id), Num("max_stacks", MaxConsolidated))
}

// consolidationTarget is the stack of the key given, or else of the lowest key there.
func (s *State) consolidationTarget(op *Op, cref, kref uint32) (uint32, *Error) {
	if op.Given(ConsolidateKey) {
		return s.wantStack(cref, kref, op.Args[ConsolidateKey])
	}
	c, k := s.containers.at(cref), s.classes.at(kref)
	ref := treeNext(stacksByClass{s}, c.stackTree, rank{k.id, -1})
	if ref == 0 || s.stacks.at(ref).class != kref {
		return 0, Errorf(StackNotFound, "Container %d holds no stack of class %d.", c.id, k.id).
			With(Num("container_id", c.id), Num("class_id", k.id))
	}
	return ref, nil
}
