package ledger

import (
	"strings"
	"unsafe"
)

// An inverse is the result of Invert for the commit that a transaction reverses.
type inverse struct {
	seq    uint64 // global_seq of the commit
	minted int64  // first instance that the commit minted
	ops    []Op   // operations of the commit, with {"minted": n} resolved; nil after Refuse
	guards []guard

	refused *Error // why the commit can't be reversed, whatever the state is; nil if that depends on the state
}

// A guard is the condition of an inverse operation: the operation must find exactly what
// the commit left.
type guard struct {
	op   int32     // index in the commit
	kind guardKind // what is compared
	a, b int64
	at   Fact // the place, for guards in a Grid
}

type guardKind uint8

const (
	guardNone     guardKind = iota
	guardSlots              // a, b: the instances in the one or two slots, 0 for none
	guardInstance           // instance a at the place
	guardStack              // the stack of class a and key b at the place
	guardParent             // a: the parent
	guardCreated            // the container that the commit created
	guardHold               // the hold that the commit created, of quantity a
	guardNoGrid             // container a, to which a stack may return, is not a Grid, so that no place is missing from the record
)

// Invert makes tx reverse commit seq, and gives tx the operations that undo that
// commit: the inverse operations in reverse order. rec is the commit's record, which
// the caller may reuse: tx keeps only its strings. If the commit can't be reversed,
// Apply rejects tx.
func (tx *Transaction) Invert(rec *Record, seq uint64) {
	v := inverter{rec: rec, to: &inverse{seq: seq, minted: rec.Out.FirstMinted}}
	v.resolve()
	decisions, facts := rec.Out.Decisions, rec.Out.Facts
	for i := len(v.to.ops) - 1; i >= 0 && v.err == nil; i-- {
		v.guard = guard{op: int32(i)}
		v.decision, v.fact = nil, nil
		if n := len(decisions) - 1; n >= 0 && int(decisions[n].Op) == i {
			v.decision, decisions = &decisions[n], decisions[:n]
		}
		if n := len(facts) - 1; n >= 0 && int(facts[n].Op) == i {
			v.fact, facts = &facts[n], facts[:n]
		}
		if op := &v.to.ops[i]; !op.Kind.IsCondition() {
			v.invert(op)
		}
	}
	v.to.refused = v.err
	tx.Reverses, tx.Ops, tx.inverse = seq, v.ops, v.to
}

// InverseSize returns the maximum number of bytes that Invert allocates for the
// record, plus those of the record's texts that it keeps.
func InverseSize(rec *Record) int64 {
	const each = 2*unsafe.Sizeof(Op{}) + unsafe.Sizeof(guard{})
	size := inverseFixed + int64(len(rec.Tx.Ops))*int64(each)
	for i := range rec.Tx.Ops {
		size += int64(len(rec.Tx.Ops[i].Name))
	}
	for i := range rec.Out.Decisions {
		size += 2 * int64(len(rec.Out.Decisions[i].Was)) // split, and joined again
	}
	return size
}

// inverseFixed is the number of bytes that Invert allocates for any record: the
// inverse itself, the rounding of its three lists to whole pages, and a
// rejection.
const inverseFixed = 3*8<<10 + 2<<10

// An inverter builds the inverse of a commit, beginning with its last operation.
type inverter struct {
	rec      *Record
	to       *inverse
	decision *Decision // of the operation, or nil
	fact     *Fact     // of the operation, or nil
	guard    guard     // of its inverse
	ops      []Op
	err      *Error
}

// resolve copies the operations, and replaces {"minted": n} with the ids of the
// instances.
func (v *inverter) resolve() {
	n := len(v.rec.Tx.Ops) // no operation has more than one inverse
	v.to.ops, v.to.guards, v.ops = make([]Op, 0, n), make([]guard, 0, n), make([]Op, 0, n)
	for _, op := range v.rec.Tx.Ops {
		for i := range op.Kind.Args() {
			if op.Ref&mintedArgs[op.Kind]&(1<<i) != 0 {
				op.Args[i] += v.rec.Out.FirstMinted
			}
		}
		op.Ref &^= mintedArgs[op.Kind]
		v.to.ops = append(v.to.ops, op)
	}
}

// refuse records why the commit can't be reversed.
func (v *inverter) refuse(reason, format string, args ...any) {
	v.err = notReversible(v.to, v.guard.op, reason, format, args...)
}

func notReversible(of *inverse, op int32, reason, format string, args ...any) *Error {
	kind := of.ops[op].Kind.String()
	args = append([]any{op, of.seq, kind}, args...)
	return Errorf(NotReversible, "Operation %d of commit %d, %s, can't be reversed: "+format, args...).
		With(Num("global_seq", int64(of.seq)), Text("op", kind), Text("reason", reason)).At(int(op))
}

// add appends an inverse operation with its first arguments.
func (v *inverter) add(kind OpKind, args ...int64) *Op {
	o := Op{Kind: kind, Has: 1<<len(args) - 1}
	copy(o.Args[:], args)
	v.ops = append(v.ops, o)
	v.to.guards = append(v.to.guards, v.guard)
	return &v.ops[len(v.ops)-1]
}

// set sets another argument.
func (o *Op) set(i int, v int64) {
	o.Has |= 1 << i
	o.Args[i] = v
}

// setPlace sets x, y and rotation, the first of which is argument i.
func (o *Op) setPlace(i int, f *Fact) {
	o.set(i, int64(f.X))
	o.set(i+1, int64(f.Y))
	o.set(i+2, rotationOf(f.Turned))
}

// needs reports whether the record has the fact that the operation's inverse needs. If
// not, it records that the commit can't be reversed.
func (v *inverter) needs() bool {
	if v.fact == nil {
		v.refuse("record", "its record was made by an earlier version and lacks what is needed.")
	}
	return v.fact != nil
}

func (v *inverter) invert(op *Op) {
	a := &op.Args
	switch op.Kind {
	case CreateContainer:
		v.guard.kind = guardCreated
		v.add(RemoveContainer, a[CreateContainerID])
	case AddFungible:
		v.add(RemoveFungible, a[FungibleContainer], a[FungibleClass], a[FungibleKey], a[FungibleQuantity])
	case RemoveFungible, TransferFungible, MergeStacks, SplitStack:
		v.invertStack(op)
	case HoldFungible:
		v.guard.kind, v.guard.a = guardHold, a[HoldQuantity]
		v.add(ReleaseHold, a[HoldID])
	case RenameContainer, RenameClass:
		v.invertRename(op)
	case MintInstance:
		v.add(BurnInstance, v.minted())
	case Attach:
		v.guard.kind, v.guard.a = guardParent, a[ParentArg]
		v.add(Detach, a[InstanceArg])
	case Detach:
		if v.needs() {
			v.add(Attach, a[InstanceArg], v.fact.A)
		}
	case PlaceInSlot:
		v.guard.kind, v.guard.a = guardSlots, a[SlotInstance]
		v.add(RemoveFromSlot, a[SlotContainer], a[SlotIndex])
	case RemoveFromSlot:
		if v.needs() {
			v.add(PlaceInSlot, a[SlotContainer], a[SlotIndex], v.fact.A)
		}
	case SwapSlots:
		if v.needs() {
			v.guard.kind, v.guard.a, v.guard.b = guardSlots, v.fact.A, v.fact.B
			v.add(SwapSlots, a[SwapContainer], a[SwapA], a[SwapB])
			v.ops[len(v.ops)-1] = *op
		}
	case PlaceInGrid, RemoveFromGrid, MoveInGrid:
		v.invertGrid(op)
	default:
		v.refuse("operation", "it has no inverse.")
	}
}

// minted returns the id of the instance that the operation of the guard minted.
func (v *inverter) minted() int64 {
	id := v.rec.Out.FirstMinted
	for i := range v.to.ops[:v.guard.op] {
		if v.to.ops[i].Kind == MintInstance {
			id++
		}
	}
	return id
}

// invertStack adds the operation that moves a quantity back to the stack that it was
// taken from. If op emptied a stack in a Grid, the stack gets its former place back.
func (v *inverter) invertStack(op *Op) {
	a, place := &op.Args, 0
	if v.fact == nil {
		v.guard.kind, v.guard.a = guardNoGrid, a[0] // the container that it was taken from
	}
	switch op.Kind {
	case RemoveFungible:
		v.add(AddFungible, a[FungibleContainer], a[FungibleClass], a[FungibleKey], a[FungibleQuantity])
		place = AddX
	case TransferFungible:
		v.add(TransferFungible, a[TransferTo], a[TransferFrom], a[TransferClass], a[TransferKey], a[TransferQuantity])
		place = TransferX
	case MergeStacks:
		v.add(SplitStack, a[MergeContainer], a[MergeClass], a[MergeToKey], a[MergeFromKey], v.decision.Quantity)
		place = SplitX
	case SplitStack:
		v.add(SplitStack, a[SplitContainer], a[SplitClass], a[SplitToKey], a[SplitFromKey], a[SplitQuantity])
		place = SplitX
	}
	if v.fact != nil && v.fact.Form == FactStood {
		v.ops[len(v.ops)-1].setPlace(place, v.fact)
	}
}

func (v *inverter) invertGrid(op *Op) {
	a := &op.Args
	if op.Kind == PlaceInGrid {
		v.guard.kind, v.guard.a = guardInstance, a[GridInstance]
		v.guard.at = Fact{X: uint16(a[GridX]), Y: uint16(a[GridY]), Turned: a[GridRotation] != 0}
		if d := v.decision; d != nil {
			v.guard.at = Fact{X: d.X, Y: d.Y, Turned: d.Turned}
		}
		v.add(RemoveFromGrid, a[GridContainer], a[GridInstance])
		return
	}
	if !v.needs() {
		return
	}
	if op.Kind == RemoveFromGrid {
		v.add(PlaceInGrid, a[GridContainer], a[GridInstance]).setPlace(GridX, v.fact)
		return
	}
	v.guard.kind, v.guard.a, v.guard.b = guardInstance, v.fact.A, v.fact.B
	if v.fact.Form == FactMovedStack {
		v.guard.kind = guardStack
	}
	turned := op.Get(MoveRotation, rotationOf(v.fact.Turned)) != 0
	v.guard.at = Fact{X: uint16(a[MoveToX]), Y: uint16(a[MoveToY]), Turned: turned}
	v.add(MoveInGrid, a[MoveContainer], a[MoveToX], a[MoveToY], int64(v.fact.X), int64(v.fact.Y), rotationOf(v.fact.Turned))
}

// invertRename restores the texts that a rename replaced, or removes a text that
// did not exist before.
func (v *inverter) invertRename(op *Op) {
	if v.decision == nil || !v.decision.Renamed {
		v.refuse("record", "its record does not say what it replaced.")
		return
	}
	back := *op
	back.Null, back.Name = 0, ""
	was, texts := v.decision.Was, op.Has&textArgs[op.Kind]
	for i := range op.Kind.Args() {
		if texts&(1<<i) == 0 {
			continue
		}
		text, rest, _ := strings.Cut(was, "\n")
		was = rest
		if text == "" {
			back.Null |= 1 << i
			continue
		}
		if back.Name != "" {
			back.Name += "\n"
		}
		back.Name += text
	}
	v.add(op.Kind)
	v.ops[len(v.ops)-1] = back
}
