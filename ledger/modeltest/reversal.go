package modeltest

import "assetledger/ledger"

// A commit stores what one commit did, so that it can be reversed. The model
// notes what a reversal needs while the operations run. The real ledger finds
// it in the record.
type commit struct {
	ops   []ledger.Op // as the log stores them
	steps []step      // of each operation
	first int64       // the first instance minted, 0 if none
}

// step says how to reverse one operation. The field back is its inverse operation. The
// function same reports whether what the operation left is unchanged. If it is not, the
// reversal is rejected. If final is set, the operation can't be reversed. For a
// condition, back is nil and final is false.
type step struct {
	back  *ledger.Op
	same  func(m *Model) bool // nil: always
	final bool
}

// takenBack sets the inverse of the current operation.
func (r *run) takenBack(back *draft, same func(m *Model) bool) {
	op := ledger.Op(*back)
	r.done.steps[r.index] = step{back: &op, same: same}
}

// final records that the current operation has no inverse.
func (r *run) final() { r.done.steps[r.index] = step{final: true} }

// begin checks the reference to an earlier commit, if any, and returns the operations to apply.
func (r *run) begin(tx *ledger.Transaction) ([]ledger.Op, *Refusal) {
	refuse := func(code ledger.Code, details map[string]any) ([]ledger.Op, *Refusal) {
		return nil, &Refusal{Code: code, Op: ledger.NoOperation, Kind: WholeTransaction, Details: details}
	}
	if tx.Reverses == 0 {
		return tx.Ops, nil
	}
	reversal := tx.Endpoint == ledger.EndpointReverse && len(tx.Ops) == 0
	if r.permit != nil && tx.Endpoint == ledger.EndpointCommit {
		return refuse(ledger.Forbidden, nil) // only an import may do this, and its sender has no limits
	}
	if tx.Reverses > r.m.seq {
		return refuse(ledger.CommitNotFound, map[string]any{"global_seq": int64(tx.Reverses)})
	}
	of := &r.m.commits[tx.Reverses-1]
	if reversal && !r.reachesAll(of) {
		return refuse(ledger.Forbidden, map[string]any{"global_seq": int64(tx.Reverses)})
	}
	if by := r.m.reversedBy[tx.Reverses]; by != 0 {
		return refuse(ledger.AlreadyReversed, map[string]any{"global_seq": int64(by)})
	}
	ops := tx.Ops
	if reversal {
		for i := len(of.steps) - 1; i >= 0; i-- {
			switch s := of.steps[i]; {
			case s.final:
				return nil, of.notReversible(i, "operation")
			case s.back != nil:
				ops = append(ops, *s.back)
			}
		}
		r.back = of
	}
	r.m.reversedBy[tx.Reverses] = r.seq
	return ops, nil
}

// unchanged checks that the current operation of a reversal finds what the commit left.
func (r *run) unchanged() {
	if r.back == nil {
		return
	}
	left := r.index // number of inverse operations to skip, beginning with that of the last operation
	for i := len(r.back.steps) - 1; i >= 0; i-- {
		s := r.back.steps[i]
		if s.back == nil {
			continue
		}
		if left > 0 {
			left--
			continue
		}
		if s.same != nil && !s.same(r.m) {
			panic(r.back.notReversible(i, "changed"))
		}
		return
	}
}

// notReversible returns the rejection of a reversal because of operation i of the commit.
func (c *commit) notReversible(i int, reason string) *Refusal {
	return &Refusal{Code: ledger.NotReversible, Op: i, Kind: c.ops[i].Kind, Details: map[string]any{"reason": reason, "op": c.ops[i].Kind.String()}}
}

// reachesAll reports whether the sender may touch everything that a commit changed.
func (r *run) reachesAll(of *commit) bool {
	if !r.permit.Limited() {
		return true
	}
	minted := of.first
	for i, op := range of.ops {
		if of.steps[i].back == nil && !of.steps[i].final {
			continue // a condition
		}
		switch op.Kind {
		case ledger.MintInstance:
			if r.m.instances[minted] == nil || !r.reaches(minted) {
				return false
			}
			minted++
		case ledger.ReleaseHold:
			return false // its owner is no longer known
		case ledger.RegisterClass, ledger.RegisterClassShape, ledger.RenameClass:
			if !r.permit.Register {
				return false
			}
		}
		for j, arg := range op.Kind.Args() {
			id := op.Args[j]
			switch {
			case arg.Type == ledger.ArgContainer && op.Given(j), op.Kind == ledger.CreateContainer && j == ledger.CreateContainerID:
				if c := r.m.containers[id]; c == nil || !r.ours(c.owner) {
					return false
				}
			case arg.Type == ledger.ArgInstance && op.Given(j):
				if op.Ref&(1<<j) != 0 {
					id += of.first
				}
				if r.m.instances[id] == nil || !r.reaches(id) {
					return false
				}
			}
		}
	}
	return true
}

// ReversedBy returns the commit that reversed commit seq, or 0 if none did.
func (m *Model) ReversedBy(seq uint64) uint64 { return m.reversedBy[seq] }

// OpsOf returns the operations of commit seq, as the log stores them.
func (m *Model) OpsOf(seq uint64) []ledger.Op { return m.commits[seq-1].ops }

// MayChange reports whether later commits can change what an operation of kind k left,
// so that its reversal fails with NotReversible.
func MayChange(k ledger.OpKind) bool {
	switch k {
	case ledger.CreateContainer, ledger.HoldFungible, ledger.Attach, ledger.PlaceInSlot, ledger.SwapSlots, ledger.PlaceInGrid, ledger.MoveInGrid:
		return true
	}
	return false
}

// Ops returns the operations of the last commit, as the log stores them.
func (m *Model) Ops() []ledger.Op { return m.commits[len(m.commits)-1].ops }
