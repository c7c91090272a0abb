package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// committed applies operations and returns their record, as the log gives it back.
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

// reverse tries to take the commit back.
func reverse(s *State, rec *Record, seq uint64, out *Outcome, p *Permit) (*Transaction, *Error) {
	tx := &Transaction{Endpoint: EndpointReverse}
	tx.SetSender([]byte("someone"), p)
	tx.Invert(rec, seq)
	return tx, s.Apply(tx, 0, out)
}

// contents is what a state holds, without what counts commits.
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

// stocks are things in the containers of field.
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

// TestReverseRandomCommits takes random commits back at once: the ledger then
// holds what it held, and replaying the records leads to the same digest.
func TestReverseRandomCommits(t *testing.T) {
	kinds := slices.DeleteFunc(OpKinds(), func(k OpKind) bool { return k == RegisterClassShape })
	weights := append(part1Weights, AddFungible, AddFungible, MintInstance, TransferFungible, TransferFungible, HoldFungible, SettleHold, SplitStack, MergeStacks, Detach, RemoveFromGrid, RemoveFromSlot)
	reversed, refused := map[OpKind]int{}, map[OpKind]int{}
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 9))
		s, twin := NewState(Config{}), NewState(Config{})
		for _, s := range [...]*State{s, twin} {
			accept(t, s, field+stocks)
		}
		replay := func(rec *Record) {
			if err := twin.Replay(rec, 0, 1); err != nil || twin.Digest() != s.Digest() {
				t.Fatalf("commit %d replayed: %v", s.Seq(), err)
			}
		}
		for range 800 {
			tx := &Transaction{}
			for range 1 + r.IntN(3)/2 {
				op := randomOpOf(r, kinds, weights, s.nextInstance)
				randomNames(r, &op)
				tx.Ops = append(tx.Ops, op)
			}
			before := contents(t, s)
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
					t.Fatalf("%v: %v", tx.Ops, err)
				}
				same(t, "after a refusal", after, dump(t, s))
				refused[tx.Ops[err.OpIndex].Kind]++
				continue
			}
			if err != nil {
				t.Fatalf("%+v, taken back by %+v: %v", tx.Ops, back.Ops, err)
			}
			for _, op := range tx.Ops {
				reversed[op.Kind]++
			}
			if diff := cmp.Diff(before, contents(t, s)); diff != "" {
				t.Fatalf("%+v, taken back by %+v:\n%s", tx.Ops, back.Ops, diff)
			}
			again := new(Record)
			if err := again.Decode(AppendRecord(nil, back, &out)); err != nil || again.Tx.Reverses != seq || again.Tx.Endpoint != EndpointReverse {
				t.Fatal(err)
			}
			replay(again)
			if by, ok := s.ReversedBy(seq); !ok || by != s.Seq() {
				t.Fatalf("commit %d is reversed by %d, %v", seq, by, ok)
			}
			if _, err := reverse(s, rec, seq, &out, nil); err == nil || err.Code != AlreadyReversed || err.OpIndex != NoOperation ||
				detail(err, "global_seq") != fmt.Sprint(s.Seq()) {
				t.Fatalf("reversed again: %v", err)
			}
		}
		loaded := loadCheckpoint(t, checkpointOf(t, s), 0)
		check(t, loaded)
		same(t, "from a checkpoint", dump(t, s), dump(t, loaded))
		if loaded.reversals.live() != s.reversals.live() {
			t.Error("a checkpoint forgets reversals")
		}
	}
	t.Logf("reversed %v, refused %v", reversed, refused)
	for _, k := range kinds {
		if got := reversed[k] + refused[k]; got == 0 && !k.IsCondition() || slices.Contains(irreversible, k) != (refused[k] > 0) {
			t.Errorf("%s: %d times reversed, %d times refused", k, reversed[k], refused[k])
		}
	}
}

// reversalWorld has an instance in a slot, one in a Grid, one attached, one nowhere, and stacks.
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

// TestReverseAfterChanges: a commit, what happened since, and what its reversal meets.
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
		same(t, c.commit+" refused", before, dump(t, s))
	}
}

// A record of version 1 has no facts: what needs them can't be reversed, all else can.
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
			t.Fatal(err, b[0])
		}
		if err := twin.Replay(&old, 0, 1); err != nil || twin.Digest() != s.Digest() {
			t.Errorf("%s: an old record replays with %v", c.commit, err)
		}
		_, err := reverse(s, &old, 2, &Outcome{}, nil)
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || err.Code != NotReversible || detail(err, "reason") != c.reason) {
			t.Errorf("%s: %v, want reason %q", c.commit, err, c.reason)
		}
		if facts == 0 != (c.reason == "") {
			t.Errorf("%s: %d facts", c.commit, facts)
		}
	}
}

// A wrong fact in a record is a divergence.
func TestReplayComparesFacts(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, reversalWorld)
	rec := committed(t, s, asTx(t, "RemoveFromSlot container_id=3 slot_index=0"))
	s.Undo()
	rec.Out.Facts[0].A++
	if err := s.Replay(rec, 0, 1); err == nil || !strings.Contains(err.Error(), "it finds") {
		t.Errorf("a wrong fact: %v", err)
	}
	rec.Out.Facts = nil
	if err := s.Replay(rec, 0, 1); err == nil {
		t.Error("a fact is missing, and the record has version 2")
	}
}

// A token limited to owners learns nothing about commits that concern others.
func TestReverseWithinOwners(t *testing.T) {
	const hold = "HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=5"
	for _, c := range []struct {
		commit string
		then   string // before it is taken back
		code   Code
	}{
		{"AddFungible container_id=1 class_id=1 key=0 quantity=5", "", ""},
		{"AddFungible container_id=2 class_id=1 key=0 quantity=5", "", Forbidden},
		{"TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=5", "", Forbidden},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "", ""},
		{"ConsolidateStacks container_id=1 class_id=1", "", NotReversible},
		{"ConsolidateStacks container_id=2 class_id=1", "", Forbidden},
		{"CreateContainer container_id=9 kind=Standard owner=8", "", Forbidden},
		{"CreateContainer container_id=9 kind=Standard owner=7", "", ""},
		{"BurnInstance instance_id=4", "", Forbidden},
		// A condition is not taken back: whose container it was does not matter.
		{"RequireUnchanged container_id=2 since_seq=9; AddFungible container_id=1 class_id=1 key=0 quantity=5", "", ""},
		{hold, "", ""},
		{hold, "ReleaseHold hold_id=5", NotReversible},
		{hold, "ReleaseHold hold_id=5; HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5", NotReversible},
	} {
		s := NewState(Config{})
		accept(t, s, reversalWorld)
		rec := committed(t, s, asTx(t, c.commit))
		if c.then != "" {
			accept(t, s, c.then)
		}
		limited := &Permit{Owners: []int64{7}}
		_, err := reverse(s, rec, 2, &Outcome{}, limited)
		if c.code == "" && err != nil || c.code != "" && (err == nil || err.Code != c.code) {
			t.Errorf("%s: %v, want %q", c.commit, err, c.code)
		}
		if c.code != Forbidden || slices.Contains(irreversible, rec.Tx.Ops[0].Kind) {
			continue
		}
		if _, err := reverse(s, rec, 2, &Outcome{}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := reverse(s, rec, 2, &Outcome{}, limited); err == nil || err.Code != Forbidden {
			t.Errorf("%s, reversed: %v", c.commit, err)
		}
	}
}

// Whatever a commit of others did, a token limited to owners gets one and the
// same refusal to reverse it, which names nothing.
func TestReverseTellsNothingOfOthers(t *testing.T) {
	for _, c := range []struct{ commit, then string }{
		{"AddFungible container_id=2 class_id=1 key=0 quantity=5", ""},
		{"CreateContainer container_id=9 kind=Standard owner=8", ""},
		{"CreateContainer container_id=9 kind=Standard; RemoveContainer container_id=9", ""},
		{"MintInstance class_id=3", ""},
		{"MintInstance class_id=3", "Attach instance_id=5 parent_id=4"},
		{"BurnInstance instance_id=4", ""},
		{"RenameClass class_id=1 name=other", ""},
		{"RegisterClass class_id=9 name=new", ""},
		{"RegisterClassShape class_id=1 key=7 width=2 height=2", ""},
		{"HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5", ""},
		{"HoldFungible hold_id=5 container_id=2 class_id=1 key=0 quantity=5; ReleaseHold hold_id=5", ""},
		{"HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=5; ReleaseHold hold_id=5", ""},
		{"ConsolidateStacks container_id=2 class_id=1", ""},
		{"Detach instance_id=3", ""},
		// The parent has gone to another owner since: its id is in the record alone.
		{"Detach instance_id=3; PlaceInSlot container_id=3 slot_index=1 instance_id=3",
			"CreateContainer container_id=5 kind=Slots slot_count=1 owner=8; RemoveFromSlot container_id=3 slot_index=0; PlaceInSlot container_id=5 slot_index=0 instance_id=1"},
	} {
		s := NewState(Config{})
		accept(t, s, reversalWorld)
		rec := committed(t, s, asTx(t, c.commit))
		if c.then != "" {
			accept(t, s, c.then)
		}
		_, err := reverse(s, rec, 2, &Outcome{}, &Permit{Owners: []int64{7}})
		if err == nil || err.Code != Forbidden || err.Message != "There is no commit 2 that this token may reverse." ||
			err.OpIndex != NoOperation || len(err.Details) != 1 || detail(err, "global_seq") != "2" {
			t.Errorf("%s: %v %+v", c.commit, err, err)
		}
	}
}

// A transaction of an import says itself which commit it takes back.
func TestReversesOfImports(t *testing.T) {
	s := newVault(t)
	accept(t, s, "AddFungible container_id=1 class_id=1 key=5 quantity=1")
	const body = `{"operations":[{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":5,"quantity":1}}],"reverses":%d,"idempotency_key":"k"}`
	parse := func(n int) *Transaction {
		tx, err := parseOne(fmt.Sprintf(body, n))
		noErrors(t, err)
		return &tx
	}
	if parse(1).Hash == parse(2).Hash {
		t.Error("the hash does not cover reverses")
	}
	forbidden := parse(2)
	if forbidden.ForbidReverses(); s.Apply(forbidden, 0, &Outcome{}).Code != Forbidden {
		t.Error("reverses was forbidden")
	}
	for n, code := range map[int]Code{3: CommitNotFound, 4: CommitNotFound} {
		if err := s.Apply(parse(n), 0, &Outcome{}); err == nil || err.Code != code || err.OpIndex != NoOperation {
			t.Errorf("reverses %d: %v, want %s", n, err, code)
		}
	}
	plain := s.Digest()
	noErrors(t, s.Apply(parse(2), 0, &Outcome{}))
	check(t, s)
	linked := s.Digest()
	s.Undo()
	if _, ok := s.ReversedBy(2); ok || s.Digest() != plain {
		t.Error("undone, and the link stays")
	}
	accept(t, s, "RemoveFungible container_id=1 class_id=1 key=5 quantity=1")
	if s.Digest() == linked {
		t.Error("the digest does not cover the link")
	}
	for _, bad := range []string{"0", "-1", "1.5", `"2"`, "null", "9223372036854775808"} {
		_, err := parseOne(strings.Replace(body, "%d", bad, 1))
		if err == nil || err.Code != InvalidRequest || detail(err, "field") != "reverses" {
			t.Errorf("reverses %s: %v", bad, err)
		}
	}
}

func TestParseReversal(t *testing.T) {
	hash := map[[16]byte]string{}
	for _, c := range []struct {
		body string
		seq  uint64
	}{{`{"idempotency_key":"k"}`, 7}, {`{"idempotency_key":"k"}`, 8}, {`{"metadata":{"why":"wrong"},"idempotency_key":"k"}`, 7}} {
		var tx Transaction
		noErrors(t, ParseReversal([]byte(c.body), c.seq, &tx, ParseLimits{}))
		if tx.Reverses != c.seq || tx.Endpoint != EndpointReverse || string(tx.Key) != "k" || hash[tx.Hash] != "" {
			t.Errorf("%s: %+v", c.body, tx)
		}
		hash[tx.Hash] = c.body
	}
	for _, c := range []struct {
		body string
		code Code
	}{{"{}", ""}, {"", MalformedJSON}, {"[]", InvalidRequest}, {`{"operations":[]}`, InvalidRequest}, {`{"reverses":1}`, InvalidRequest},
		{`{"metadata":1}`, InvalidRequest}, {`{"idempotency_key":""}`, InvalidRequest}, {`{}x`, MalformedJSON}} {
		var tx Transaction
		err := ParseReversal([]byte(c.body), 1, &tx, ParseLimits{})
		if (err == nil) != (c.code == "") || err != nil && err.Code != c.code {
			t.Errorf("%s: %v, want %q", c.body, err, c.code)
		}
	}
}

// The bytes of records of version 2 never change.
func TestReversalRecordBytes(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, reversalWorld)
	for _, c := range []struct{ ops, want string }{
		{"HoldFungible hold_id=5 container_id=1 class_id=1 key=0 quantity=9 expires_at=60", "02 00 00 01 19 5f 05 01 01 00 09 3c"},
		{"SettleHold hold_id=5 to_container=2 quantity=4 keep=true", "02 00 00 01 1a 0f 05 02 04 01"},
		{"SplitStack container_id=1 class_id=1 from_key=0 to_key=9 quantity=4", "02 00 00 01 1c 1f 01 01 00 09 04"},
		{"Detach instance_id=3", "02 00 20 01 0b 01 03 01 00 03 01"},
		{"SwapSlots container_id=3 slot_a=0 slot_b=1", "02 00 20 01 0e 07 03 00 01 01 00 04 00 01"},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=1", "02 00 20 01 04 0f 04 01 00 01 01 00 02"},
		{"RemoveFungible container_id=4 class_id=1 key=0 quantity=9", "02 00 20 01 04 0f 04 01 00 09 01 00 01 05 06"},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=0 rotation=90", "02 00 20 01 11 3f 04 00 01 02 00 5a 01 00 05 00 00 02"},
	} {
		tx, out := asTx(t, c.ops), Outcome{}
		noErrors(t, s.Apply(tx, 0, &out))
		if got := fmt.Sprintf("% x", AppendRecord(nil, tx, &out)); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.ops, got, c.want)
		}
	}
	rec := committed(t, s, asTx(t, "AddFungible container_id=1 class_id=1 key=0 quantity=1"))
	var out Outcome
	tx, err := reverse(s, rec, s.Seq(), &out, nil)
	noErrors(t, err)
	const want = "02 03 14 07 73 6f 6d 65 6f 6e 65 0a 01 04 0f 01 01 00 01"
	if got := fmt.Sprintf("% x", AppendRecord(nil, tx, &out)); got != want {
		t.Errorf("a reversal:\ngot  %s\nwant %s", got, want)
	}
}

// TestInverseSize is what the inverse of a commit takes, at most and nearly.
func TestInverseSize(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard; AddFungible container_id=1 class_id=1 key=0 quantity=9000")
	for _, n := range []int{1, 2, 100, 3000, MaxOperations} {
		for what, op := range map[string]func(i int) Op{
			"adding":  func(int) Op { return op(AddFungible, 1, 1, 0, 1) },
			"holding": func(i int) Op { return op(HoldFungible, 1+int64(i), 1, 1, 0, 1) },
			"renaming": func(i int) Op {
				return Op{Kind: RenameContainer, Has: 3, Name: fmt.Sprintf("%0*dx", MaxContainerName-1, i), Args: [MaxArgs]int64{1}}
			},
			"no way": func(int) Op { return op(ConsolidateStacks, 1, 1) },
		} {
			if what == "holding" && n > 9000 {
				continue
			}
			var out Outcome
			tx := Transaction{}
			for i := range n {
				tx.Ops = append(tx.Ops, op(i))
			}
			noErrors(t, s.Apply(&tx, 0, &out))
			var rec Record
			if err := rec.Decode(AppendRecord(nil, &tx, &out)); err != nil {
				t.Fatal(err)
			}
			s.Undo()
			var before, after runtime.MemStats
			var back Transaction
			runtime.ReadMemStats(&before)
			back.Invert(&rec, 9)
			runtime.ReadMemStats(&after)
			made, size := int64(after.TotalAlloc-before.TotalAlloc), InverseSize(&rec)
			if what == "renaming" {
				made += int64(n * MaxContainerName) // the names of the record, which stay
			}
			if made > size || made < (size-inverseFixed)/2 {
				t.Errorf("%s, %d operations: InverseSize is %d, and %d bytes were made", what, n, size, made)
			}
		}
	}
}

// TestReversalMemory: a link takes 24 bytes, and no more of them when it is
// itself reversed than another.
func TestReversalMemory(t *testing.T) {
	const n = 50_000
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard; AddFungible container_id=1 class_id=1 key=0 quantity=9")
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	var out Outcome
	for seq := range uint64(n) {
		tx := Transaction{Reverses: 1 + seq, Ops: []Op{op(AddFungible, 1, 1, 0, 1)}}
		noErrors(t, s.Apply(&tx, 0, &out))
	}
	each := float64(heap()-before) / n
	t.Logf("%.1f bytes each", each)
	if each < 24 || each > 27 { // the last chunk is not full
		t.Errorf("a reversal takes %.1f bytes", each)
	}
	if by, ok := s.ReversedBy(n); !ok || by != n+1 {
		t.Error("the last link is not there")
	}
}
