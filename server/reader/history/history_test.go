package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"assetledger/ledger"
	"assetledger/server/servertest/longtest"
	"assetledger/wal/memfs"
)

func noLimit(int64) error { return nil }

// compare compares what the index returns for some containers and commits with
// what was true then.
func (f *follower) compare(r *rand.Rand, from uint64, n int) {
	t := f.world.t
	t.Helper()
	last := f.state.Seq()
	for range n {
		id := f.world.ids[r.IntN(len(f.world.ids))]
		seq := from + r.Uint64N(last-from+1)
		v, err := f.View(id)
		if err != nil {
			t.Fatal(err)
		}
		s, err := v.At(seq, noLimit)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := dump(s, id), f.world.dumps[id][seq]; got != want || s.Seq() != seq {
			t.Fatalf("container %d at commit %d of %d:\n%s\nwant\n%s", id, seq, last, got, want)
		}
		bare, err := v.BareAt(seq)
		if err != nil {
			t.Fatal(err)
		}
		whole, refused := s.Container(id)
		whole.OccupiedCells = 0 // not reported
		if got, err := bare.Container(id); got != whole || (err == nil) != (refused == nil) {
			t.Fatalf("container %d at commit %d: %+v, want %+v", id, seq, got, whole)
		}
		f.Reclaim(s)
		f.Reclaim(bare)
		if at, err := v.Time(max(seq, 1)); err != nil || at != f.world.times[max(seq, 1)] && seq > v.Base() {
			t.Fatalf("commit %d was made at %d, want %d (%v)", seq, at, f.world.times[max(seq, 1)], err)
		}
		f.compareOrders(v, from+1, seq)
		moment := f.world.times[seq] + int64(r.IntN(2_000_000)) - 1_000_000
		want := uint64(0)
		for i := uint64(1); i <= last && f.world.times[i] <= moment; i++ {
			want = i
		}
		if got, err := v.SeqAt(moment); err != nil || got != want && want > v.Base() {
			t.Fatalf("at %d the last commit was %d, want %d (%v)", moment, got, want, err)
		}
	}
}

// compareOrders checks that Oldest passes exactly the entries that Newest passes, in
// the reverse order.
func (f *follower) compareOrders(v *View, from, to uint64) {
	t := f.world.t
	t.Helper()
	var newest, oldest []Entry
	err1 := v.Newest(to, func(e *Entry) bool {
		if e.Seq < from {
			return false
		}
		newest = append(newest, *e)
		return true
	})
	err2 := v.Oldest(from, func(e *Entry) bool {
		if e.Seq > to {
			return false
		}
		oldest = append(oldest, *e)
		return true
	})
	if err1 != nil || err2 != nil || len(newest) != len(oldest) {
		t.Fatalf("container %d, commits %d to %d: %d entries newest first, %d oldest first; %v, %v", v.container, from, to, len(newest), len(oldest), err1, err2)
	}
	for i := range oldest {
		if oldest[i] != newest[len(newest)-1-i] {
			t.Fatalf("container %d, commits %d to %d: entry %d is %+v from one end and %+v from the other",
				v.container, from, to, i, oldest[i], newest[len(newest)-1-i])
		}
	}
}

// keep does what Run does, until there is nothing left to do.
func (x *Index) keep(t testing.TB) error {
	for {
		if _, err := x.step(t.Context()); err != nil {
			return err
		}
		select {
		case <-x.poke:
		default:
			if err := x.Ready(); err != nil {
				return fmt.Errorf("nothing wakes the keeper: %w", err)
			}
			return nil
		}
	}
}

// TestFollowing checks what an index returns, from memory and from files of all sizes,
// for random containers and commits while it follows a log.
func TestFollowing(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() || !longtest.Form(t, "two of three seeds") {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t, seed, 600)
		if w.reversals < 20 {
			t.Errorf("the log has %d reversals, want at least 20", w.reversals)
		}
		disk := newDisk(seed)
		f := w.follow(New(w.config(disk.Process())), 0)
		merged := false
		for more := true; more; {
			more = f.apply(1 + r.IntN(40))
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
			f.compare(r, 0, 40)
			merged = merged || f.Meter.Built.Load() > uint64(len(f.files))
		}
		if !merged {
			t.Errorf("%d files of %d made are left, want fewer because of a merge", len(f.files), f.Meter.Built.Load())
		}
		f.compare(r, 0, 500)
		f.Close()
		// A daemon that starts at any checkpoint uses the files, and builds the missing
		// ones.
		for seq := range w.log.checkpoints {
			f := w.follow(New(w.config(disk.Process())), seq)
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
			f.apply(1000) // closes more generations than may wait: the dropped ones are rebuilt
			if err := f.keep(t); err != nil {
				t.Fatal(err)
			}
			f.compare(r, 0, 100)
			f.Close()
		}
	}
}

// TestNoCommitYet checks that an empty log has an empty history, even before files
// have been looked for.
func TestNoCommitYet(t *testing.T) {
	w := newWorld(t, 9, 1)
	f := w.follow(New(w.config(newDisk(1).Process())), 0)
	v, err := f.View(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Newest(0, func(e *Entry) bool { t.Errorf("an empty log has the entry %+v", e); return false }); err != nil {
		t.Error(err)
	}
	if s, err := v.At(0, func(int64) error { return nil }); err != nil {
		t.Error(err)
	} else {
		f.Reclaim(s)
	}
}

// TestIndexIsRebuilt checks that the whole index is rebuilt from the log if
// there are no files.
func TestIndexIsRebuilt(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := newWorld(t, 9, 400)
	for seq := range w.log.checkpoints {
		f := w.follow(New(w.config(newDisk(1).Process())), seq)
		var notReady *NotReadyError
		if _, err := f.View(1); !errors.As(err, &notReady) {
			t.Fatalf("a view before there is an index: %v, want a NotReadyError", err)
		}
		if err := f.keep(t); err != nil {
			t.Fatal(err)
		}
		f.apply(20)
		f.compare(r, 0, 200)
	}
}

// TestArchivedFront archives the front of the log. The existing files still
// serve what they cover. Without them, the index begins at the oldest
// checkpoint.
func TestArchivedFront(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	w := newWorld(t, 5, 400)
	disk := newDisk(1)
	f := w.follow(New(w.config(disk.Process())), 0)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.Close()
	seqs, _ := w.log.List()
	last := seqs[len(seqs)-1]
	for _, old := range seqs[:len(seqs)-2] {
		delete(w.log.checkpoints, old)
	}
	w.log.first = seqs[len(seqs)-2] - 20
	f = w.follow(New(w.config(disk.Process())), last)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.compare(r, 0, 100)
	f.Close()
	base := seqs[len(seqs)-2]
	disk = newDisk(1)
	f = w.follow(New(w.config(disk.Process())), last)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	if v, err := f.View(1); err != nil || v.Base() != base {
		t.Fatalf("base %d, want %d: %v", v.Base(), base, err)
	}
	f.compare(r, base, 300)

	// The front is moved back. The old daemon still writes the files while one new
	// daemon follows the log from its beginning to a commit before the base, and
	// another starts at the end. Then a new daemon writes the files.
	w.log.first = 1
	early := w.follow(New(w.config(disk.Process())), 0)
	early.apply(10)
	if err := early.keep(t); err != nil {
		t.Fatal(err)
	}
	early.compare(r, 0, 100)
	early.Close()
	other := w.follow(New(w.config(disk.Process())), last)
	other.apply(1000)
	if err := other.keep(t); err != nil {
		t.Fatal(err)
	}
	other.compare(r, base, 100)
	other.Close()
	f.Close()
	f = w.follow(New(w.config(disk.Process())), last)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	if v, err := f.View(1); err != nil || v.Base() != 0 {
		t.Fatalf("base %d, want none: %v", v.Base(), err)
	}
	f.compare(r, 0, 300)
}

// TestReplacedEnd checks that files with commits that the log lost in a repair
// are not used.
func TestReplacedEnd(t *testing.T) {
	w, other := newWorld(t, 3, 200), newWorld(t, 4, 200)
	other.log.frames[0].Chain++ // a different history from its beginning
	disk := newDisk(1)
	f := other.follow(New(other.config(disk.Process())), 0)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.Close()
	f = w.follow(New(w.config(disk.Process())), 0)
	f.apply(1000)
	if err := f.keep(t); err != nil {
		t.Fatal(err)
	}
	f.compare(rand.New(rand.NewPCG(1, 1)), 0, 100)
}

// TestTwoDaemons runs two daemons: one writes the files, and the other uses
// them.
func TestTwoDaemons(t *testing.T) {
	w := newWorld(t, 8, 400)
	r := rand.New(rand.NewPCG(1, 1))
	disk := newDisk(1)
	p := disk.Process()
	a, b := w.follow(New(w.config(p)), 0), w.follow(New(w.config(p)), 0)
	for more := true; more; {
		more = a.apply(20)
		if err := a.keep(t); err != nil {
			t.Fatal(err)
		}
		b.apply(20)
		if err := b.keep(t); err != nil {
			t.Fatal(err)
		}
		b.compare(r, 0, 20)
	}
	if b.Meter.Built.Load() != 0 || len(b.files) == 0 || len(b.gens) > 3 {
		t.Errorf("the second daemon has made %d files, uses %d, and keeps %d generations; want none made, and at most 3 kept", b.Meter.Built.Load(), len(b.files), len(b.gens))
	}
}

// TestEntry checks that an entry decodes to what was encoded, and that decoding
// rejects an entry that is truncated anywhere.
func TestEntry(t *testing.T) {
	held := ledger.Change{Kind: ledger.HeldChanged, Op: 3, OpKind: ledger.SettleHold, Container: 7, Stacks: 2, Instances: 1,
		ClassID: 5, Key: 6, Delta: -9, Quantity: 1 << 62, Held: 4, InGrid: true, X: 1, Y: 2, Width: 3, Height: 4, Turned: true,
		Hold: ledger.HoldInfo{ID: 8, ContainerID: 7, ClassID: 5, Key: 6, Quantity: 4, HeldSeq: 77, ExpiresAt: 99}}
	paid := held
	paid.Kind, paid.Delta, paid.Payer, paid.Hold = ledger.StackChanged, 9, 1<<62, ledger.HoldInfo{}
	for _, c := range []ledger.Change{held, paid} {
		b := appendEntry(nil, 1234, &c)
		var e Entry
		if err := e.decode(b, 7); err != nil || e != (Entry{1234, c}) {
			t.Fatalf("%+v, %v; want %+v", e, err, c)
		}
		for n := range len(b) {
			if err := e.decode(b[:n], 7); err == nil {
				t.Errorf("the first %d bytes were decoded", n)
			}
		}
	}
}

// TestStackEntry checks that putStack, the fast path for the entry of a change,
// produces the same bytes as appendEntry.
func TestStackEntry(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	number := func() int64 { return r.Int64() >> r.IntN(63) }
	for range 10_000 {
		s := ledger.StackChange{Seq: uint64(number()), Container: number(), ClassID: number(), Key: number(), Delta: number() - number(), Quantity: number(),
			Stacks: r.Uint32(), Instances: r.Uint32() >> 20, Op: r.Int32N(10_000), OpKind: ledger.OpKind(r.IntN(ledger.NumOpKinds))}
		c := ledger.Change{Kind: ledger.StackChanged, Op: s.Op, OpKind: s.OpKind, Container: s.Container, Stacks: int(s.Stacks), Instances: int(s.Instances),
			ClassID: s.ClassID, Key: s.Key, Delta: s.Delta, Quantity: s.Quantity}
		var b [largestEntry]byte
		if got, want := b[:putStack(b[:], &s)], appendEntry(nil, s.Seq, &c); string(got) != string(want) {
			t.Fatalf("%+v: %x, want %x", s, got, want)
		}
	}
}

// newDisk returns a disk with the directory of the log.
func newDisk(seed uint64) *memfs.Disk {
	disk := memfs.New(seed)
	p := disk.Process()
	if err := errors.Join(p.Mkdir("/log"), p.SyncDir("/")); err != nil {
		panic(err)
	}
	return disk
}
