package ledger

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/servertest/longtest"
)

// TestPrefetchFinds checks that Prefetch finds the stacks that Apply will look
// up, and skips missing ones, without allocating.
func TestPrefetchFinds(t *testing.T) {
	s := stocked(t, prefetchFrom/4, 5)
	mustApply(t, s, Op{Kind: RenameContainer, Has: 3, Name: "shop", Args: [MaxArgs]int64{7}})
	digest, seq := s.Digest(), s.Seq()
	named := op(TransferFungible, 5, 0, 1, 2, 1)
	named.Ref, named.Name = 1<<TransferTo, "shop"
	txs := []Transaction{
		{Ops: []Op{op(TransferFungible, 1, 2, 1, 0, 1), op(TransferFungible, 1, 1<<40, 1, 0, 1), op(TransferFungible, 1, 2, 9, 0, 1)}},
		{Ops: []Op{op(AddFungible, 3, 1, 77, 1), op(RemoveFungible, 4, 1, 1, 1), op(CreateContainer, 1<<40, int64(Standard)), named}},
		{Ops: []Op{op(HoldFungible, 9, 11, 1, 3, 1), op(RequireBalance, 12, 1, 4, 0, 9)}},
	}
	type found struct{ container, class, key int64 }
	want := []found{{1, 1, 0}, {2, 1, 0}, {1, 1, 0}, {}, {3, 1, 77}, {4, 1, 1}, {5, 1, 2}, {7, 1, 2}, {11, 1, 3}, {12, 1, 4}}
	var got []found
	if n := testing.AllocsPerRun(10, func() {
		for i := range txs {
			s.Expect(&txs[i])
		}
		s.Prefetch()
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	for _, d := range s.ahead.sides[:len(want)] {
		if d.container == 0 {
			got = append(got, found{})
			continue
		}
		if d.hash != stackHash(d.container, d.class, d.key) {
			t.Errorf("%+v has the hash of another stack", d)
		}
		got = append(got, found{s.containers.at(d.container).id, s.classes.at(d.class).id, d.key})
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(found{})); d != "" {
		t.Errorf("stacks found (-want +got):\n%s", d)
	}
	if s.Digest() != digest || s.Seq() != seq {
		t.Error("Prefetch changed the state")
	}
	if err := s.Invariants(); err != nil {
		t.Error(err)
	}
}

// TestPrefetchChangesNothing checks that the same transactions, including those with
// many operations, lead to the same rejections and the same state with and without
// prefetching.
func TestPrefetchChangesNothing(t *testing.T) {
	const containers = prefetchFrom / 2
	plain, ahead := stocked(t, containers, 2), stocked(t, containers, 2)
	r := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 300 {
		group := make([]Transaction, 1+r.IntN(40))
		for i := range group {
			for range 1 + r.IntN(3)*r.IntN(3)*10 {
				from, to, key := 1+r.Int64N(containers+10), 1+r.Int64N(containers+10), r.Int64N(3)
				group[i].Ops = append(group[i].Ops, op(TransferFungible, from, to, 1, key, 1+r.Int64N(2)*999_999))
			}
			ahead.Expect(&group[i])
		}
		ahead.Prefetch()
		for i := range group {
			var out Outcome
			one, other := plain.Apply(&group[i], 0, &out), ahead.Apply(&group[i], 0, &out)
			if d := cmp.Diff(one, other, cmp.AllowUnexported(Error{}, Detail{})); d != "" {
				t.Fatalf("rejections (-plain +prefetched):\n%s", d)
			}
			if one != nil {
				refused++
			}
		}
		if plain.Digest() != ahead.Digest() {
			t.Fatalf("the digest is %016x after prefetching, want %016x", ahead.Digest(), plain.Digest())
		}
	}
	if refused == 0 || ahead.Seq() < 1000 {
		t.Errorf("%d commits and %d rejections, want at least 1000 and 1", ahead.Seq(), refused)
	}
	if err := ahead.Invariants(); err != nil {
		t.Error(err)
	}
}

// TestApplyAhead checks that random transactions, mostly of one transfer, lead to
// the same rejections, decisions and state with and without prefetching. Some of them
// are undone, and some of what was prefetched has changed in the meantime.
func TestApplyAhead(t *testing.T) {
	t.Parallel()
	ahead, limited, seeds := 0, &Permit{Owners: []int64{1}}, uint64(4)
	if !longtest.Form(t, "half of the seeds") {
		seeds = 2
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 14))
		one, all := NewState(Config{}), NewState(Config{})
		apply := func(tx *Transaction) {
			var was, is Outcome
			before := one.Digest()
			refused, also := one.Apply(tx, 0, &was), all.Apply(tx, 0, &is)
			if d := cmp.Diff(refused, also, cmp.AllowUnexported(Error{}, Detail{})); d != "" {
				t.Fatalf("rejections (-plain +prefetched):\n%s", d)
			}
			if d := cmp.Diff(was, is, cmp.AllowUnexported(Fact{})); d != "" {
				t.Fatalf("outcomes (-plain +prefetched):\n%s", d)
			}
			if one.Digest() != all.Digest() {
				t.Fatalf("after %+v the digest is %016x, with prefetching %016x", tx.Ops, one.Digest(), all.Digest())
			}
			if refused == nil && r.IntN(4) == 0 {
				one.Undo()
				all.Undo()
				if one.Digest() != before || all.Digest() != before {
					t.Fatalf("undoing %+v leads to the digests %016x and %016x, from %016x", tx.Ops, one.Digest(), all.Digest(), before)
				}
			}
		}
		apply(asTx(t, field))
		for range 500 {
			group := make([]Transaction, 1+r.IntN(40))
			for i := range group {
				group[i].Ops = []Op{transferOp(r, one)}
				switch r.IntN(9) {
				case 0:
					group[i].Ops[0] = randomStateOp(r, one.nextInstance)
				case 1:
					group[i].Ops = append(group[i].Ops, transferOp(r, one))
				case 2:
					group[i].permit = limited
				case 3:
					held := group[i].Ops[0].Args
					group[i].Ops[0] = op(HoldFungible, 1+r.Int64N(1<<40), held[TransferFrom], held[TransferClass], held[TransferKey], held[TransferQuantity])
				}
				all.Expect(&group[i])
				if r.IntN(10) > 0 {
					continue
				}
				all.Prefetch()
			}
			all.Prefetch()
			for i := range group {
				if group[i].sides != 0 {
					ahead++
				}
				apply(&group[i])
			}
		}
		same(t, "prefetched", dump(t, one), dump(t, all))
		if err := all.Invariants(); err != nil {
			t.Fatal(err)
		}
	}
	if ahead < 3000 {
		t.Errorf("%d plain transfers, want at least 3000", ahead)
	}
}

// TestGuesses checks that transfers between containers with consecutive ids, mostly of
// the same stacks, lead to the same state with and without prefetching. Containers and
// stacks take the record numbers of others in the meantime.
func TestGuesses(t *testing.T) {
	const first, last = 1000, 1299
	r := rand.New(rand.NewPCG(1, 15))
	one, all := stocked(t, 1, 1), stocked(t, 1, 1)
	create := func(s *State, id int64) {
		ops := []Op{op(CreateContainer, id, int64(Standard))}
		for key := range int64(3) {
			ops = append(ops, op(AddFungible, id, 1, key, 1_000_000))
		}
		mustApply(t, s, ops...)
	}
	remove := func(s *State, id int64) {
		var ops []Op
		stacks, _, _, _ := s.Balances(nil, id, BalanceFilter{}, nil, 10)
		for _, of := range stacks {
			ops = append(ops, op(RemoveFungible, id, 1, of.Key, of.Quantity))
		}
		mustApply(t, s, append(ops, op(RemoveContainer, id))...)
	}
	any := func() int64 { return first + r.Int64N(last-first+1) }
	for id := int64(first); id <= last; id++ {
		create(one, id)
		create(all, id)
	}
	guessed, wrong := 0, 0
	var moved int64
	for round := range 1000 {
		if round%10 == 9 { // a container and its stacks take the record numbers of another one, and later their own
			if round%20 == 9 {
				moved = any()
			}
			for _, s := range []*State{one, all} {
				remove(s, moved)
				remove(s, moved%(last-first)+first)
				create(s, moved)
				create(s, moved%(last-first)+first)
			}
		}
		group := transfers(1+r.IntN(prefetchSides/2), 2)
		for i := range group {
			args := &group[i].Ops[0].Args
			args[TransferFrom], args[TransferTo], args[TransferKey] = any(), any(), int64(round/50%3)
			if r.IntN(300) == 0 {
				args[TransferTo] = []int64{1, 5, 1 << 40}[r.IntN(3)]
			}
			all.Expect(&group[i])
		}
		guesses := all.ahead.same >= guessAfter
		all.Prefetch()
		if guesses && all.ahead.same == 0 {
			wrong++
		}
		for i := range group {
			if sides := group[i].sides; sides != 0 && all.ahead.sides[sides].hash == 0 {
				guessed++
			}
			var out Outcome
			refused, also := one.Apply(&group[i], 0, &out), all.Apply(&group[i], 0, &out)
			if d := cmp.Diff(refused, also, cmp.AllowUnexported(Error{}, Detail{})); d != "" {
				t.Fatalf("rejections (-plain +prefetched):\n%s", d)
			}
			if one.Digest() != all.Digest() {
				t.Fatalf("after %+v the digest is %016x, with prefetching %016x", group[i].Ops, one.Digest(), all.Digest())
			}
		}
	}
	same(t, "prefetched", dump(t, one), dump(t, all))
	if err := all.Invariants(); err != nil {
		t.Error(err)
	}
	if guessed < 1000 || wrong < 20 {
		t.Errorf("%d transfers needed no index, and %d groups had a wrong container; want at least 1000 and 20", guessed, wrong)
	}
}

// TestContainersFitCacheLines checks that the fields of a container that a transfer
// reads are on one cache line.
func TestContainersFitCacheLines(t *testing.T) {
	const line = 64
	s := stocked(t, 2*chunkLen, 1)
	for ref := uint32(1); ref < s.containers.next; ref++ {
		c := s.containers.at(ref)
		if from, to := uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&c.instances)); from/line != to/line {
			t.Fatalf("the fields of container %d that a transfer reads are at %#x to %#x, want them on one cache line", ref, from, to)
		}
	}
}

// TestPrefetchLines checks that any number of addresses can be prefetched, and
// that the memory there does not change.
func TestPrefetchLines(t *testing.T) {
	words := make([]uint64, 1<<12)
	var at []unsafe.Pointer
	for i := range words {
		words[i] = uint64(i)
		prefetchLines(at)
		at = append(at, unsafe.Pointer(&words[i]))
	}
	prefetchLines(at)
	for i, w := range words {
		if w != uint64(i) || at[i] != unsafe.Pointer(&words[i]) {
			t.Fatalf("word %d is %d, want %d at the same address", i, w, i)
		}
	}
}
