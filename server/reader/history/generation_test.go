package history

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/wal/memfs"
)

// TestAwait checks that a tailer that is catching up waits for the files, unless
// they can't be written.
func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 8, 400)
		p := newDisk(1).Process()
		f := w.follow(New(w.config(p)), 0)
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
		await := func() chan struct{} {
			t.Helper()
			for len(f.gens) <= 1+awaited {
				if !f.apply(1) {
					t.Fatal("the log has too few commits")
				}
			}
			passed := make(chan struct{})
			go func() {
				f.Await(t.Context())
				close(passed)
			}()
			synctest.Wait()
			return passed
		}
		<-await() // nobody writes files yet
		if held, err := f.hold(); !held || err != nil {
			t.Fatalf("acquiring the duty of writing files: %v, %v", held, err)
		}
		passed := await()
		select {
		case <-passed:
			t.Fatalf("it did not wait for %d generations", len(f.gens)-1)
		default:
		}
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
		<-passed
		passed = await()
		p.Plan(memfs.FailFrom(0, errInjected, true))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go f.Run(ctx)
		select {
		case <-passed:
		case <-time.After(time.Minute):
			t.Fatal("it waits for files that can't be written")
		}
	})
}

// TestViewKeepsItsChanges checks that a view reads the same after its changes in
// memory are written to files and the memory of other generations is reused.
func TestViewKeepsItsChanges(t *testing.T) {
	w := newWorld(t, 6, 600)
	f := w.follow(New(w.config(newDisk(1).Process())), 0)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	type held struct {
		v    *View
		want []Entry
	}
	var views []held
	all := func(v *View) (list []Entry) {
		if err := v.Oldest(0, func(e *Entry) bool { list = append(list, *e); return true }); err != nil {
			t.Fatal(err)
		}
		return list
	}
	used := map[*ledger.StackChange]bool{}
	again := 0
	for n := 0; f.apply(3); n++ {
		if list := f.open.open().List(); cap(list) > 0 {
			at := &list[:1][0]
			if used[at] {
				again++
			}
			used[at] = true
		}
		if n%20 > 3 { // otherwise some view would hold everything in memory
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, id := range w.ids {
			v, err := f.View(id)
			if err != nil {
				t.Fatal(err)
			}
			views = append(views, held{v, all(v)})
		}
	}
	for _, h := range views {
		if got := all(h.v); !slices.Equal(got, h.want) {
			t.Fatalf("container %d: the view's entries changed: now %d, before %d", h.v.container, len(got), len(h.want))
		}
	}
	if again == 0 {
		t.Error("no block was reused")
	}
}

// TestSortRefs checks that refs with keys of any size are sorted, and that those of
// one key keep their order.
func TestSortRefs(t *testing.T) {
	for bits := range 65 {
		r := rand.New(rand.NewPCG(uint64(bits), 1))
		refs := make([]ref, r.IntN(3000))
		for i := range refs {
			refs[i] = ref{key: r.Uint64() >> (64 - bits) << r.IntN(2), at: uint32(i)}
			if i > 0 && r.IntN(3) == 0 {
				refs[i].key = refs[i-1].key
			}
		}
		want := slices.Clone(refs)
		slices.SortStableFunc(want, func(a, b ref) int { return cmp.Compare(a.key, b.key) })
		if !slices.Equal(sortRefs(refs), want) {
			t.Fatalf("keys of %d bits are not sorted", bits)
		}
	}
}
