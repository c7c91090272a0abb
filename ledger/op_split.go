package ledger

func (s *State) splitStack(op *Op) *Error {
	want, err := readPlace(op, SplitX)
	if err != nil {
		return err
	}
	fromKey, toKey, q := op.Args[SplitFromKey], op.Args[SplitToKey], op.Args[SplitQuantity]
	if fromKey == toKey {
		return Errorf(InvalidOperation, "from_key and to_key are both %d; a split needs two stacks.", fromKey).
			With(Num("from_key", fromKey), Num("to_key", toKey))
	}
	cref, kref, err := s.wantStacksOf(op, SplitContainer, SplitClass, want)
	if err != nil {
		return err
	}
	source, err := s.wantStack(cref, kref, fromKey)
	if err != nil {
		return err
	}
	target := s.findStack(cref, kref, toKey)
	at, err := s.stackSpot(s.containers.at(cref), kref, toKey, target, want)
	if err != nil {
		return err
	}
	if err := s.wantAvailable(source, q); err != nil {
		return err
	}
	s.noteSource(source, q)
	s.setQuantity(source, s.stacks.at(source).quantity-q)
	s.give(cref, kref, toKey, q, target, at)
	s.touch(cref)
	return nil
}
