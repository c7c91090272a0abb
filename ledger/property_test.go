package ledger

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"assetledger/server/servertest/longtest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random operations; 0: a fixed set of seeds")

// randomStateOp returns an operation over small ranges of numbers, so that
// operations collide. Sometimes it omits an optional argument.
func randomStateOp(r *rand.Rand, instances int64) Op {
	op := randomOpOf(r, OpKinds(), append(part1Weights, HoldFungible, SettleHold, MergeStacks, SplitStack, RequireInstance), instances)
	randomNames(r, &op)
	return op
}

// randomNames gives an operation names: for what it creates or renames, and
// sometimes instead of an integer.
func randomNames(r *rand.Rand, op *Op) {
	pool := []string{"a", "a1", "users/1", "users/2/wallet", "users/with/a/rather/long/name/of/more/than/31", "Z" + strings.Repeat("z", MaxContainerName-1)}
	texts := map[int]string{}
	if opSpecs[op.Kind].some && op.Has == requiredArgs[op.Kind] {
		op.Has |= 1 << (len(op.Kind.Args()) - 1)
	}
	for i, arg := range op.Kind.Args() {
		bit := uint16(1) << i
		switch {
		case arg.Type == ArgOwner && op.Has&bit != 0 && op.Args[i] == 0:
			op.Null |= bit
		case arg.Type == ArgName && op.Has&bit != 0:
			texts[i] = "name"
		case nullable[op.Kind]&textArgs[op.Kind]&op.Has&bit != 0 && r.IntN(5) == 0:
			op.Null |= bit
		case namingArg[op.Kind]&bit != 0 && r.IntN(2) == 0:
			op.Has |= bit
			if r.IntN(2) == 0 {
				op.Has &^= newIDArg[op.Kind]
				op.Args[0] = 0
			}
		case nameArgs[op.Kind]&op.Has&bit != 0 && r.IntN(9) == 0:
			op.Ref |= bit
			op.Args[i] = 0
		}
		if op.texts()&bit != 0 && texts[i] == "" {
			texts[i] = pool[r.IntN(len(pool))]
			if arg.Type == ArgClass || arg.Type == ArgClassCode || arg.Type == ArgClassCodeOrNull {
				texts[i] = texts[i][:1]
			}
		}
	}
	setTexts(op, texts)
}

// part1Weights are operations of version 1 that are generated more often.
var part1Weights = []OpKind{AddFungible, TransferFungible, MintInstance, PlaceInGrid, PlaceInSlot, Attach, MoveInGrid}

// part1Op returns an operation of version 1. Golden bytes depend on the result.
func part1Op(r *rand.Rand, instances int64) Op {
	return randomOpOf(r, OpKinds()[:RegisterClassShape], part1Weights, instances)
}

func randomOpOf(r *rand.Rand, kinds, weights []OpKind, instances int64) Op {
	op := Op{Kind: kinds[r.IntN(len(kinds))]}
	if r.IntN(2) == 0 || op.Kind == RemoveContainer && r.IntN(2) != 0 {
		op.Kind = weights[r.IntN(len(weights))]
	}
	for i, arg := range op.Kind.Args() {
		if namingArg[op.Kind]&(1<<i) != 0 || !arg.Required && r.IntN(2) == 0 {
			continue
		}
		op.Has |= 1 << i
		if op.Args[i] = randomStateArg(r, arg); arg.Type == ArgName {
			op.Name = "name"
		}
		if arg.Type == ArgInstance {
			op.Args[i] = 1 + r.Int64N(instances)
		}
		if (arg.Type == ArgID || arg.Type == ArgNewID || nameArgs[op.Kind]&(1<<i) != 0) && r.IntN(10) != 0 {
			op.Args[i] = likelyID(r, op.Kind, arg.Name)
		}
		if arg.Type == ArgInstance && r.IntN(4) == 0 {
			op.Ref |= 1 << i
			op.Args[i] = int64(r.IntN(2))
		}
	}
	if r.IntN(20) != 0 {
		mendShape(&op)
	}
	return op
}

// mendShape makes the arguments consistent, as they are in most requests.
func mendShape(op *Op) {
	pair := func(x, y int) {
		if op.Has>>x&1 != op.Has>>y&1 {
			op.Has &^= 1<<x | 1<<y
		}
	}
	switch op.Kind {
	case CreateContainer:
		op.Args[CreateKind] = []int64{1, 1, 1, 1, 2, 2, 3, 3, 3}[op.Args[CreateContainerID]]
		op.Has &= 1<<CreateContainerID | 1<<CreateKind | 1<<CreateOwner |
			[]uint16{0, 0, 1 << CreateSlotCount, 1<<CreateGridWidth | 1<<CreateGridHeight}[op.Args[CreateKind]]
	case AddFungible:
		pair(AddX, AddY)
	case TransferFungible:
		pair(TransferX, TransferY)
	case PlaceInGrid:
		pair(GridX, GridY)
	case SettleHold:
		pair(SettleX, SettleX+1)
	case SplitStack:
		pair(SplitX, SplitX+1)
	case HoldFungible:
		if op.Given(HoldExpiresAt) {
			op.Has &^= 1 << HoldExpiresIn
		}
	case MintInstance:
		pair(MintX, MintY)
		if op.Has>>MintContainer&1 == 0 {
			op.Has &= 1<<MintClass | 1<<MintKey
		} else if op.Has>>MintSlot&1 == 1 {
			op.Has &= 1<<MintSlot | 1<<MintClass | 1<<MintKey | 1<<MintContainer
		}
	}
}

// field creates the state in which the random operations begin: classes, shapes, and
// containers of each kind. Some of the ids that the operations use are still free.
const field = `
	RegisterClass class_id=1 name=gold
	RegisterClass class_id=2 name=iron
	RegisterClass class_id=3 name=sword fungible=false
	RegisterClass class_id=4 name=ghost fungible=false
	RegisterClassShape class_id=1 width=2 height=1
	RegisterClassShape class_id=1 key=1 width=3 height=2
	RegisterClassShape class_id=3 width=1 height=2
	RegisterClassShape class_id=4 width=1 height=1
	CreateContainer container_id=1 kind=Standard owner=1
	CreateContainer container_id=2 kind=Standard owner=2
	CreateContainer container_id=4 kind=Slots slot_count=5
	CreateContainer container_id=5 kind=Slots slot_count=10
	CreateContainer container_id=6 kind=Grid grid_width=10 grid_height=8
	CreateContainer container_id=7 kind=Grid grid_width=90 grid_height=20
	CreateContainer container_id=8 kind=Grid grid_width=5 grid_height=5`

// likelyID returns the id of a suitable container, class or hold. Containers 1..3 are
// Standard, 4 and 5 Slots, 6..8 Grid; classes 1 and 2 are fungible, 3 and 4 are
// not.
func likelyID(r *rand.Rand, kind OpKind, name string) int64 {
	pick := func(ids ...int64) int64 { return ids[r.IntN(len(ids))] }
	switch {
	case kind == CreateContainer || kind == RemoveContainer:
		return pick(1, 2, 3, 4, 5, 6, 7, 8)
	case kind == RegisterClass || kind == RegisterClassShape:
		return pick(1, 2, 3, 4, 5, 6)
	case name == "hold_id":
		return pick(1, 2, 3, 4, 5, 6)
	case name == "class_id" && kind == MintInstance:
		return pick(3, 4)
	case name == "class_id":
		return pick(1, 2)
	case kind == MintInstance:
		return pick(4, 5, 6, 7, 8)
	case kind == PlaceInSlot || kind == RemoveFromSlot || kind == SwapSlots:
		return pick(4, 5)
	case kind == PlaceInGrid || kind == RemoveFromGrid || kind == MoveInGrid:
		return pick(6, 7, 8)
	default:
		return pick(1, 2, 3, 6, 7, 8)
	}
}

func randomStateArg(r *rand.Rand, arg Arg) int64 {
	switch arg.Type {
	case ArgID, ArgNewID, ArgContainer, ArgClass:
		return 1 + r.Int64N(8)
	case ArgKey, ArgShapeKey:
		return r.Int64N(3)
	case ArgQuantity:
		return r.Int64N(20)
	case ArgIndex:
		return r.Int64N(10)
	case ArgRotation:
		return 90 * r.Int64N(2)
	case ArgSlotCount:
		return 1 + r.Int64N(5)
	case ArgSide:
		return 1 + r.Int64N(4) + 90*r.Int64N(12)/11 // rarely a wide one
	case ArgKind:
		return 1 + r.Int64N(3)
	case ArgOwner:
		return r.Int64N(3)
	case ArgBool, ArgFlag:
		return r.Int64N(2)
	case ArgPeriod, ArgTime:
		return 1 + r.Int64N(5)
	default:
		return r.Int64N(4)
	}
}

// TestRandomOperations applies random transactions to one state, and undoes some of them.
// It applies those that were accepted and not undone to two other states: directly to
// one, and by replaying their records to the other. All three states must have the same
// digest after each commit and the same contents at the end. The first state must always
// satisfy the invariants.
func TestRandomOperations(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6}
	if *seedFlag != 0 {
		seeds = []uint64{*seedFlag}
	}
	rounds, whole := 2500, !testing.Short() && (*seedFlag != 0 || longtest.Form(t, "70 % of the random transactions, and that each operation is accepted often"))
	switch {
	case testing.Short():
		rounds /= 10
	case !whole:
		rounds = rounds * 3 / 10
	}
	found := make([]map[OpKind]int, len(seeds)) // accepted operations
	t.Run("seeds", func(t *testing.T) {
		for i, seed := range seeds {
			found[i] = map[OpKind]int{}
			t.Run(fmt.Sprint(seed), func(t *testing.T) { // repeat with -seed
				t.Parallel()
				randomRun(t, rand.New(rand.NewPCG(seed, 0)), rounds, found[i])
			})
		}
	})
	counts := map[OpKind]int{}
	for _, f := range found {
		for kind, n := range f {
			counts[kind] += n
		}
	}
	for _, kind := range OpKinds() {
		if counts[kind] < len(seeds) && *seedFlag == 0 && whole {
			t.Errorf("%s was accepted %d times, want at least %d: change the ranges of its arguments", kind, counts[kind], len(seeds))
		}
	}
}

func randomRun(t *testing.T, r *rand.Rand, rounds int, counts map[OpKind]int) {
	s, plain, replay := NewState(Config{}), NewState(Config{}), NewState(Config{})
	for _, s := range [...]*State{s, plain, replay} {
		accept(t, s, field)
	}
	codes := map[Code]int{}
	for range rounds {
		tx := &Transaction{}
		for range 1 + r.IntN(4) {
			tx.Ops = append(tx.Ops, randomStateOp(r, s.nextInstance))
		}
		before := dump(t, s)
		out := Outcome{}
		if err := s.Apply(tx, 0, &out); err != nil {
			codes[err.Code]++
			check(t, s)
			same(t, "after "+err.Error(), before, dump(t, s))
			tx.Ops = tx.Ops[:err.OpIndex] // the operations before it are acceptable
			if len(tx.Ops) == 0 {
				continue
			}
			if err := s.Apply(tx, 0, &out); err != nil {
				t.Fatalf("the operations before the rejected one: %v", err)
			}
		}
		check(t, s)
		if r.IntN(3) == 0 {
			s.Undo()
			check(t, s)
			same(t, "after undo", before, dump(t, s))
			continue
		}
		for _, op := range tx.Ops {
			counts[op.Kind]++
		}
		plainOut := Outcome{}
		noErrors(t, plain.Apply(tx, 0, &plainOut))
		if plainOut.FirstMinted != out.FirstMinted || !slices.Equal(plainOut.Decisions, out.Decisions) {
			t.Fatalf("the outcome is %+v, want %+v", plainOut, out)
		}
		rec := Record{}
		if err := rec.Decode(AppendRecord(nil, tx, &out)); err != nil {
			t.Fatal(err)
		}
		if err := replay.Replay(&rec, 0, 1); err != nil {
			t.Fatal(err)
		}
		if s.Digest() != plain.Digest() || s.Digest() != replay.Digest() {
			t.Fatalf("digest %016x, without rejected and undone transactions %016x, replayed %016x", s.Digest(), plain.Digest(), replay.Digest())
		}
	}
	same(t, "without the rejected and undone", dump(t, s), dump(t, plain))
	same(t, "from records", dump(t, s), dump(t, replay))
	t.Logf("%d commits; rejections: %v", s.Seq(), codes)
}
