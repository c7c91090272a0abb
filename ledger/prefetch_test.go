package ledger

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
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
		t.Errorf("%v allocations", n)
	}
	for _, d := range s.ahead.sides[:len(want)] {
		if d.container == 0 {
			got = append(got, found{})
			continue
		}
		if d.hash != stackHash(d.container, d.class, d.key) {
			t.Errorf("%+v is of another stack", d)
		}
		got = append(got, found{s.containers.at(d.container).id, s.classes.at(d.class).id, d.key})
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(found{})); d != "" {
		t.Error(d)
	}
	if s.Digest() != digest || s.Seq() != seq {
		t.Error("the state has changed")
	}
	if err := s.Invariants(); err != nil {
		t.Error(err)
	}
}

// TestPrefetchChangesNothing checks that the same transactions lead to the same
// rejections and the same state with and without prefetching, including those
// with many operations.
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
				t.Fatal(d)
			}
			if one != nil {
				refused++
			}
		}
		if plain.Digest() != ahead.Digest() {
			t.Fatal("the states differ")
		}
	}
	if refused == 0 || ahead.Seq() < 1000 {
		t.Errorf("%d commits, %d refused: the test shows little", ahead.Seq(), refused)
	}
	if err := ahead.Invariants(); err != nil {
		t.Error(err)
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
			t.Fatalf("word %d is %d", i, w)
		}
	}
}
