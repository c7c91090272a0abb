package ledger

// prefetchFrom is the number of stacks below which all of them are in the
// processor's cache anyway: about 100 bytes each with what finds them.
const prefetchFrom = 1 << 16

// Prefetch loads what the operations of tx will look at, and changes nothing
// that shows. With many stacks each lookup waits for memory; done for some
// transactions before the first of them is applied, the processor waits for
// all of them at once. It needs the state alone, as Apply does.
func (s *State) Prefetch(tx *Transaction) {
	if s.stacks.next < prefetchFrom {
		return
	}
	for i := range tx.Ops {
		switch op := &tx.Ops[i]; op.Kind {
		case TransferFungible:
			class := s.lookClass(op, TransferClass)
			s.prefetchStack(s.lookContainer(op, TransferFrom), class, op.Args[TransferKey])
			s.prefetchStack(s.lookContainer(op, TransferTo), class, op.Args[TransferKey])
		case AddFungible, RemoveFungible:
			s.prefetchStack(s.lookContainer(op, FungibleContainer), s.lookClass(op, FungibleClass), op.Args[FungibleKey])
		}
	}
}

// prefetchStack loads a container and one of its stacks. The sum keeps the
// loads from being left out as useless.
func (s *State) prefetchStack(c, class uint32, key int64) {
	if c == 0 {
		return
	}
	s.prefetched += s.containers.at(c).updated
	if ref := s.findStack(c, class, key); ref != 0 {
		s.prefetched += uint64(s.stacks.at(ref).quantity)
	}
}
