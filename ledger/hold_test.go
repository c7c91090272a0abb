package ledger

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// vault has two Standard containers and a Grid. Container 1 holds 100 gold of
// key 5.
const vault = `
	RegisterClass class_id=1 name=gold
	RegisterClassShape class_id=1 width=2 height=1
	CreateContainer container_id=1 kind=Standard owner=7
	CreateContainer container_id=2 kind=Standard owner=8
	CreateContainer container_id=3 kind=Grid grid_width=4 grid_height=2 owner=7
	AddFungible container_id=1 class_id=1 key=5 quantity=100`

func newVault(t testing.TB) *State {
	t.Helper()
	s := NewState(Config{IdempotencyKeys: 10})
	accept(t, s, vault)
	return s
}

func holdsOf(t testing.TB, s *State, container int64) []HoldInfo {
	t.Helper()
	list, _, err := s.Holds(nil, container, 0, 1000)
	noErrors(t, err)
	return list
}

func TestHoldSettleRelease(t *testing.T) {
	for _, c := range []struct {
		ops        string
		left, held int64 // of the stack in container 1
		there      int64 // in container 2
	}{
		{"ReleaseHold hold_id=9", 100, 0, 0},
		{"SettleHold hold_id=9 to_container=2", 40, 0, 60},
		{"SettleHold hold_id=9 to_container=2 keep=true", 40, 0, 60},
		{"SettleHold hold_id=9 to_container=2 quantity=25", 75, 0, 25},
		{"SettleHold hold_id=9 to_container=2 quantity=25 keep=false", 75, 0, 25},
		{"SettleHold hold_id=9 to_container=2 quantity=25 keep=true", 75, 35, 25},
		{"SettleHold hold_id=9 to_container=2 quantity=25 keep=true; SettleHold hold_id=9 to_container=2 quantity=35", 40, 0, 60},
		{"ReleaseHold hold_id=9; HoldFungible hold_id=9 container_id=1 class_id=1 key=5 quantity=100", 100, 100, 0},
		{"RemoveFungible container_id=1 class_id=1 key=5 quantity=40; SettleHold hold_id=9 to_container=2", 0, 0, 60},
		{"HoldFungible hold_id=8 container_id=1 class_id=1 key=5 quantity=40; SettleHold hold_id=9 to_container=2", 40, 40, 60},
	} {
		s := newVault(t)
		accept(t, s, "HoldFungible hold_id=9 container_id=1 class_id=1 key=5 quantity=60")
		accept(t, s, "CreateContainer container_id=50 kind=Standard")
		before := dump(t, s)
		accept(t, s, c.ops)
		var left, held, there int64
		for _, b := range balances(t, s, 1) {
			left, held = left+b.Quantity, held+b.Held
		}
		for _, b := range balances(t, s, 2) {
			there += b.Quantity
		}
		if left != c.left || held != c.held || there != c.there {
			t.Errorf("%s: %d left, %d held, %d there; want %d, %d, %d", c.ops, left, held, there, c.left, c.held, c.there)
		}
		stats, err := s.Stats(1)
		if noErrors(t, err); stats.TotalHeld != c.held || stats.TotalQuantity != c.left+c.there {
			t.Errorf("%s: class stats are %+v, want %d held of %d", c.ops, stats, c.held, c.left+c.there)
		}
		if info, _ := s.Container(1); info.UpdatedSeq != s.Seq() {
			t.Errorf("%s: container 1 was updated at %d, want %d", c.ops, info.UpdatedSeq, s.Seq())
		}
		s.Undo()
		same(t, c.ops+" undone", before, dump(t, s))
	}
}

// TestHeldStacksAreUsable checks that a stack with holds can be the target of a merge
// or consolidation, and can be moved.
func TestHeldStacksAreUsable(t *testing.T) {
	s := newVault(t)
	accept(t, s, `AddFungible container_id=3 class_id=1 key=0 quantity=10
		AddFungible container_id=3 class_id=1 key=1 quantity=5
		HoldFungible hold_id=1 container_id=3 class_id=1 key=0 quantity=10
		MergeStacks container_id=3 class_id=1 from_key=1 to_key=0
		MoveInGrid container_id=3 x=0 y=0 to_x=2 to_y=1
		ConsolidateStacks container_id=3 class_id=1 key=0
		SplitStack container_id=3 class_id=1 from_key=0 to_key=7 quantity=5 x=0 y=0`)
	expect(t, "balances", []Balance{{1, 0, 10, 10}, {1, 7, 5, 0}}, balances(t, s, 3))
	refuse(t, s, "SplitStack container_id=3 class_id=1 from_key=0 to_key=7 quantity=1")
}

func TestHoldsAreListed(t *testing.T) {
	s := newVault(t)
	accept(t, s, `HoldFungible hold_id=30 container_id=1 class_id=1 key=5 quantity=1
		AddFungible container_id=2 class_id=1 key=0 quantity=9
		HoldFungible hold_id=10 container_id=1 class_id=1 key=5 quantity=2 expires_at=1700000000
		HoldFungible hold_id=20 container_id=2 class_id=1 key=0 quantity=9`)
	want := []HoldInfo{{10, 1, 1, 5, 2, 2, 1700000000}, {30, 1, 1, 5, 1, 2, 0}}
	expect(t, "holds", want, holdsOf(t, s, 1))
	page, more, err := s.Holds(nil, 1, 0, 1)
	if noErrors(t, err); !more || len(page) != 1 || page[0].ID != 10 {
		t.Errorf("a page of one: %v, more: %t; want hold 10, and more", page, more)
	}
	if page, more, _ = s.Holds(nil, 1, 10, 1); more || len(page) != 1 || page[0].ID != 30 {
		t.Errorf("the page after it: %v, more: %t; want hold 30, and no more", page, more)
	}
	if _, _, err := s.Holds(nil, 99, 0, 1); err == nil || err.Code != ContainerNotFound {
		t.Errorf("holds of container 99: %v, want ContainerNotFound", err)
	}
	if _, err := s.Hold(99); err == nil || err.Code != HoldNotFound {
		t.Errorf("hold 99: %v, want HoldNotFound", err)
	}
	one, err := s.Hold(10)
	noErrors(t, err)
	const text = `{"hold_id":10,"container_id":1,"class_id":1,"key":5,"quantity":2,"held_seq":2,"expires_at":"2023-11-14T22:13:20Z"}`
	if got := string(AppendHold(nil, one, true)); got != text {
		t.Errorf("got %s, want %s", got, text)
	}
	const listed = `{"hold_id":30,"class_id":1,"key":5,"quantity":1,"held_seq":2}`
	if got := string(AppendHold(nil, want[1], false)); got != listed {
		t.Errorf("got %s, want %s", got, listed)
	}
	if s.MayReadHold(10, []int64{7}) != nil || s.MayReadHold(20, []int64{7}) == nil || s.MayReadHold(99, []int64{7}) == nil {
		t.Error("a token limited to owner 7 must be able to read hold 10, but not 20 or 99")
	}
}

// TestExpiryIsDecidedOnce checks that expires_in counts from the time at which the
// transaction is judged, and that the result is rounded up to a whole second and stored
// as expires_at.
func TestExpiryIsDecidedOnce(t *testing.T) {
	for _, c := range []struct{ at, in, want int64 }{
		{5 * second, 10, 15}, {5*second + 1, 10, 16}, {0, 1, 1}, {MaxTime * second / second, MaxPeriod, 254 + MaxPeriod},
	} {
		s := newVault(t)
		tx := asTx(t, fmt.Sprintf("HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=1 expires_in=%d", c.in))
		tx.Key = []byte("k")
		tx.Seal()
		hash := tx.Hash
		var out Outcome
		noErrors(t, s.Apply(tx, c.at, &out))
		if h, _ := s.Hold(1); h.ExpiresAt != c.want {
			t.Errorf("judged at %d: the hold expires at %d, want %d", c.at, h.ExpiresAt, c.want)
		}
		var rec Record
		if err := rec.Decode(AppendRecord(nil, tx, &out)); err != nil || rec.Tx.Hash != hash {
			t.Fatalf("the record decodes with error %v and hash %x, want hash %x", err, rec.Tx.Hash, hash)
		}
		text := fmt.Sprintf(`[{"op":"HoldFungible","args":{"hold_id":1,"container_id":1,"class_id":1,"key":5,"quantity":1,"expires_at":%d}}]`, c.want)
		if got := string(AppendOperations(nil, rec.Tx.Ops)); got != text {
			t.Errorf("read back: %s, want %s", got, text)
		}
		twin := newVault(t)
		if err := twin.Replay(&rec, 77, 1); err != nil || twin.Digest() != s.Digest() {
			t.Errorf("replayed: %v, digest %016x, want %016x", err, twin.Digest(), s.Digest())
		}
	}
	_, err := parseOne(`{"operations":[{"op":"HoldFungible","args":{"hold_id":1,"container_id":1,"class_id":1,"key":5,"quantity":1,"expires_in":1,"expires_at":9}}]}`)
	if err == nil || err.Code != InvalidRequest || detail(err, "field") != "expires_in" {
		t.Errorf("expires_in together with expires_at: %v, want InvalidRequest in expires_in", err)
	}
}

func TestExpire(t *testing.T) {
	s := newVault(t)
	if at, ok := s.NextExpiry(); ok {
		t.Errorf("NextExpiry returns %d, but nothing expires", at)
	}
	var tx Transaction
	if s.Expire(1<<62, MaxOperations, &tx) {
		t.Error("Expire releases something, but there are no holds")
	}
	for id, at := range []int64{0, 50, 20, 50, 30} {
		words := fmt.Sprintf("HoldFungible hold_id=%d container_id=1 class_id=1 key=5 quantity=3", id+1)
		if at != 0 {
			words += fmt.Sprint(" expires_at=", at)
		}
		accept(t, s, words)
	}
	for _, c := range []struct {
		now  int64
		want []int64
		next int64
	}{{20*second - 1, nil, 20}, {20 * second, []int64{3}, 30}, {29 * second, nil, 30}, {51 * second, []int64{5, 2, 4}, 0}} {
		var got []int64
		if s.Expire(c.now, MaxOperations, &tx) {
			for _, op := range tx.Ops {
				got = append(got, op.Args[HoldID])
			}
			if string(tx.Principal) != PrincipalLedger || tx.Permit() != nil {
				t.Errorf("the principal is %q with permit %v, want %q without one", tx.Principal, tx.Permit(), PrincipalLedger)
			}
			noErrors(t, s.Apply(&tx, c.now, &Outcome{}))
			check(t, s)
		}
		if next, _ := s.NextExpiry(); !slices.Equal(got, c.want) || next != c.next {
			t.Errorf("at %d: released %v, want %v; next at %d, want %d", c.now, got, c.want, next, c.next)
		}
	}
	if got := holdsOf(t, s, 1); len(got) != 1 || got[0].ID != 1 {
		t.Errorf("the holds left are %v, want only hold 1", got)
	}
}

func TestExpireIsBounded(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard; AddFungible container_id=1 class_id=1 key=0 quantity=20000")
	for n := range int64(2) {
		var ops []Op
		for i := range int64(MaxOperations) {
			hold := op(HoldFungible, 1+n*MaxOperations+i, 1, 1, 0, 1)
			hold.Has, hold.Args[HoldExpiresAt] = hold.Has|1<<HoldExpiresAt, 9
			ops = append(ops, hold)
		}
		mustApply(t, s, ops[:len(ops)-int(n)*MaxOperations/2]...)
	}
	var tx Transaction
	for _, want := range []int{MaxOperations, MaxOperations / 2, 0} {
		if due := s.Expire(10*second, MaxOperations, &tx); due != (want > 0) || len(tx.Ops) != want {
			t.Fatalf("Expire returns %t with %d releases, want %d", due, len(tx.Ops), want)
		}
		if want > 0 {
			noErrors(t, s.Apply(&tx, 10*second, &Outcome{}))
		}
	}
	check(t, s)
}

func TestHoldsAndOwners(t *testing.T) {
	for _, c := range []struct {
		ops  string
		code Code
	}{
		{"HoldFungible hold_id=3 container_id=1 class_id=1 key=5 quantity=1", ""},
		{"HoldFungible hold_id=3 container_id=2 class_id=1 key=0 quantity=1", Forbidden},
		{"HoldFungible hold_id=3 container_id=99 class_id=1 key=0 quantity=1", Forbidden},
		{"ReleaseHold hold_id=1", ""},
		{"ReleaseHold hold_id=2", Forbidden},
		{"ReleaseHold hold_id=99", Forbidden},
		{"SettleHold hold_id=1 to_container=3", ""},
		{"SettleHold hold_id=1 to_container=2", Forbidden},
		{"SettleHold hold_id=1 to_container=99", Forbidden},
		{"SettleHold hold_id=2 to_container=3", Forbidden},
		{"SettleHold hold_id=2 to_container=2", Forbidden},
	} {
		s := newVault(t)
		accept(t, s, `HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=60
			AddFungible container_id=2 class_id=1 key=0 quantity=9
			HoldFungible hold_id=2 container_id=2 class_id=1 key=0 quantity=9`)
		tx := asTx(t, c.ops)
		tx.SetSender([]byte("seven"), &Permit{Owners: []int64{7}})
		err := s.Apply(tx, 0, &Outcome{})
		if check(t, s); c.code == "" && err != nil || c.code != "" && (err == nil || err.Code != c.code) {
			t.Errorf("%s: %v, want %q", c.ops, err, c.code)
		}
	}
}

// TestOneUnitHeld checks that the digest is different if a hold has one more unit, or
// expires a second later, and is the same again once the holds have ended.
func TestOneUnitHeld(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		a, b, other := newVault(t), newVault(t), newVault(t)
		q, at := 1+rng.Int64N(98), 1+rng.Int64N(1000)
		hold := "HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=%d expires_at=%d"
		accept(t, a, fmt.Sprintf(hold, q, at))
		accept(t, b, fmt.Sprintf(hold, q, at))
		accept(t, other, fmt.Sprintf(hold, q+int64(n%2), at+1-int64(n%2)))
		if a.Digest() != b.Digest() || a.Digest() == other.Digest() {
			t.Fatalf("quantity %d until %d: digests %x, %x, %x; want the first two equal, and the third different", q, at, a.Digest(), b.Digest(), other.Digest())
		}
		for _, s := range []*State{a, b, other} {
			accept(t, s, "ReleaseHold hold_id=1")
		}
		if a.Digest() != b.Digest() || a.Digest() != other.Digest() {
			t.Fatal("the digests differ although the holds have ended")
		}
	}
}

// TestCheckpointWithHolds checks that a checkpoint with holds has version 2 and
// restores the same state, and that a checkpoint has version 1 again once the holds
// have ended.
func TestCheckpointWithHolds(t *testing.T) {
	s := newVault(t)
	if b := checkpointOf(t, s); b[8] != checkpointVersion1 {
		t.Errorf("a checkpoint without holds has version %d, want 1", b[8])
	}
	accept(t, s, `HoldFungible hold_id=7 container_id=1 class_id=1 key=5 quantity=60 expires_at=99
		HoldFungible hold_id=2 container_id=1 class_id=1 key=5 quantity=40`)
	b := checkpointOf(t, s)
	if b[8] != checkpointVersion2 {
		t.Errorf("a checkpoint with holds has version %d, want 2", b[8])
	}
	loaded := loadCheckpoint(t, b, 10)
	check(t, loaded)
	same(t, "loaded", dump(t, s), dump(t, loaded))
	accept(t, loaded, "SettleHold hold_id=7 to_container=2; ReleaseHold hold_id=2")
	if b := checkpointOf(t, loaded); b[8] != checkpointVersion1 {
		t.Errorf("a checkpoint after the holds have ended has version %d, want 1", b[8])
	}
}
