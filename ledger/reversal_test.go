package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// committed applies operations and returns their record, as read back from the
// log.
func committed(t testing.TB, s *State, tx *Transaction) *Record {
	t.Helper()
	var out Outcome
	if err := s.Apply(tx, 0, &out); err != nil {
		t.Fatalf("%v: %v", tx.Ops, err)
	}
	check(t, s)
	rec := new(Record)
	if err := rec.Decode(AppendRecord(nil, tx, &out)); err != nil {
		t.Fatal(err)
	}
	return rec
}

// reverse tries to reverse the commit.
func reverse(s *State, rec *Record, seq uint64, out *Outcome, p *Permit) (*Transaction, *Error) {
	tx := &Transaction{Endpoint: EndpointReverse}
	tx.SetSender([]byte("someone"), p)
	tx.Invert(rec, seq)
	return tx, s.Apply(tx, 0, out)
}

// contents returns the contents of a state, without the updated_seq of containers and
// the lifetime totals of classes.
func contents(t testing.TB, s *State) string {
	t.Helper()
	var b strings.Builder
	containers, _, _ := s.Containers(nil, ContainerFilter{}, 0, math.MaxInt)
	for _, c := range containers {
		c.UpdatedSeq = 0
		fmt.Fprintf(&b, "%+v\n", c)
		dumpContents(t, &b, s, c)
	}
	for id := int64(1); id < s.nextInstance; id++ {
		if info, err := s.Instance(id); err == nil {
			fmt.Fprintf(&b, "%+v\n", info)
		}
	}
	classes, _ := s.Classes(nil, 0, math.MaxInt)
	for _, k := range classes {
		stats, _ := s.Stats(k.ID)
		fmt.Fprintf(&b, "%d: %d of which %d held, in %d stacks and %d containers, %d live\n",
			k.ID, stats.TotalQuantity, stats.TotalHeld, stats.Stacks, stats.Containers, stats.Alive)
	}
	return b.String()
}

// stocks puts items into the containers that the constant field creates.
const stocks = `
	AddFungible container_id=1 class_id=1 key=0 quantity=40
	AddFungible container_id=2 class_id=1 key=0 quantity=40
	AddFungible container_id=2 class_id=2 key=1 quantity=40
	AddFungible container_id=6 class_id=1 key=0 quantity=10
	AddFungible container_id=7 class_id=1 key=1 quantity=10
	MintInstance class_id=3 container_id=4 slot_index=0; MintInstance class_id=4 container_id=4 slot_index=2
	MintInstance class_id=3 container_id=5 slot_index=1; MintInstance class_id=3 container_id=6
	MintInstance class_id=4; Attach instance_id=5 parent_id=1; MintInstance class_id=4`

// irreversible are the operations without an inverse.
var irreversible = []OpKind{BurnInstance, ConsolidateStacks, RemoveContainer, RegisterClass, RegisterClassShape, SettleHold, ReleaseHold}

// TestReverseRandomCommits reverses random commits right after they are made.
// The ledger must then have the same contents as before, and replaying the
// records must lead to the same digest.
func TestReverseRandomCommits(t *testing.T) {
	t.Parallel()
	kinds := slices.DeleteFunc(OpKinds(), func(k OpKind) bool { return k == RegisterClassShape })
	weights := append(part1Weights, AddFungible, AddFungible, MintInstance, TransferFungible, TransferFungible, HoldFungible, SettleHold, SplitStack, MergeStacks, Detach, RemoveFromGrid, RemoveFromSlot)
	reversed, refused := map[OpKind]int{}, map[OpKind]int{}
	seeds := uint64(16)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		s, twin := NewState(Config{}), NewState(Config{})
		for _, s := range [...]*State{s, twin} {
			accept(t, s, field+stocks)
		}
		replay := func(rec *Record) {
			if err := twin.Replay(rec, 0, 1); err != nil || twin.Digest() != s.Digest() {
				t.Fatalf("commit %d replayed: %v, digest %016x, want %016x", s.Seq(), err, twin.Digest(), s.Digest())
			}
		}
		before, at := contents(t, s), s.Seq()
		for range 800 {
			tx := &Transaction{}
			for range 1 + r.IntN(3)/2 {
				op := randomOpOf(r, kinds, weights, s.nextInstance)
				randomNames(r, &op)
				tx.Ops = append(tx.Ops, op)
			}
			if at != s.Seq() { // most transactions are rejected
				before, at = contents(t, s), s.Seq()
			}
			if onlyConditions(tx.Ops) || s.Apply(tx, 0, &Outcome{}) != nil {
				continue
			}
			s.Undo()
			rec := committed(t, s, tx)
			replay(rec)
			if r.IntN(3) == 0 {
				continue
			}
			seq, after := s.Seq(), dump(t, s)
			first := slices.IndexFunc(tx.Ops, func(op Op) bool { return slices.Contains(irreversible, op.Kind) })
			var out Outcome
			back, err := reverse(s, rec, seq, &out, nil)
			check(t, s)
			if first >= 0 {
				if err == nil || err.Code != NotReversible || !slices.Contains(irreversible, tx.Ops[err.OpIndex].Kind) {
					t.Fatalf("%v: %v, want NotReversible at an operation without an inverse", tx.Ops, err)
				}
				same(t, "after a rejection", after, dump(t, s))
				refused[tx.Ops[err.OpIndex].Kind]++
				continue
			}
			if err != nil {
				t.Fatalf("%+v, reversed by %+v: %v", tx.Ops, back.Ops, err)
			}
			for _, op := range tx.Ops {
				reversed[op.Kind]++
			}
			if diff := cmp.Diff(before, contents(t, s)); diff != "" {
				t.Fatalf("%+v, reversed by %+v (-before +after):\n%s", tx.Ops, back.Ops, diff)
			}
			again := new(Record)
			if err := again.Decode(AppendRecord(nil, back, &out)); err != nil || again.Tx.Reverses != seq || again.Tx.Endpoint != EndpointReverse {
				t.Fatalf("the record of the reversal: %v, reverses %d, endpoint %d; want %d, %d", err, again.Tx.Reverses, again.Tx.Endpoint, seq, EndpointReverse)
			}
			replay(again)
			if by, ok := s.ReversedBy(seq); !ok || by != s.Seq() {
				t.Fatalf("commit %d is reversed by %d (%v), want %d", seq, by, ok, s.Seq())
			}
			if _, err := reverse(s, rec, seq, &out, nil); err == nil || err.Code != AlreadyReversed || err.OpIndex != NoOperation ||
				detail(err, "global_seq") != fmt.Sprint(s.Seq()) {
				t.Fatalf("reversing it again: %v, want AlreadyReversed by commit %d", err, s.Seq())
			}
		}
		loaded := loadCheckpoint(t, checkpointOf(t, s), 0)
		check(t, loaded)
		same(t, "from a checkpoint", dump(t, s), dump(t, loaded))
		if loaded.reversals.live() != s.reversals.live() {
			t.Errorf("%d reversals after loading the checkpoint, want %d", loaded.reversals.live(), s.reversals.live())
		}
	}
	t.Logf("reversed %v, rejected %v", reversed, refused)
	if testing.Short() {
		return // too few commits for every kind
	}
	for _, k := range kinds {
		if got := reversed[k] + refused[k]; got == 0 && !k.IsCondition() || slices.Contains(irreversible, k) != (refused[k] > 0) {
			t.Errorf("%s: reversed %d times, rejected %d times; want rejections only if it has no inverse: %t", k, reversed[k], refused[k], slices.Contains(irreversible, k))
		}
	}
}

// reversalWorld has stacks and four instances: in a slot, in a Grid, attached,
// and nowhere.
const reversalWorld = `
	RegisterClass class_id=1 name=gold
	RegisterClass class_id=3 name=sword fungible=false
	RegisterClassShape class_id=1 width=1 height=1
	RegisterClassShape class_id=3 width=1 height=2
	CreateContainer container_id=1 kind=Standard owner=7
	CreateContainer container_id=2 kind=Standard owner=8
	CreateContainer container_id=3 kind=Slots slot_count=4 owner=7
	CreateContainer container_id=4 kind=Grid grid_width=6 grid_height=4 owner=7
	AddFungible container_id=1 class_id=1 key=0 quantity=100
	AddFungible container_id=1 class_id=1 key=1 quantity=100
	AddFungible container_id=2 class_id=1 key=0 quantity=100
	AddFungible container_id=4 class_id=1 key=0 quantity=10 x=5 y=3
	MintInstance class_id=3 container_id=3 slot_index=0
	MintInstance class_id=3 container_id=4 x=0 y=0
	MintInstance class_id=3
	MintInstance class_id=3
	Attach instance_id=3 parent_id=1`

// TestReverseAfterChanges lists commits, what happened after them, and the
// result of reversing them.
func TestReverseAfterChanges(t *testing.T) {
	for _, c := range []struct {
		commit, since string
		code          Code // "": accepted
		details       string
		op            int
	}{
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5", "RemoveFungible container_id=1 class_id=1 key=0 quantity=101", InsufficientBalance, "available=4 requested=5", 0},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5", "HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=101", InsufficientBalance, "available=4 held=101", 0},
		{"TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=100", "", "", "", 0},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=10", "PlaceInGrid container_id=4 instance_id=4 x=5 y=2", CellOccupied, "x=5 y=3", 0},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=10", "AddFungible container_id=4 class_id=1 key=0 quantity=1 x=1 y=1", AlreadyPlaced, "x=1 y=1", 0},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=3", "MoveInGrid container_id=4 x=5 y=3 to_x=3 to_y=3", "", "", 0},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=3", "RemoveFungible container_id=4 class_id=1 key=0 quantity=7", "", "", 0},
		{"RemoveFungible container_id=2 class_id=1 key=0 quantity=100", "RemoveContainer container_id=2; CreateContainer container_id=2 kind=Grid grid_width=3 grid_height=3 owner=8", "", "", 0},
		{"MergeStacks container_id=1 class_id=1 from_key=0 to_key=1", "RemoveFungible container_id=1 class_id=1 key=1 quantity=150", InsufficientBalance, "available=50 requested=100", 0},
		{"SplitStack container_id=1 class_id=1 from_key=0 to_key=9 quantity=4", "", "", "", 0},
		{"CreateContainer container_id=9 kind=Standard", "", "", "", 0},
		{"CreateContainer container_id=9 kind=Standard", "AddFungible container_id=9 class_id=1 key=0 quantity=1", ContainerNotEmpty, "container_id=9", 0},
		{"CreateContainer container_id=9 kind=Standard", "RemoveContainer container_id=9", NotReversible, "reason=changed", 0},
		{"CreateContainer container_id=9 kind=Standard", "RemoveContainer container_id=9; CreateContainer container_id=9 kind=Standard", NotReversible, "reason=changed", 0},
		{"MintInstance class_id=3", "Attach instance_id=5 parent_id=1; PlaceInSlot container_id=3 slot_index=2 instance_id=4", "", "", 0},
		{"MintInstance class_id=3", "BurnInstance instance_id=5", InstanceNotFound, "instance_id=5", 0},
		{"Attach instance_id=4 parent_id=1", "Detach instance_id=4", NotReversible, "reason=changed", 0},
		{"Attach instance_id=4 parent_id=1", "Detach instance_id=4; Attach instance_id=4 parent_id=2", NotReversible, "reason=changed", 0},
		{"Detach instance_id=3", "", "", "", 0},
		{"Detach instance_id=3", "Attach instance_id=3 parent_id=2", AlreadyAttached, "parent_id=2", 0},
		{"PlaceInSlot container_id=3 slot_index=1 instance_id=4", "RemoveFromSlot container_id=3 slot_index=1", NotReversible, "reason=changed", 0},
		{"PlaceInSlot container_id=3 slot_index=1 instance_id=4", "SwapSlots container_id=3 slot_a=0 slot_b=1", NotReversible, "reason=changed", 0},
		{"RemoveFromSlot container_id=3 slot_index=0", "PlaceInSlot container_id=3 slot_index=0 instance_id=4", SlotOccupied, "instance_id=4", 0},
		{"RemoveFromSlot container_id=3 slot_index=0", "", "", "", 0},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "", "", "", 0},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "PlaceInSlot container_id=3 slot_index=0 instance_id=4", NotReversible, "reason=changed", 0},
		{"SwapSlots container_id=3 slot_a=2 slot_b=3", "PlaceInSlot container_id=3 slot_index=3 instance_id=4", NotReversible, "reason=changed", 0},
		{"PlaceInGrid container_id=4 instance_id=4", "", "", "", 0},
		{"PlaceInGrid container_id=4 instance_id=4", "MoveInGrid container_id=4 x=1 y=0 to_x=3 to_y=0", NotReversible, "reason=changed", 0},
		{"PlaceInGrid container_id=4 instance_id=4 x=2 y=1 rotation=90", "MoveInGrid container_id=4 x=2 y=1 to_x=2 to_y=1 rotation=0", NotReversible, "reason=changed", 0},
		{"RemoveFromGrid container_id=4 instance_id=2", "PlaceInGrid container_id=4 instance_id=4 x=0 y=1", CellOccupied, "x=0 y=0", 0},
		{"RemoveFromGrid container_id=4 instance_id=2", "RegisterClassShape class_id=3 key=0 width=6 height=4", CellOccupied, "x=0 y=0 width=6 height=4", 0},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=10", "RegisterClassShape class_id=1 key=0 width=1 height=2", OutOfBounds, "x=5 y=3 height=2", 0},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=1", "RegisterClassShape class_id=3 key=0 width=6 height=4", "", "", 0},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=0 rotation=90", "", "", "", 0},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=0 rotation=90", "PlaceInGrid container_id=4 instance_id=4 x=0 y=0", CellOccupied, "x=0 y=0", 0},
		{"MoveInGrid container_id=4 x=5 y=3 to_x=4 to_y=3", "RemoveFungible container_id=4 class_id=1 key=0 quantity=10; AddFungible container_id=4 class_id=1 key=1 quantity=1 x=4 y=3", NotReversible, "reason=changed", 0},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=10", "", "", "", 0},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=10", "SettleHold hold_id=1 to_container=2 quantity=1 keep=true", NotReversible, "reason=changed", 0},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=10", "ReleaseHold hold_id=1", NotReversible, "reason=changed", 0},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=10", "ReleaseHold hold_id=1; HoldFungible hold_id=1 container_id=1 class_id=1 key=0 quantity=10", NotReversible, "reason=changed", 0},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5; BurnInstance instance_id=4", "", NotReversible, "reason=operation op=BurnInstance", 1},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5; AddFungible container_id=2 class_id=1 key=0 quantity=5", "RemoveFungible container_id=1 class_id=1 key=0 quantity=105", StackNotFound, "container_id=1", 1},
		{"Attach instance_id=4 parent_id=1; AddFungible container_id=1 class_id=1 key=0 quantity=5", "Detach instance_id=4", NotReversible, "reason=changed op=Attach", 0},
		{"RenameContainer container_id=1 name=purse", "", "", "", 0},
		{"RenameClass class_id=1 code=EUR", "", "", "", 0},
		{"RenameContainer container_id=1 name=purse; RenameContainer container_id=1 name=bag", "RenameContainer container_id=2 name=purse", NameTaken, "name=purse", 0},
	} {
		s := NewState(Config{})
		accept(t, s, reversalWorld)
		rec := committed(t, s, asTx(t, c.commit))
		if c.since != "" {
			accept(t, s, c.since)
		}
		before := dump(t, s)
		_, err := reverse(s, rec, 2, &Outcome{}, nil)
		check(t, s)
		if c.code == "" {
			if err != nil {
				t.Errorf("%s, then %q: %v", c.commit, c.since, err)
			}
			s.Undo()
			same(t, c.commit+" undone", before, dump(t, s))
			continue
		}
		if err == nil || err.Code != c.code || err.OpIndex != c.op {
			t.Errorf("%s, then %q: %v, want %s at %d", c.commit, c.since, err, c.code, c.op)
			continue
		}
		for _, want := range strings.Fields(c.details) {
			if name, value, _ := strings.Cut(want, "="); detail(err, name) != value {
				t.Errorf("%s: detail %s is %q, want %q", c.commit, name, detail(err, name), value)
			}
		}
		same(t, c.commit+" rejected", before, dump(t, s))
	}
}

// TestReverseOldRecords checks that a record of version 1, which has no facts, can be
// reversed unless one of its operations needs facts.
func TestReverseOldRecords(t *testing.T) {
	for _, c := range []struct{ commit, reason string }{
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=10", "record"},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=1", "record"},
		{"TransferFungible from_container=4 to_container=1 class_id=1 key=0 quantity=10", "record"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=0 quantity=10", ""},
		{"MergeStacks container_id=1 class_id=1 from_key=0 to_key=1", ""},
		{"Detach instance_id=3", "record"},
		{"RemoveFromSlot container_id=3 slot_index=0", "record"},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "record"},
		{"RemoveFromGrid container_id=4 instance_id=2", "record"},
		{"MoveInGrid container_id=4 x=0 y=0 to_x=1 to_y=0", "record"},
		{"PlaceInGrid container_id=4 instance_id=4", ""},
		{"PlaceInSlot container_id=3 slot_index=1 instance_id=4", ""},
	} {
		s, twin := NewState(Config{}), NewState(Config{})
		accept(t, s, reversalWorld)
		accept(t, twin, reversalWorld)
		tx, out := asTx(t, c.commit), Outcome{}
		noErrors(t, s.Apply(tx, 0, &out))
		facts := len(out.Facts)
		out.Facts = nil
		b, old := AppendRecord(nil, tx, &out), Record{}
		if err := old.Decode(b); err != nil || b[0] != recordVersion1 {
			t.Fatalf("%s: the record without facts has version %d, want 1 (%v)", c.commit, b[0], err)
		}
		if err := twin.Replay(&old, 0, 1); err != nil || twin.Digest() != s.Digest() {
			t.Errorf("%s: the replay of an old record: %v, digest %016x, want %016x", c.commit, err, twin.Digest(), s.Digest())
		}
		_, err := reverse(s, &old, 2, &Outcome{}, nil)
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || err.Code != NotReversible || detail(err, "reason") != c.reason) {
			t.Errorf("%s: %v, want reason %q", c.commit, err, c.reason)
		}
		if facts == 0 != (c.reason == "") {
			t.Errorf("%s: %d facts, want some: %t", c.commit, facts, c.reason != "")
		}
	}
}

// TestReplayComparesFacts checks that a wrong fact in a record is reported as a
// divergence.
func TestReplayComparesFacts(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, reversalWorld)
	rec := committed(t, s, asTx(t, "RemoveFromSlot container_id=3 slot_index=0"))
	s.Undo()
	rec.Out.Facts[0].A++
	if err := s.Replay(rec, 0, 1); err == nil || !strings.Contains(err.Error(), "it finds") {
		t.Errorf("a wrong fact: %v, want a divergence that names what the ledger finds", err)
	}
	rec.Out.Facts = nil
	if err := s.Replay(rec, 0, 1); err == nil {
		t.Error("a record of version 2 was accepted without its fact")
	}
}
