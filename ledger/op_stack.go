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

// totalExceeded returns the error for a class that has no room for q more. A sender
// limited to owners does not get the total, which is the sum over all owners.
func (s *State) totalExceeded(k *class, q int64) *Error {
	if s.doing.limited {
		return Errorf(InvalidOperation, "Adding %d of class %s would raise the total of the class above %d.", q, s.classCalled(k), int64(math.MaxInt64)).
			With(Num("class_id", k.id), Num("quantity", q))
	}
	return Errorf(InvalidOperation, "Class %s has a total of %d; adding %d would exceed %d.", s.classCalled(k), k.total(), q, int64(math.MaxInt64)).
		With(Num("class_id", k.id), Num("total_quantity", k.total()), Num("quantity", q))
}

// give adds q to the stack target. If target is 0, it creates the stack. In a Grid, it
// puts the new stack at the given place.
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

// wantStacksOf finds the container and the class that the operation names. It returns
// an error if the container can't hold stacks or has no cells for the requested place,
// or if the class is not fungible.
func (s *State) wantStacksOf(op *Op, container, class int, want placeArgs) (cref, kref uint32, err *Error) {
	cref, c, err := s.wantContainer(op, container)
	if err != nil {
		return 0, 0, err
	}
	kref, k, err := s.wantClass(op, class)
	if err != nil {
		return 0, 0, err
	}
	return cref, kref, s.wantStackKinds(c, k, want)
}

// wantAvailable returns an error for a quantity that is below 1 or more than the stack
// has available.
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
	if err := s.wantStacks(fc); err != nil {
		return err
	}
	if err := s.wantStackKinds(tc, k, want); err != nil {
		return err
	}
	key, q := op.Args[TransferKey], op.Args[TransferQuantity]
	source, err := s.wantStack(from, kref, key)
	if err != nil {
		return err
	}
	target := s.findStack(to, kref, key)
	var at spot
	if tc.kind == Grid {
		if at, err = s.stackSpot(tc, kref, key, target, want); err != nil {
			return err
		}
	}
	if err := s.wantAvailable(source, q); err != nil {
		return err
	}
	if fc.kind == Grid {
		s.noteSource(source, q)
	}
	s.give(to, kref, key, q, target, at)
	s.setQuantity(source, s.stacks.at(source).quantity-q)
	s.touch(from)
	s.touch(to)
	return nil
}

// wantStackKinds checks that the container can hold stacks, that the place fits the
// container's kind, and that the class is fungible.
func (s *State) wantStackKinds(c *container, k *class, want placeArgs) *Error {
	if err := s.wantStacks(c); err != nil {
		return err
	}
	if err := s.wantPlaceFits(c, want); err != nil {
		return err
	}
	return s.wantFungible(k)
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

// decideMoved adds to the outcome a quantity that the ledger determined.
func (s *State) decideMoved(q int64) {
	s.doing.out.Decisions = append(s.doing.out.Decisions, Decision{Op: s.doing.op, Quantity: q})
}
