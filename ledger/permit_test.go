package ledger

import (
	"fmt"
	"strings"
	"testing"
)

// limitedWorld has containers 1 (Slots) and 2 (Grid) of owner 7, containers 11
// and 12 of owner 8, and containers 21 and 22 without an owner. Instance 1 is in
// a slot of container 1, and 2 in a slot of container 11. Instance 3 is attached to
// instance 1, 4 is attached to instance 2, and 5 is nowhere.
func limitedWorld(t testing.TB) *State {
	s := NewState(Config{IdempotencyKeys: 10})
	accept(t, s, `
		RegisterClass class_id=1 name=gold; RegisterClass class_id=2 name=sword fungible=false
		RegisterClassShape class_id=1 width=1 height=1; RegisterClassShape class_id=2 width=1 height=1
		CreateContainer container_id=1 kind=Slots owner=7; CreateContainer container_id=2 kind=Grid owner=7
		CreateContainer container_id=11 kind=Slots owner=8; CreateContainer container_id=12 kind=Grid owner=8
		CreateContainer container_id=21 kind=Slots; CreateContainer container_id=22 kind=Grid owner=null
		MintInstance class_id=2 container_id=1 slot_index=0; MintInstance class_id=2 container_id=11 slot_index=0
		MintInstance class_id=2; Attach instance_id=3 parent_id=1
		MintInstance class_id=2; Attach instance_id=4 parent_id=2
		MintInstance class_id=2
		AddFungible container_id=2 class_id=1 key=0 quantity=10; AddFungible container_id=12 class_id=1 key=0 quantity=10`)
	return s
}

// TestPermit tries operations as a client limited to the owners 3 and 7.
func TestPermit(t *testing.T) {
	for _, c := range []struct {
		ops  string
		code Code // "" if it is accepted
		op   int
	}{
		{"CreateContainer container_id=3 kind=Standard owner=7", "", 0},
		{"CreateContainer container_id=3 kind=Standard owner=8", Forbidden, 0},
		{"CreateContainer container_id=3 kind=Standard owner=null", Forbidden, 0},
		{"CreateContainer container_id=3 kind=Standard", Forbidden, 0},
		{"CreateContainer container_id=1 kind=Standard owner=7", ContainerAlreadyExists, 0},
		{"CreateContainer container_id=11 kind=Standard owner=7", Forbidden, 0},
		{"CreateContainer container_id=3 kind=Standard owner=7 slot_count=3", InvalidRequest, 0},
		{"RemoveContainer container_id=2", ContainerNotEmpty, 0},
		{"RemoveContainer container_id=12", Forbidden, 0},
		{"RemoveContainer container_id=21", Forbidden, 0},
		{"RemoveContainer container_id=99", Forbidden, 0},
		{"AddFungible container_id=2 class_id=1 key=0 quantity=1", "", 0},
		{"AddFungible container_id=2 class_id=9 key=0 quantity=1", ClassNotFound, 0},
		{"AddFungible container_id=12 class_id=9 key=0 quantity=1", Forbidden, 0},
		{"RemoveFungible container_id=2 class_id=1 key=0 quantity=99", InsufficientBalance, 0},
		{"RemoveFungible container_id=12 class_id=1 key=0 quantity=1", Forbidden, 0},
		{"TransferFungible from_container=2 to_container=12 class_id=1 key=0 quantity=1", Forbidden, 0},
		{"TransferFungible from_container=12 to_container=2 class_id=1 key=0 quantity=1", Forbidden, 0},
		{"TransferFungible from_container=12 to_container=12 class_id=1 key=0 quantity=1", InvalidOperation, 0},
		{"CreateContainer container_id=3 kind=Standard owner=7; TransferFungible from_container=2 to_container=3 class_id=1 key=0 quantity=1", "", 0},
		{"MergeStacks container_id=12 class_id=1 from_key=0 to_key=1", Forbidden, 0},
		{"ConsolidateStacks container_id=12 class_id=1", Forbidden, 0},
		{"ConsolidateStacks container_id=2 class_id=1", "", 0},
		{"MintInstance class_id=2", Forbidden, 0},
		{"MintInstance class_id=2 container_id=1 slot_index=1", "", 0},
		{"MintInstance class_id=2 container_id=11 slot_index=1", Forbidden, 0},
		{"MintInstance class_id=2; PlaceInGrid container_id=2 instance_id=minted:0", "", 0},
		{"MintInstance class_id=2; Attach instance_id=minted:0 parent_id=3", "", 0},
		{"MintInstance class_id=2; Attach instance_id=minted:0 parent_id=4", Forbidden, 1},
		{"MintInstance class_id=2; Attach instance_id=1 parent_id=minted:0", AlreadyPlaced, 1},
		{"MintInstance class_id=2; BurnInstance instance_id=minted:0", "", 0},
		{"MintInstance class_id=2; MintInstance class_id=2; BurnInstance instance_id=minted:1", Forbidden, 0},
		{"BurnInstance instance_id=3", "", 0},
		{"BurnInstance instance_id=4", Forbidden, 0},
		{"BurnInstance instance_id=5", Forbidden, 0},
		{"BurnInstance instance_id=99", Forbidden, 0},
		{"Detach instance_id=3", Forbidden, 0},
		{"Detach instance_id=4", Forbidden, 0},
		{"Detach instance_id=3; PlaceInSlot container_id=1 slot_index=3 instance_id=3", "", 0},
		{"Detach instance_id=3; Attach instance_id=3 parent_id=1; Detach instance_id=3", Forbidden, 2},
		{"PlaceInSlot container_id=1 slot_index=3 instance_id=5", Forbidden, 0},
		{"PlaceInSlot container_id=1 slot_index=3 instance_id=99", Forbidden, 0},
		{"PlaceInSlot container_id=11 slot_index=3 instance_id=3", Forbidden, 0},
		{"RemoveFromSlot container_id=1 slot_index=0", Forbidden, 0},
		{"RemoveFromSlot container_id=1 slot_index=0; PlaceInGrid container_id=2 instance_id=1", "", 0},
		{"RemoveFromSlot container_id=1 slot_index=0; PlaceInGrid container_id=2 instance_id=1; RemoveFromGrid container_id=2 instance_id=1", Forbidden, 2},
		{"RemoveFromSlot container_id=1 slot_index=0; PlaceInGrid container_id=12 instance_id=1", Forbidden, 1},
		{"RemoveFromSlot container_id=11 slot_index=0", Forbidden, 0},
		{"SwapSlots container_id=1 slot_a=0 slot_b=1", "", 0},
		{"SwapSlots container_id=1 slot_a=0 slot_b=0 other_container_id=11", Forbidden, 0},
		{"MoveInGrid container_id=2 x=0 y=0 to_x=3 to_y=3", "", 0},
		{"MoveInGrid container_id=12 x=0 y=0 to_x=3 to_y=3", Forbidden, 0},
		{"RegisterClass class_id=1 name=gold", Forbidden, 0},
		{"AddFungible container_id=2 class_id=1 key=0 quantity=1; RegisterClassShape class_id=9 width=1 height=1", Forbidden, 1},
	} {
		t.Run(c.ops, func(t *testing.T) {
			s := limitedWorld(t)
			before, out := s.Digest(), &Outcome{}
			tx := asTx(t, c.ops)
			tx.SetSender([]byte("seven"), &Permit{Owners: []int64{3, 7}})
			err := s.Apply(tx, 0, out)
			check(t, s)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				record := AppendRecord(nil, tx, out)
				twin, rec := limitedWorld(t), Record{}
				if err := rec.Decode(record); err != nil || string(rec.Tx.Principal) != "seven" || rec.Tx.Permit() != nil {
					t.Fatalf("the record is decoded as %+v (%v), want principal seven and no permit", rec.Tx, err)
				}
				if err := twin.Replay(&rec, 0, 1); err != nil || twin.Digest() != s.Digest() {
					t.Errorf("replayed: %v, digest %016x, want %016x", err, twin.Digest(), s.Digest())
				}
				return
			}
			if err == nil || err.Code != c.code || err.OpIndex != c.op || s.Digest() != before {
				t.Errorf("%v, want %s at operation %d; the digest is %016x, want %016x", err, c.code, c.op, s.Digest(), before)
			}
		})
	}
}

// TestTransferOnly tries every operation, except RegisterClassShape and RenameClass, as
// clients that have the scope transfer, but not commit.
func TestTransferOnly(t *testing.T) {
	allowed := map[OpKind]bool{}
	for _, c := range []string{
		"TransferFungible from_container=2 to_container=3 class_id=1 key=0 quantity=1", "MergeStacks container_id=2 class_id=1 from_key=0 to_key=1",
		"SplitStack container_id=2 class_id=1 from_key=0 to_key=7 quantity=1", "HoldFungible hold_id=1 container_id=2 class_id=1 key=0 quantity=1",
		"SettleHold hold_id=9 to_container=2", "ReleaseHold hold_id=9",
		"ConsolidateStacks container_id=2 class_id=1", "Attach instance_id=5 parent_id=1", "Detach instance_id=3",
		"PlaceInSlot container_id=1 slot_index=3 instance_id=5", "RemoveFromSlot container_id=1 slot_index=0", "SwapSlots container_id=1 slot_a=0 slot_b=1",
		"PlaceInGrid container_id=2 instance_id=5", "RemoveFromGrid container_id=2 instance_id=6", "MoveInGrid container_id=2 x=0 y=0 to_x=3 to_y=3",
		"RequireBalance container_id=2 class_id=1 key=0 at_least=1", "RequireUnchanged container_id=2 since_seq=2", "RequireInstance instance_id=1 container_id=1",
	} {
		s := limitedWorld(t)
		accept(t, s, `AddFungible container_id=2 class_id=1 key=1 quantity=1; MintInstance class_id=2 container_id=2
			CreateContainer container_id=3 kind=Standard owner=7; AddFungible container_id=3 class_id=1 key=1 quantity=1
			HoldFungible hold_id=9 container_id=3 class_id=1 key=1 quantity=1`)
		tx := asTx(t, c)
		allowed[tx.Ops[0].Kind] = true
		tx.SetSender([]byte("mover"), &Permit{Transfer: true})
		if err := s.Apply(tx, 0, &Outcome{}); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	for _, kind := range OpKinds() {
		if allowed[kind] || kind == RegisterClass || kind == RegisterClassShape || kind == RenameClass {
			continue
		}
		for _, p := range []*Permit{{Transfer: true}, {Transfer: true, Register: true, Owners: []int64{7}}} {
			s := limitedWorld(t)
			before := s.Digest()
			tx := asTx(t, "MoveInGrid container_id=2 x=0 y=0 to_x=3 to_y=3")
			tx.Ops = append(tx.Ops, Op{Kind: kind})
			tx.SetSender([]byte("mover"), p)
			err := s.Apply(tx, 0, &Outcome{})
			if err == nil || err.Code != Forbidden || err.OpIndex != 1 || !strings.Contains(err.Message, kind.String()) || s.Digest() != before {
				t.Errorf("%s: %v, want Forbidden at operation 1", kind, err)
			}
		}
	}
	for register, code := range map[bool]Code{false: Forbidden, true: ""} {
		tx := asTx(t, "RegisterClass class_id=9 name=tin")
		tx.SetSender([]byte("mover"), &Permit{Transfer: true, Register: register})
		if err := limitedWorld(t).Apply(tx, 0, &Outcome{}); (err == nil) != (code == "") {
			t.Errorf("registering with register=%t: %v, want %q", register, err, code)
		}
	}
}

// TestTotalsStayHidden asks for more than a class has room for, as a client
// limited to owners and as an unlimited one, in two ledgers that differ in what
// others own. The limited client must get the same response in both.
func TestTotalsStayHidden(t *testing.T) {
	var said []string
	for _, other := range []int{0, 1_000_000} {
		s := limitedWorld(t)
		accept(t, s, fmt.Sprintf("AddFungible container_id=12 class_id=1 key=7 quantity=%d", 1+other))
		for _, p := range []*Permit{{Owners: []int64{7}}, nil} {
			tx := asTx(t, "AddFungible container_id=2 class_id=1 key=0 quantity=9223372036854775807")
			tx.SetSender([]byte("seven"), p)
			err := s.Apply(tx, 0, &Outcome{})
			if err == nil || err.Code != InvalidOperation {
				t.Fatalf("%v, want InvalidOperation", err)
			}
			said = append(said, string(err.AppendJSON(nil)))
		}
	}
	if said[0] != said[2] {
		t.Errorf("the limited client got different responses: %s\nand %s", said[0], said[2])
	}
	if said[1] == said[3] || !strings.Contains(said[1], `"total_quantity":21`) {
		t.Errorf("the unlimited client got %s\nand %s, want different totals, first 21", said[1], said[3])
	}
}

// TestForbiddenTellsNothing checks that items of other owners and missing items
// are rejected with the same message, except for the number.
func TestForbiddenTellsNothing(t *testing.T) {
	for _, c := range []string{
		"RemoveContainer container_id=%d|12|99", "AddFungible container_id=%d class_id=1 key=0 quantity=1|12|99",
		"BurnInstance instance_id=%d|4|99", "BurnInstance instance_id=%d|5|99", "Detach instance_id=%d|4|99",
	} {
		words := strings.Split(c, "|")
		var said []string
		for _, id := range words[1:] {
			s := limitedWorld(t)
			tx := asTx(t, strings.ReplaceAll(words[0], "%d", id))
			tx.SetSender([]byte("seven"), &Permit{Owners: []int64{7}})
			err := s.Apply(tx, 0, &Outcome{})
			if err == nil || err.Code != Forbidden {
				t.Fatalf("%s of %s: %v, want Forbidden", words[0], id, err)
			}
			said = append(said, strings.ReplaceAll(string(err.AppendJSON(nil)), id, "#"))
		}
		if said[0] != said[1] {
			t.Errorf("%s: another owner's item gives %s\nand a missing one %s", words[0], said[0], said[1])
		}
	}
}

// TestKeyOfAnotherSender checks that the request hash depends on the sender, so that an
// idempotency key shows its result to no other sender.
func TestKeyOfAnotherSender(t *testing.T) {
	hash := func(name string) [16]byte {
		tx := asTx(t, "RemoveContainer container_id=1")
		tx.Key = []byte("k")
		tx.Seal()
		tx.SetSender([]byte(name), nil)
		return tx.Hash
	}
	seen := map[[16]byte]string{}
	for _, name := range []string{"", "a", "b", "ab", strings.Repeat("n", 255)} {
		if other, there := seen[hash(name)]; there {
			t.Errorf("senders %q and %q have the same hash", name, other)
		}
		seen[hash(name)] = name
		if hash(name) != hash(name) {
			t.Errorf("the hash of sender %q changes from call to call", name)
		}
	}
	if got := fmt.Sprintf("%x", hash("a")); got != "47844f27f04398ddcd5d7078ed452c69" {
		t.Errorf("the hash of a request with a sender is %s, but existing logs hold a different one", got)
	}
}

func BenchmarkApplyLimited(b *testing.B) {
	s := NewState(Config{})
	accept(b, s, `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard owner=7
		CreateContainer container_id=2 kind=Standard owner=7; AddFungible container_id=1 class_id=1 key=0 quantity=1000000000000`)
	permits := map[string]*Permit{"all": nil, "limited": {Owners: []int64{3, 7, 9, 12}}}
	for _, name := range []string{"all", "limited"} {
		b.Run(name, func(b *testing.B) {
			tx, out := asTx(b, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=1"), Outcome{}
			tx.SetSender([]byte("seven"), permits[name])
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Apply(tx, 0, &out); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
