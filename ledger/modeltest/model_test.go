package modeltest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"

	"github.com/google/go-cmp/cmp"
)

// TestOnlyTestsImport checks that no program imports this package.
func TestOnlyTestsImport(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Deps}} {{.}}{{end}}`, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	const self = "assetledger/ledger/modeltest"
	seen := false
	for line := range strings.Lines(string(out)) {
		deps := strings.Fields(line)
		if deps[0] == self {
			seen = true
			continue
		}
		if slices.Contains(deps, self) {
			t.Errorf("%s depends on %s, which is for tests only", deps[0], self)
		}
	}
	if !seen {
		t.Errorf("go list did not list %s: this test checks nothing", self)
	}
}

// op returns an operation from argument names and values. "ref" before a name
// makes the value a reference to a minted instance.
func op(kind ledger.OpKind, args map[string]int64) ledger.Op {
	d := newOp(kind)
	for i, arg := range kind.Args() {
		if v, ok := args[arg.Name]; ok {
			d.add(i, v)
		}
		if v, ok := args["ref "+arg.Name]; ok {
			d.add(i, v)
			d.Ref |= 1 << i
		}
	}
	if kind == ledger.RegisterClass {
		d.text(ledger.ClassName, "name")
	}
	return ledger.Op(*d)
}

// named returns an operation with its argument i set to a string.
func named(o ledger.Op, i int, text string) ledger.Op {
	d := draft(o)
	d.text(i, text)
	if !isText(o.Kind.Args()[i].Type) {
		d.Ref |= 1 << i
	}
	return ledger.Op(d)
}

type args = map[string]int64

// world has the containers 1, 4 and 5 (Standard), 2 (Slots) and 3 (Grid), a fungible
// class 1 and a non-fungible class 2, each with a shape of 2 x 1, and instances 1 (in
// slot 0), 2 (attached to 1) and 3 (nowhere). Container 1 has 10 of class 1. Container 5,
// "vault", has 8 of class 1. Hold 6 reserves 3 of those 8.
func world(t *testing.T) *Model {
	t.Helper()
	m := New(2)
	_, refusal := m.Apply(&ledger.Transaction{Ops: []ledger.Op{
		op(ledger.RegisterClass, args{"class_id": 1}),
		op(ledger.RegisterClass, args{"class_id": 2, "fungible": 0}),
		op(ledger.RegisterClassShape, args{"class_id": 1, "width": 2, "height": 1}),
		op(ledger.RegisterClassShape, args{"class_id": 2, "width": 2, "height": 1}),
		op(ledger.CreateContainer, args{"container_id": 1, "kind": 1}),
		op(ledger.CreateContainer, args{"container_id": 2, "kind": 2, "slot_count": 3}),
		op(ledger.CreateContainer, args{"container_id": 3, "kind": 3, "grid_width": 3, "grid_height": 2}),
		op(ledger.CreateContainer, args{"container_id": 4, "kind": 1}),
		op(ledger.AddFungible, args{"container_id": 1, "class_id": 1, "key": 5, "quantity": 10}),
		op(ledger.MintInstance, args{"class_id": 2, "container_id": 2, "slot_index": 0}),
		op(ledger.MintInstance, args{"class_id": 2}),
		op(ledger.Attach, args{"ref instance_id": 1, "ref parent_id": 0}),
		op(ledger.MintInstance, args{"class_id": 2}),
		named(op(ledger.CreateContainer, args{"container_id": 5, "kind": 1}), ledger.CreateName, "vault"),
		op(ledger.AddFungible, args{"container_id": 5, "class_id": 1, "key": 5, "quantity": 8}),
		op(ledger.HoldFungible, args{"hold_id": 6, "container_id": 5, "class_id": 1, "key": 5, "quantity": 3}),
	}})
	if refusal != nil {
		t.Fatal(refusal)
	}
	return m
}

// TestRefusals tries one operation at a time on the world above.
func TestRefusals(t *testing.T) {
	cases := []struct {
		name string
		op   ledger.Op
		want ledger.Code // "": accepted
	}{
		{"transfer into itself before anything else", op(ledger.TransferFungible, args{"from_container": 9, "to_container": 9, "class_id": 9, "key": 0, "quantity": 0}), ledger.InvalidOperation},
		{"from container before class", op(ledger.TransferFungible, args{"from_container": 9, "to_container": 1, "class_id": 9}), ledger.ContainerNotFound},
		{"class before kind", op(ledger.TransferFungible, args{"from_container": 2, "to_container": 1, "class_id": 9}), ledger.ClassNotFound},
		{"container kind before class kind", op(ledger.TransferFungible, args{"from_container": 2, "to_container": 1, "class_id": 2}), ledger.WrongContainerKind},
		{"place in a Standard container", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 4, "class_id": 1, "key": 5, "quantity": 1, "rotation": 0}), ledger.WrongContainerKind},
		{"class kind before stack", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 4, "class_id": 2}), ledger.WrongClassKind},
		{"stack before place", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 3, "class_id": 1, "x": 99, "y": 0}), ledger.StackNotFound},
		{"place before quantity", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 3, "class_id": 1, "key": 5, "x": 2, "y": 0}), ledger.OutOfBounds},
		{"quantity", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 3, "class_id": 1, "key": 5, "x": 1, "y": 1, "quantity": -1}), ledger.InvalidQuantity},
		{"too much", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 4, "class_id": 1, "key": 5, "quantity": 11}), ledger.InsufficientBalance},
		{"all of it", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 4, "class_id": 1, "key": 5, "quantity": 10}), ""},
		{"overflow of the class", op(ledger.AddFungible, args{"container_id": 4, "class_id": 1, "key": 5, "quantity": 1<<63 - 18}), ledger.InvalidOperation},
		{"up to the maximum", op(ledger.AddFungible, args{"container_id": 4, "class_id": 1, "key": 5, "quantity": 1<<63 - 19}), ""},
		{"merge into itself", op(ledger.MergeStacks, args{"container_id": 9, "class_id": 1, "from_key": 5, "to_key": 5}), ledger.InvalidOperation},
		{"merge into nothing", op(ledger.MergeStacks, args{"container_id": 1, "class_id": 1, "from_key": 5, "to_key": 6}), ledger.StackNotFound},
		{"consolidate nothing", op(ledger.ConsolidateStacks, args{"container_id": 4, "class_id": 1}), ledger.StackNotFound},
		{"consolidate one", op(ledger.ConsolidateStacks, args{"container_id": 1, "class_id": 1}), ""},
		{"mint in slots without a slot", op(ledger.MintInstance, args{"class_id": 1, "container_id": 2}), ledger.InvalidRequest},
		{"mint of a fungible class", op(ledger.MintInstance, args{"class_id": 1}), ledger.WrongClassKind},
		{"mint in an occupied slot", op(ledger.MintInstance, args{"class_id": 2, "container_id": 2, "slot_index": 0}), ledger.SlotOccupied},
		{"mint beyond the slots", op(ledger.MintInstance, args{"class_id": 2, "container_id": 2, "slot_index": 3}), ledger.SlotOutOfRange},
		{"burn a parent", op(ledger.BurnInstance, args{"instance_id": 1}), ledger.HasChildren},
		{"burn a child", op(ledger.BurnInstance, args{"instance_id": 2}), ""},
		{"attach what is attached", op(ledger.Attach, args{"instance_id": 2, "parent_id": 3}), ledger.AlreadyAttached},
		{"attach what is placed", op(ledger.Attach, args{"instance_id": 1, "parent_id": 2}), ledger.AlreadyPlaced},
		{"attach to itself", op(ledger.Attach, args{"instance_id": 3, "parent_id": 3}), ledger.WouldCreateCycle},
		{"attach to a child", op(ledger.Attach, args{"instance_id": 3, "parent_id": 2}), ""},
		{"detach the unattached", op(ledger.Detach, args{"instance_id": 3}), ledger.NotAttached},
		{"swap with an empty slot", op(ledger.SwapSlots, args{"container_id": 2, "slot_a": 0, "slot_b": 2}), ""},
		{"swap beyond", op(ledger.SwapSlots, args{"container_id": 2, "slot_a": 0, "slot_b": 3}), ledger.SlotOutOfRange},
		{"empty slot", op(ledger.RemoveFromSlot, args{"container_id": 2, "slot_index": 1}), ledger.SlotEmpty},
		{"grid far outside", op(ledger.PlaceInGrid, args{"container_id": 3, "instance_id": 3, "x": 1<<63 - 1, "y": 0}), ledger.OutOfBounds},
		{"not in the grid", op(ledger.RemoveFromGrid, args{"container_id": 3, "instance_id": 3}), ledger.NotPlaced},
		{"move nothing", op(ledger.MoveInGrid, args{"container_id": 3, "x": 0, "y": 0, "to_x": 9, "to_y": 0}), ledger.CellEmpty},
		{"remove a full container", op(ledger.RemoveContainer, args{"container_id": 2}), ledger.ContainerNotEmpty},
		{"create under a name in use", named(op(ledger.CreateContainer, args{"kind": 1}), ledger.CreateName, "vault"), ledger.NameTaken},
		{"create without an id", named(op(ledger.CreateContainer, args{"kind": 1}), ledger.CreateName, "vault/2"), ""},
		{"rename to its own name", named(op(ledger.RenameContainer, args{"container_id": 5}), ledger.RenameContainerName, "vault"), ""},
		{"rename to a name in use", named(op(ledger.RenameContainer, args{"container_id": 1}), ledger.RenameContainerName, "vault"), ledger.NameTaken},
		{"take all that is not held, by name", named(op(ledger.RemoveFungible, args{"class_id": 1, "key": 5, "quantity": 5}), 0, "vault"), ""},
		{"take what is held", op(ledger.RemoveFungible, args{"container_id": 5, "class_id": 1, "key": 5, "quantity": 6}), ledger.InsufficientBalance},
		{"no such name", named(op(ledger.RemoveFungible, args{"class_id": 1, "key": 5, "quantity": 5}), 0, "vaults"), ledger.ContainerNotFound},
		{"transfer to itself by name", named(op(ledger.TransferFungible, args{"from_container": 5, "class_id": 1, "key": 5, "quantity": 1}), 1, "vault"), ledger.InvalidOperation},
		{"split off what is held", op(ledger.SplitStack, args{"container_id": 5, "class_id": 1, "from_key": 5, "to_key": 6, "quantity": 6}), ledger.InsufficientBalance},
		{"split", op(ledger.SplitStack, args{"container_id": 5, "class_id": 1, "from_key": 5, "to_key": 6, "quantity": 5}), ""},
		{"consolidate into the held stack", op(ledger.ConsolidateStacks, args{"container_id": 5, "class_id": 1}), ""},
		{"a hold_id in use", op(ledger.HoldFungible, args{"hold_id": 6, "container_id": 5, "class_id": 1, "key": 9, "quantity": 1}), ledger.HoldAlreadyExists},
		{"hold more than is available", op(ledger.HoldFungible, args{"hold_id": 7, "container_id": 5, "class_id": 1, "key": 5, "quantity": 6}), ledger.InsufficientBalance},
		{"settle more than is held", op(ledger.SettleHold, args{"hold_id": 6, "to_container": 1, "quantity": 4}), ledger.InsufficientBalance},
		{"settle into the same container", named(op(ledger.SettleHold, args{"hold_id": 6}), ledger.SettleTo, "vault"), ledger.InvalidOperation},
		{"settle", op(ledger.SettleHold, args{"hold_id": 6, "to_container": 1, "quantity": 2, "keep": 1}), ""},
		{"release nothing", op(ledger.ReleaseHold, args{"hold_id": 7}), ledger.HoldNotFound},
		{"require what is available", op(ledger.RequireBalance, args{"container_id": 5, "class_id": 1, "key": 5, "at_least": 5, "at_most": 8}), ""},
		{"require what is held", op(ledger.RequireBalance, args{"container_id": 5, "class_id": 1, "key": 5, "at_least": 6}), ledger.RequirementFailed},
		{"require less than all", op(ledger.RequireBalance, args{"container_id": 5, "class_id": 1, "key": 5, "at_most": 7}), ledger.RequirementFailed},
		{"require nothing of nothing", op(ledger.RequireBalance, args{"container_id": 5, "class_id": 1, "key": 9, "at_most": 0}), ""},
		{"require an earlier state", op(ledger.RequireUnchanged, args{"container_id": 5, "since_seq": 0}), ledger.RequirementFailed},
		{"require this state", op(ledger.RequireUnchanged, args{"container_id": 5, "since_seq": 1}), ""},
		{"require an instance in its slot", op(ledger.RequireInstance, args{"instance_id": 1, "container_id": 2, "slot_index": 0}), ""},
		{"require it in another", op(ledger.RequireInstance, args{"instance_id": 1, "container_id": 2, "slot_index": 1}), ledger.RequirementFailed},
		{"require a child in the container", op(ledger.RequireInstance, args{"instance_id": 2, "container_id": 2}), ledger.RequirementFailed},
		{"second shape for all keys", op(ledger.RegisterClassShape, args{"class_id": 2, "width": 1, "height": 1}), ledger.ShapeAlreadyExists},
		{"shape for one key", op(ledger.RegisterClassShape, args{"class_id": 2, "key": 0, "width": 1, "height": 1}), ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var code ledger.Code
			if _, refusal := world(t).Apply(&ledger.Transaction{Ops: []ledger.Op{c.op}}); refusal != nil {
				code = refusal.Code
			}
			if code != c.want {
				t.Errorf("code = %q, want %q", code, c.want)
			}
		})
	}
}

// TestReversals reverses an operation after another one has changed the state.
func TestReversals(t *testing.T) {
	cases := []struct {
		name       string
		done, then ledger.Op
		want       ledger.Code
	}{
		{"a transfer", op(ledger.TransferFungible, args{"from_container": 1, "to_container": 4, "class_id": 1, "key": 5, "quantity": 10}),
			op(ledger.AddFungible, args{"container_id": 1, "class_id": 1, "key": 5, "quantity": 1}), ""},
		{"what was spent", op(ledger.AddFungible, args{"container_id": 4, "class_id": 1, "key": 5, "quantity": 2}),
			op(ledger.RemoveFungible, args{"container_id": 4, "class_id": 1, "key": 5, "quantity": 1}), ledger.InsufficientBalance},
		{"a slot emptied", op(ledger.PlaceInSlot, args{"container_id": 2, "slot_index": 1, "instance_id": 3}),
			op(ledger.RemoveFromSlot, args{"container_id": 2, "slot_index": 1}), ledger.NotReversible},
		{"another slot emptied", op(ledger.PlaceInSlot, args{"container_id": 2, "slot_index": 1, "instance_id": 3}),
			op(ledger.RemoveFromSlot, args{"container_id": 2, "slot_index": 0}), ""},
		{"a hold used", op(ledger.HoldFungible, args{"hold_id": 7, "container_id": 5, "class_id": 1, "key": 5, "quantity": 2}),
			op(ledger.SettleHold, args{"hold_id": 7, "to_container": 1, "quantity": 1, "keep": 1}), ledger.NotReversible},
		{"a release", op(ledger.ReleaseHold, args{"hold_id": 6}),
			op(ledger.AddFungible, args{"container_id": 1, "class_id": 1, "key": 5, "quantity": 1}), ledger.NotReversible},
	}
	for _, c := range cases {
		m := world(t)
		for _, o := range []ledger.Op{c.done, c.then} {
			if _, refusal := m.Apply(&ledger.Transaction{Ops: []ledger.Op{o}}); refusal != nil {
				t.Fatal(refusal)
			}
		}
		var code ledger.Code
		back := &ledger.Transaction{Endpoint: ledger.EndpointReverse, Reverses: 2}
		if _, refusal := m.Apply(back); refusal != nil {
			code = refusal.Code
		} else if _, refusal = m.Apply(back); refusal == nil || refusal.Code != ledger.AlreadyReversed {
			t.Errorf("%s, reversed twice: %v, want AlreadyReversed", c.name, refusal)
		}
		if code != c.want {
			t.Errorf("%s: %q, want %q", c.name, code, c.want)
		}
	}
}

// TestFirstFit fills a 3 x 2 grid with items of 2 x 1: two unrotated, one
// rotated.
func TestFirstFit(t *testing.T) {
	m := world(t)
	mint := op(ledger.MintInstance, args{"class_id": 2, "container_id": 3})
	out, refusal := m.Apply(&ledger.Transaction{Ops: []ledger.Op{mint, mint, mint}})
	if refusal != nil {
		t.Fatal(refusal)
	}
	want := ledger.Outcome{FirstMinted: 4, Minted: 3, Decisions: []ledger.Decision{
		{Op: 0, Placed: true}, {Op: 1, Placed: true, Y: 1}, {Op: 2, Placed: true, X: 2, Turned: true}}}
	if d := cmp.Diff(want, out); d != "" {
		t.Errorf("outcome (-want +got):\n%s", d)
	}
	if _, refusal = m.Apply(&ledger.Transaction{Ops: []ledger.Op{mint}}); refusal == nil || refusal.Code != ledger.GridFull {
		t.Errorf("fourth mint: %v, want GridFull", refusal)
	}
	info, _ := m.Container(3)
	if info.OccupiedCells != 6 || info.Instances != 3 {
		t.Errorf("%d cells and %d instances, want 6 and 3", info.OccupiedCells, info.Instances)
	}
}

// TestRefusedChangesNothing checks that a transaction changes nothing if its last
// operation is rejected.
func TestRefusedChangesNothing(t *testing.T) {
	m := world(t)
	before := m.Copy()
	_, refusal := m.Apply(&ledger.Transaction{Ops: []ledger.Op{
		op(ledger.AddFungible, args{"container_id": 3, "class_id": 1, "key": 5, "quantity": 10}),
		op(ledger.MintInstance, args{"class_id": 2, "container_id": 2, "slot_index": 1}),
		op(ledger.SwapSlots, args{"container_id": 2, "slot_a": 0, "slot_b": 2}),
		op(ledger.Detach, args{"instance_id": 3}),
	}})
	if refusal == nil || refusal.Op != 3 || refusal.Code != ledger.NotAttached {
		t.Fatalf("rejection %v, want NotAttached at operation 3", refusal)
	}
	for _, q := range AllQueries(before) {
		if d := cmp.Diff(before.Ask(q), m.Ask(q)); d != "" {
			t.Errorf("%v (-before +after):\n%s", q, d)
		}
	}
}

// TestIdempotency checks the responses to requests whose idempotency key is new, repeated,
// repeated with a different request, or already forgotten.
func TestIdempotency(t *testing.T) {
	m := world(t)
	request := func(key string, quantity int64) *ledger.Transaction {
		return &ledger.Transaction{Key: []byte(key), Ops: []ledger.Op{
			op(ledger.AddFungible, args{"container_id": 1, "class_id": 1, "key": 5, "quantity": quantity})}}
	}
	if a := m.Submit(request("a", 1), 7); a.Seq != 2 || a.Replayed || a.Refusal != nil {
		t.Errorf("first: %+v, want commit 2", a)
	}
	if a := m.Submit(request("a", 1), 8); a.Seq != 2 || a.BatchSeq != 7 || !a.Replayed {
		t.Errorf("repeated: %+v, want commit 2 replayed, with batch_seq 7", a)
	}
	if a := m.Submit(request("a", 2), 1); a.Refusal == nil || a.Refusal.Code != ledger.IdempotencyConflict {
		t.Errorf("changed: %+v, want IdempotencyConflict", a)
	}
	if a := m.Submit(request("refused", 0), 1); a.Refusal == nil || a.Refusal.Code != ledger.InvalidQuantity {
		t.Errorf("a quantity of 0: %+v, want InvalidQuantity", a)
	}
	m.Submit(request("b", 1), 1)
	m.Submit(request("c", 1), 1)
	if a := m.Submit(request("a", 1), 9); a.Seq != 5 || a.Replayed {
		t.Errorf("after two newer keys, the number that the model remembers: %+v, want a new commit 5", a)
	}
}

// TestSame checks which requests count as the same when a retry is compared with the
// first request.
func TestSame(t *testing.T) {
	create := op(ledger.CreateContainer, args{"container_id": 1, "kind": 1})
	nullOwner := create
	nullOwner.Has |= 1 << ledger.CreateOwner
	nullOwner.Null |= 1 << ledger.CreateOwner
	tx := func(o ledger.Op, metadata string) *ledger.Transaction {
		return &ledger.Transaction{Ops: []ledger.Op{o}, Metadata: []byte(metadata)}
	}
	cases := []struct {
		name string
		a, b *ledger.Transaction
		want bool
	}{
		{"null and absent owner", tx(create, ""), tx(nullOwner, ""), true},
		{"order of fields", tx(create, `{"a":1,"b":2}`), tx(create, `{"b":2,"a":1}`), true},
		{"spelling of a string", tx(create, `{"a":"\u0041"}`), tx(create, `{"a":"A"}`), true},
		{"spelling of a number", tx(create, `{"a":1}`), tx(create, `{"a":1.0}`), false},
		{"another argument", tx(create, ""), tx(op(ledger.CreateContainer, args{"container_id": 2, "kind": 1}), ""), false},
	}
	for _, c := range cases {
		if got := Same(c.a, c.b); got != c.want {
			t.Errorf("%s: Same = %v, want %v", c.name, got, c.want)
		}
	}
}
