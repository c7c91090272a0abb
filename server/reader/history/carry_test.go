package history

import (
	"io"
	"math/rand/v2"
	"testing"

	"assetledger/ledger"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
)

// A churn makes changes to one container: some items come and go all the time, and
// others stay the same for a long time.
type churn struct {
	r       *rand.Rand
	kind    ledger.ContainerKind // Standard, with stacks and holds, or Slots
	there   bool
	stacks  [4]int64
	holds   map[int64]ledger.HoldInfo
	slots   map[int64]int // slot of each instance
	seq     uint64        // of the last change
	changes []Entry
}

// busy returns a random number below n, mostly 0 or 1.
func (c *churn) busy(n int) int { return c.r.IntN(1 + c.r.IntN(1+c.r.IntN(n))) }

func (c *churn) held(stack int64) (sum int64) {
	for _, h := range c.holds {
		if h.Key == stack {
			sum += h.Quantity
		}
	}
	return sum
}

// next returns the commit of the next change. Often that is the commit of the
// previous change.
func (c *churn) next() uint64 {
	if c.seq == 0 || len(c.changes)%5 < 3 {
		return c.seq + 1
	}
	return c.seq
}

// tell adds a change.
func (c *churn) tell(change ledger.Change) {
	change.Container, change.OpKind = 1, ledger.AddFungible
	for _, q := range c.stacks {
		if q > 0 {
			change.Stacks++
		}
	}
	change.Instances = len(c.slots)
	c.seq = c.next()
	c.changes = append(c.changes, Entry{c.seq, change})
}

// step makes a random change.
func (c *churn) step() {
	if !c.there {
		c.there = true
		info := ledger.ContainerInfo{ID: 1, Kind: c.kind, CreatedSeq: c.next()}
		if c.kind == ledger.Slots {
			info.SlotCount = 16
		}
		c.tell(ledger.Change{Kind: ledger.ContainerCreated, Info: info})
		return
	}
	if c.r.IntN(40) == 0 && c.stacks == [4]int64{} && len(c.slots) == 0 {
		c.there = false
		c.tell(ledger.Change{Kind: ledger.ContainerRemoved})
		return
	}
	if c.kind == ledger.Slots {
		c.stepSlots()
	} else {
		c.stepStacks()
	}
}

func (c *churn) stepSlots() {
	id := int64(1 + c.busy(6))
	change := ledger.Change{InstanceID: id, ClassID: 2, Key: 5}
	slot, in := c.slots[id]
	switch {
	case !in:
		change.Kind, change.Slot = ledger.InstanceIn, int(id)
	case c.r.IntN(3) > 0:
		change.Kind, change.Slot = ledger.InstanceOut, slot
	default:
		change.Kind, change.Slot = ledger.InstanceMoved, int(id)+8-slot&8
	}
	if c.slots[id] = change.Slot; change.Kind == ledger.InstanceOut {
		delete(c.slots, id)
	}
	c.tell(change)
}

func (c *churn) stepStacks() {
	key := int64(c.busy(len(c.stacks)))
	held := c.held(key)
	change := ledger.Change{Kind: ledger.StackChanged, ClassID: 1, Key: key}
	id := int64(1 + c.busy(4))
	h, made := c.holds[id]
	switch pick := c.r.IntN(4); {
	case pick == 0 && made:
		key, change.Key, change.Kind = h.Key, h.Key, ledger.HeldChanged
		change.Delta, h.Quantity = -h.Quantity, 0
		change.Hold = h
		delete(c.holds, id)
	case pick == 1 && !made && c.stacks[key] > held:
		h = ledger.HoldInfo{ID: id, ContainerID: 1, ClassID: 1, Key: key, Quantity: 1, HeldSeq: c.next()}
		c.holds[id], change.Kind, change.Delta, change.Hold = h, ledger.HeldChanged, 1, h
	case pick == 2 && c.stacks[key] > held:
		change.Delta = -(c.stacks[key] - held) // down to the held quantity, or to nothing
		c.stacks[key] = held
	default:
		change.Delta = 1 + c.r.Int64N(3)
		c.stacks[key] += change.Delta
	}
	change.Quantity, change.Held = c.stacks[key], c.held(key)
	c.tell(change)
}

// view indexes the changes in files that begin at random commits. The parameter run is
// the number of entries in a file before its first run of carried entries.
func (c *churn) view(t *testing.T, run, parts int) *View {
	defer func(n int) { carryAfter = n }(carryAfter)
	carryAfter = run
	v := &View{x: New(Config{}), container: 1, last: c.seq, covered: c.seq}
	var part []Entry
	next := uint64(1)
	for i, e := range c.changes {
		part = append(part, e)
		if last := i == len(c.changes)-1; last || c.changes[i+1].Seq > e.Seq && c.r.IntN(len(c.changes)) < parts {
			v.files = append(v.files, fileOf(t, span{next, e.Seq}, part))
			part, next = nil, e.Seq+1
		}
	}
	return v
}

// fileOf writes a file with changes to container 1.
func fileOf(t *testing.T, s span, changes []Entry) *file {
	fsys := newDisk(1).Process()
	err := createFile(fsys, "/log", s, func(out io.Writer) error {
		w := newWriter(out, wal.LogID{}, s.first, 0)
		for i := range changes {
			w.add(1, appendEntry(nil, changes[i].Seq, &changes[i].Change))
		}
		for i := range changes {
			if isLife(&changes[i].Change) {
				w.add(lifeKey(1), appendEntry(nil, changes[i].Seq, &changes[i].Change))
			}
		}
		return w.finish(wal.Place{Seq: s.last})
	})
	if err != nil {
		t.Fatal(err)
	}
	f, err := openFile(fsys, "/log", s, wal.LogID{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestCarried checks that runs of carried entries change nothing. The past and
// the history are the same as without them, in files that begin anywhere,
// though items with the same ids come and go all the time.
func TestCarried(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 10
	} else if !longtest.Form(t, "three quarters of the seeds") {
		seeds = 50
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 9))
		c := &churn{r: r, kind: ledger.Standard, holds: map[int64]ledger.HoldInfo{}, slots: map[int64]int{}}
		if seed%2 == 0 {
			c.kind = ledger.Slots
		}
		for range 150 {
			c.step()
		}
		plain, runs := c.view(t, 1<<20, 0), c.view(t, 1+r.IntN(12), r.IntN(5))
		for seq := range plain.last + 1 {
			want, err1 := plain.At(seq, noLimit)
			got, err2 := runs.At(seq, noLimit)
			if err1 != nil || err2 != nil || dump(got, 1) != dump(want, 1) {
				t.Fatalf("seed %d, commit %d: %v, %v\n%s\nwant\n%s", seed, seq, err1, err2, dump(got, 1), dump(want, 1))
			}
			plain.x.Reclaim(want) // so that the next state reuses its memory
			runs.x.Reclaim(got)
			if seq%4 == 0 {
				compareEntries(t, c, runs, seq)
			}
		}
	}
}

// compareEntries compares the history up to a commit, and the rest of it, with the changes.
func compareEntries(t *testing.T, c *churn, v *View, seq uint64) {
	t.Helper()
	at, last := 0, len(c.changes)
	for at < last && c.changes[at].Seq <= seq {
		at++
	}
	from := at
	err1 := v.Newest(seq, func(e *Entry) bool {
		if at--; *e != c.changes[at] {
			t.Fatalf("entry %d is %+v, want %+v", at, e, c.changes[at])
		}
		return true
	})
	err2 := v.Oldest(seq+1, func(e *Entry) bool {
		if *e != c.changes[from] {
			t.Fatalf("entry %d is %+v, want %+v", from, e, c.changes[from])
		}
		from++
		return true
	})
	if at != 0 || from != last || err1 != nil || err2 != nil {
		t.Fatalf("commit %d: read down to entry %d, want 0, and up to %d, want %d; %v, %v", seq, at, from, last, err1, err2)
	}
}
