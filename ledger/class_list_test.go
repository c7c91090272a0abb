package ledger

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// listed returns the correct lists, found by scanning everything.
func listed(t *testing.T, s *State, class int64) (holders []Holder, instances []InstanceInfo) {
	containers, _, _ := s.Containers(nil, ContainerFilter{}, 0, math.MaxInt)
	for _, c := range containers {
		if c.Kind == Slots {
			continue
		}
		balances, _, _, err := s.Balances(nil, c.ID, BalanceFilter{ClassID: &class}, nil, math.MaxInt)
		noErrors(t, err)
		for _, b := range balances {
			holders = append(holders, Holder{c.ID, b.Key, b.Quantity, b.Held})
		}
	}
	for id := int64(1); id < s.nextInstance; id++ {
		if n, err := s.Instance(id); err == nil && n.ClassID == class {
			instances = append(instances, n)
		}
	}
	return holders, instances
}

// pages reads a list to its end.
func pages[E any, P comparable](t *testing.T, limit int, read func(after P) ([]E, P, bool)) (all []E) {
	t.Helper()
	var after P
	for more := true; more; {
		var page []E
		last := after
		page, after, more = read(after)
		if len(page) > limit || more && after == last {
			t.Fatalf("a page of %d with limit %d went from %v to %v, more: %t; want at most the limit, and progress while there is more",
				len(page), limit, last, after, more)
		}
		all = append(all, page...)
	}
	return all
}

// fitting returns the matching elements, nil if there are none.
func fitting[E any](all []E, fits func(E) bool) (some []E) {
	for _, e := range all {
		if fits(e) {
			some = append(some, e)
		}
	}
	return some
}

func compareLists(t *testing.T, s *State, limit int) {
	t.Helper()
	for class := int64(1); class <= 4; class++ {
		holders, instances := listed(t, s, class)
		for key := int64(-1); key < 3; key++ {
			var only *int64
			if key >= 0 {
				only = &key
			}
			if class <= 2 {
				want := fitting(holders, func(h Holder) bool { return only == nil || h.Key == key })
				got := pages(t, limit, func(after HolderKey) ([]Holder, HolderKey, bool) {
					return s.Holders(nil, class, only, after, limit)
				})
				expect(t, fmt.Sprintf("holders of %d, key %d", class, key), want, got)
				continue
			}
			for container := int64(0); container < 14; container += 1 + 3*container%5 {
				want := fitting(instances, func(n InstanceInfo) bool {
					return (only == nil || n.Key == key) && (container == 0 || n.ContainerID == container)
				})
				got := pages(t, limit, func(after int64) ([]InstanceInfo, int64, bool) {
					return s.Instances(nil, class, InstanceFilter{only, container}, after, limit)
				})
				expect(t, fmt.Sprintf("instances of %d, key %d, container %d", class, key, container), want, got)
			}
		}
	}
}

// TestClassLists compares the lists with a scan of everything. They are built
// in pieces between random changes, some of which are undone.
func TestClassLists(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for round := range 8 {
		s := NewState(Config{})
		text := "RegisterClass class_id=1 name=a; RegisterClass class_id=2 name=b; RegisterClass class_id=3 name=c fungible=false; RegisterClass class_id=4 name=d fungible=false" +
			"; RegisterClassShape class_id=1 width=1 height=1; RegisterClassShape class_id=2 width=1 height=1; RegisterClassShape class_id=3 width=1 height=1; RegisterClassShape class_id=4 width=1 height=1"
		for id := 1; id <= 13; id++ {
			text += fmt.Sprintf("; CreateContainer container_id=%d kind=%s", id, ContainerKind(1+id%3))
		}
		accept(t, s, text)
		for step := range 2500 {
			var text string
			container, class, key := 1+r.IntN(13), 1+r.IntN(2), r.IntN(3)
			switch r.IntN(9) {
			case 0, 1:
				text = fmt.Sprintf("AddFungible container_id=%d class_id=%d key=%d quantity=5", container, class, key)
			case 2:
				text = fmt.Sprintf("RemoveFungible container_id=%d class_id=%d key=%d quantity=5", container, class, key)
			case 3:
				text = fmt.Sprintf("ConsolidateStacks container_id=%d class_id=%d", container, class)
			case 4, 5:
				text = fmt.Sprintf("MintInstance class_id=%d key=%d", 3+r.IntN(2), key)
				if r.IntN(3) > 0 {
					text += fmt.Sprintf(" container_id=%d", container)
					if container%3 == 1 {
						text += fmt.Sprintf(" slot_index=%d", r.IntN(8))
					}
				}
			case 6:
				text = fmt.Sprintf("BurnInstance instance_id=%d", 1+r.Int64N(s.nextInstance))
			case 7:
				text = fmt.Sprintf("Attach instance_id=%d parent_id=%d", 1+r.Int64N(s.nextInstance), 1+r.Int64N(s.nextInstance))
			case 8:
				text = fmt.Sprintf("HoldFungible hold_id=%d container_id=%d class_id=%d key=%d quantity=1", step+1, container, class, key)
			}
			if r.IntN(5) == 0 {
				text += "; BurnInstance instance_id=999999" // so that the whole transaction is undone
			}
			if s.Apply(asTx(t, text), 0, &Outcome{}) == nil && r.IntN(6) == 0 {
				s.Undo()
			}
			if step > 1000+100*round && r.IntN(20) == 0 {
				s.MakeList(r.IntN(2) == 0, r.IntN(5))
			}
		}
		for _, fungible := range []bool{true, false} {
			for !s.MakeList(fungible, 1000) {
			}
			if !s.Listed(fungible) {
				t.Error("the list is not complete")
			}
		}
		check(t, s)
		compareLists(t, s, 1+r.IntN(30))
		loaded := loadCheckpoint(t, checkpointOf(t, s), 0)
		for range 2 {
			loaded.MakeList(true, math.MaxInt)
			loaded.MakeList(false, math.MaxInt)
		}
		compareLists(t, loaded, 7)
	}
}

// TestSkippedIsBounded checks that a page that skips almost everything ends
// early, and that the pages together are complete.
func TestSkippedIsBounded(t *testing.T) {
	const n = 2*maxSkipped + 100
	s := NewState(Config{})
	tx := Transaction{Ops: make([]Op, 1)}
	do := func(kind OpKind, args ...int64) {
		tx.Ops[0] = Op{Kind: kind, Has: 1<<len(args) - 1}
		copy(tx.Ops[0].Args[:], args)
		noErrors(t, s.Apply(&tx, 0, &Outcome{}))
	}
	accept(t, s, "CreateContainer container_id=1 kind=Standard owner=3")
	for id := int64(1); id <= n; id++ {
		tx.Ops[0] = Op{Kind: RegisterClass, Has: 1<<ClassID | 1<<ClassName, Name: "x", Args: [MaxArgs]int64{ClassID: id}}
		noErrors(t, s.Apply(&tx, 0, &Outcome{}))
		do(AddFungible, 1, id, id%n, 1)
		do(CreateContainer, id+1, int64(Standard), 3)
		do(AddFungible, id+1, 1, min(id%n, 1), 1)
	}
	accept(t, s, fmt.Sprintf("CreateContainer container_id=%d kind=Slots owner=3; CreateContainer container_id=%d kind=Slots owner=4", n+5, n+6))
	s.MakeList(true, math.MaxInt)
	count := 0
	again := func(more bool) bool { count++; return more }
	key := int64(0)
	var places []int64
	places = append(places, int64(len(pages(t, 10, func(after StackKey) ([]Balance, StackKey, bool) {
		from := &after
		if after == (StackKey{}) {
			from = nil
		}
		page, last, more, err := s.Balances(nil, 1, BalanceFilter{Key: &key}, from, 10)
		noErrors(t, err)
		return page, last, again(more)
	}))))
	places = append(places, int64(len(pages(t, 10, func(after HolderKey) ([]Holder, HolderKey, bool) {
		page, last, more := s.Holders(nil, 1, &key, after, 10)
		return page, last, again(more)
	}))))
	for _, owners := range [][]int64{{3}, {3, 4}} {
		places = append(places, int64(len(pages(t, 10, func(after int64) ([]ContainerInfo, int64, bool) {
			page, last, more := s.ContainersOf(nil, owners, Slots, after, 10)
			return page, last, again(more)
		}))))
	}
	expect(t, "what was found", []int64{1, 1, 1, 2}, places)
	if count < 4*3 {
		t.Errorf("only %d pages, want at least %d", count, 4*3)
	}
}

// TestListMemory checks that lists take no memory until they are requested, and
// only a few bytes per stack after that.
func TestListMemory(t *testing.T) {
	const n = 60_000
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=a; CreateContainer container_id=1 kind=Standard")
	tx := Transaction{Ops: make([]Op, 1)}
	for key := range int64(n) {
		tx.Ops[0] = Op{Kind: AddFungible, Has: 15, Args: [MaxArgs]int64{1, 1, key * 7919 % n, 1}}
		noErrors(t, s.Apply(&tx, 0, &Outcome{}))
	}
	if s.lists.stacks != nil {
		t.Error("a list was created before anybody requested one")
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	s.MakeList(true, math.MaxInt)
	each := float64(heap()-before) / n
	t.Logf("%.2f bytes per stack", each)
	if each > 8 {
		t.Errorf("a stack takes %.1f bytes in the list of its class, want at most 8", each)
	}
	if got, _, _ := s.Holders(nil, 1, nil, HolderKey{}, math.MaxInt); len(got) != n || !slices.IsSortedFunc(got, func(a, b Holder) int { return cmp.Compare(a.Key, b.Key) }) {
		t.Errorf("%d holders, want %d in the order of their keys", len(got), n)
	}
}
