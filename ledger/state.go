package ledger

// State is the whole ledger in memory: the result of the commits applied so far.
// It does no locking: a change needs exclusive access, but reads may run concurrently.
type State struct {
	seq          uint64
	digest       uint64 // sum of the items, see digest.go
	nextInstance int64  // id of the next instance minted

	containers slab[container, *container]
	classes    slab[class, *class]
	shapes     slab[shape, *shape]
	stacks     slab[stack, *stack]
	instances  slab[instance, *instance]
	placements slab[placement, *placement]
	grids      slab[grid, *grid]
	holdings   slab[holding, *holding]
	holds      slab[hold, *hold]
	heldSums   slab[heldSum, *heldSum]
	reversals  slab[reversal, *reversal]

	byID, byOwner, byKind, classTree uint32 // roots
	holdTree, dueTree, reversalTree  uint32

	part2 bool // there has been a name or code

	names               [nameTables]nameTable
	byName, byOwnerName ordered           // labels of containers; the second only of those with an owner
	assigned            [nameTables]int64 // next ids that the ledger assigns
	free                [nameTables]freeIDs

	lists classLists

	undo   undoList
	doing  doing
	loose  []loosened // see permit.go
	fit    fitter
	memory keyMemory

	observed     *Changes // see Observe
	observedFull func()

	replayed  Outcome
	replaying bool // the transaction comes from the log

	ahead ahead // see Prefetch

	// These come last because each is large.
	containerIndex, classIndex, stackIndex, instanceIndex, holdingIndex, holdIndex index
}

// doing is the state that the operations of the current transaction share.
type doing struct {
	out         *Outcome
	at          int64 // time of the batch, Unix nanoseconds
	op          int32
	firstMinted int64
	permit      *Permit // nil: everything is allowed
	limited     bool    // the permit is limited to owners

	consolidated int // stacks that ConsolidateStacks has moved
	gridWork     int // see MaxGridWork
}

// Config configures a state.
type Config struct {
	IdempotencyKeys int // number of keyed commits to remember; 0: none
}

// NewState returns the empty ledger.
func NewState(c Config) *State {
	s := &State{nextInstance: 1}
	s.memory.limit = uint64(max(c.IdempotencyKeys, 0))
	for table := range s.assigned {
		s.assigned[table] = FirstAssigned
	}
	return s
}

// Seq returns the global_seq of the last applied commit, or 0 if there is none.
func (s *State) Seq() uint64 { return s.seq }

// Apply checks and applies tx as commit Seq()+1, and stores the outcome in out. The
// argument at is the time of the batch that will hold the commit, in Unix nanoseconds. It
// must not be before the time of the previous commit. An error names the operation at
// fault, if it is about one. After an error the state is unchanged and out is empty.
func (s *State) Apply(tx *Transaction, at int64, out *Outcome) *Error {
	out.Reset()
	if len(tx.Ops) == 0 && (tx.inverse == nil || tx.inverse.refused == nil) {
		return Errorf(InvalidRequest, "A transaction needs at least one operation.").With(Text("field", "operations"))
	}
	s.begin()
	if s.observed == nil && s.transferAhead(tx, true) {
		s.undo.open = true
		return nil
	}
	d := &s.doing // set field by field: a composite literal would be built elsewhere and copied
	d.out, d.at, d.firstMinted, d.permit, d.limited, d.consolidated, d.gridWork = out, at, s.nextInstance, tx.permit, tx.permit.Limited(), 0, 0
	s.loose = s.loose[:0]
	var guards []guard // set for a reversal
	if tx.Reverses != 0 {
		if err := s.beginReversal(tx); err != nil {
			s.rollback()
			return err
		}
		if tx.inverse != nil {
			guards = tx.inverse.guards
		}
	}
	many := len(tx.Ops) > prefetchOps && s.stacks.next >= prefetchFrom
	moveOnly := tx.permit != nil && tx.permit.Transfer
	for i := range tx.Ops {
		s.doing.op = int32(i)
		if many && i%prefetchOps == 0 {
			s.expect(tx.Ops[i:min(i+prefetchOps, len(tx.Ops))])
			s.Prefetch()
		}
		if guards != nil {
			if err := s.wantUnchanged(tx.inverse, &guards[i], &tx.Ops[i]); err != nil {
				err = s.hideReversed(tx, err)
				s.rollback()
				out.Reset()
				return err
			}
		}
		from := len(s.undo.entries)
		var err *Error
		if moveOnly {
			err = wantMoves(&tx.Ops[i])
		}
		if err == nil {
			err = s.perform(&tx.Ops[i])
		}
		if err == nil && s.doing.gridWork > MaxGridWork {
			err = s.wantLittleGridWork()
		}
		if err != nil {
			err = s.hideReversed(tx, err.At(i))
			s.rollback()
			out.Reset()
			return err
		}
		if s.observed != nil && s.replaying {
			s.observeOp(&tx.Ops[i], from)
		}
	}
	if len(s.loose) > 0 {
		if err := s.wantNoneLoose(); err != nil {
			s.rollback()
			out.Reset()
			return err
		}
	}
	if n := s.nextInstance - s.doing.firstMinted; n > 0 {
		out.FirstMinted, out.Minted = s.doing.firstMinted, int(n)
	}
	s.doing.out = nil
	s.undo.open = true
	return nil
}

// Undo reverts the last accepted Apply. It must be called directly after that Apply.
// From then on, reads and decisions are as if that Apply had not happened.
func (s *State) Undo() {
	if !s.undo.open {
		panic("ledger: Undo must be called directly after an accepted Apply")
	}
	s.rollback()
}

func (s *State) perform(op *Op) *Error {
	switch op.Kind {
	case TransferFungible:
		return s.transferFungible(op)
	case AddFungible:
		return s.addFungible(op)
	case RemoveFungible:
		return s.removeFungible(op)
	case MergeStacks:
		return s.mergeStacks(op)
	case ConsolidateStacks:
		return s.consolidateStacks(op)
	case CreateContainer:
		return s.createContainer(op)
	case RemoveContainer:
		return s.removeContainer(op)
	case MintInstance:
		return s.mintInstance(op)
	case BurnInstance:
		return s.burnInstance(op)
	case Attach:
		return s.attachInstance(op)
	case Detach:
		return s.detachInstance(op)
	case PlaceInSlot:
		return s.placeInSlot(op)
	case RemoveFromSlot:
		return s.removeFromSlot(op)
	case SwapSlots:
		return s.swapSlots(op)
	case PlaceInGrid:
		return s.placeInGrid(op)
	case RemoveFromGrid:
		return s.removeFromGrid(op)
	case MoveInGrid:
		return s.moveInGrid(op)
	case RegisterClass:
		return s.registerClass(op)
	case RegisterClassShape:
		return s.registerClassShape(op)
	case RenameContainer:
		return s.renameContainer(op)
	case RenameClass:
		return s.renameClass(op)
	case RequireBalance:
		return s.requireBalance(op)
	case RequireUnchanged:
		return s.requireUnchanged(op)
	case RequireInstance:
		return s.requireInstance(op)
	case HoldFungible:
		return s.holdFungible(op)
	case SettleHold:
		return s.settleHold(op)
	case ReleaseHold:
		return s.releaseHold(op)
	case SplitStack:
		return s.splitStack(op)
	}
	return Errorf(UnknownOperation, "There is no operation number %d.", op.Kind).With(Num("op", int64(op.Kind)))
}
