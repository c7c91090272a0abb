package history

import (
	"errors"
	"math/rand/v2"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal/memfs"
)

// TestFaultsAtEveryStep makes the n-th operation on the file system fail, alone or with
// all later ones. In other runs, it kills the daemon at that operation, and in half of
// them also crashes the machine. From the files that are left, the next daemon must
// return correct results.
func TestFaultsAtEveryStep(t *testing.T) {
	w := newWorld(t, 7, 150)
	r := rand.New(rand.NewPCG(1, 1))
	for _, kill := range []bool{false, true} {
		step := 1
		if testing.Short() {
			step = 23
		} else if !longtest.Form(t, "two of three steps") {
			step = 3
		}
		fired := true
		n := 0
		for ; fired; n += step {
			disk := newDisk(uint64(n))
			plan := memfs.FailFrom(n, errInjected, n%2 == 0)
			if kill {
				plan = memfs.KillAt(n)
			}
			fired = false
			watched := func(i int, op memfs.Op, name string) memfs.Fault {
				fault := plan(i, op, name)
				fired = fired || fault != memfs.Fault{}
				return fault
			}
			memfs.Survives(func() {
				p := disk.Process()
				p.Plan(watched)
				f := w.follow(New(w.config(p)), 0)
				for more := true; more; {
					more = f.apply(30)
					if err := f.keep(t); err != nil && !errors.Is(err, errInjected) {
						t.Fatalf("operation %d: %v, want no error or the injected one", n, err)
					}
				}
				f.compareIfReady(r)
			})
			if kill && n%2 == 0 {
				disk.Crash()
			}
			f := w.follow(New(w.config(disk.Process())), 0)
			f.apply(1000)
			if err := f.keep(t); err != nil {
				t.Fatalf("the next daemon, after operation %d: %v", n, err)
			}
			f.compare(r, 0, 30)
		}
		t.Logf("%d operations, killed: %v", n, kill)
	}
}

var errInjected = errors.New("injected")

func (f *follower) compareIfReady(r *rand.Rand) {
	if f.Ready() != nil {
		return
	}
	id := f.world.ids[r.IntN(len(f.world.ids))]
	v, err := f.View(id)
	if err != nil {
		return
	}
	if s, err := v.At(f.state.Seq(), noLimit); err == nil && dump(s, id) != f.world.dumps[id][f.state.Seq()] {
		f.world.t.Fatalf("after a fault: container %d at commit %d:\n%s\nwant\n%s", id, f.state.Seq(), dump(s, id), f.world.dumps[id][f.state.Seq()])
	}
}
