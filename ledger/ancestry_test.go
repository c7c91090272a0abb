package ledger

import (
	"math/rand/v2"
	"testing"
)

// TestAttachmentsFormAForest attaches and detaches at random. It compares each
// outcome with a search through the parents.
func TestAttachmentsFormAForest(t *testing.T) {
	const instances = 60
	r := rand.New(rand.NewPCG(13, 14))
	s := NewState(Config{})
	mustApply(t, s, Op{Kind: RegisterClass, Has: 7, Name: "sword", Args: [MaxArgs]int64{1}})
	for range instances {
		mustApply(t, s, op(MintInstance, 1))
	}
	parents := [instances + 1]int64{}
	cycles := 0
	for i := range 6000 {
		child, parent := 1+r.Int64N(instances), 1+r.Int64N(instances)
		o := op(Attach, child, parent)
		want := Code("")
		for up := parent; up != 0; up = parents[up] {
			if up == child {
				want = WouldCreateCycle
			}
		}
		if parents[child] != 0 {
			want = AlreadyAttached
		}
		if r.IntN(10) < 3 {
			o = op(Detach, child)
			if want = ""; parents[child] == 0 {
				want = NotAttached
			}
			parent = 0
		}
		var out Outcome
		err := s.Apply(&Transaction{Ops: []Op{o}}, 0, &out)
		if got := codeOf(err); got != want {
			t.Fatalf("%s %d %d: %q, want %q", o.Kind, child, parent, got, want)
		}
		if want == WouldCreateCycle {
			cycles++
		}
		if err == nil && r.IntN(4) == 0 {
			s.Undo()
		} else if err == nil {
			parents[child] = parent
		}
		if i%50 == 0 {
			check(t, s)
		}
	}
	if cycles == 0 {
		t.Error("no attachment would have closed a cycle, want at least one")
	}
}

func codeOf(err *Error) Code {
	if err == nil {
		return ""
	}
	return err.Code
}

// BenchmarkAttachUnderLongChain attaches one half of a chain of 200,000
// instances to the other half, and detaches it again.
func BenchmarkAttachUnderLongChain(b *testing.B) {
	const length = 200_000
	s := NewState(Config{})
	mustApply(b, s, Op{Kind: RegisterClass, Has: 7, Name: "sword", Args: [MaxArgs]int64{1}})
	for id := int64(1); id <= length; id++ {
		mustApply(b, s, op(MintInstance, 1))
		if id > 1 && id != length/2+1 {
			mustApply(b, s, op(Attach, id, id-1))
		}
	}
	applyAll(b, s, []Transaction{
		{Ops: []Op{op(Attach, length/2+1, length/2)}},
		{Ops: []Op{op(Detach, length/2+1)}},
	}, nothing)
}

// TestFarInstances builds a chain from its lower end, so that no search has
// shortened the way up yet. It then checks the permission to read many of the
// instances.
func TestFarInstances(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, "RegisterClass class_id=1 name=Sword fungible=false; CreateContainer container_id=1 kind=Slots owner=7; MintInstance class_id=1")
	const n = 20_000
	for id := int64(2); id <= n; id++ {
		mustApply(t, s, op(MintInstance, 1), op(Attach, id-1, id))
	}
	mustApply(t, s, op(PlaceInSlot, 1, 0, n))
	before, far := s.Digest(), 0
	for i := range int64(2000) {
		id := 1 + i*9973%n
		if s.IsFar(id) {
			far++
			s.Approach(id)
		}
		if s.IsFar(id) {
			t.Fatalf("instance %d is still far from its top after Approach", id)
		}
		if err := s.MayReadInstance(id, []int64{7}); err != nil {
			t.Fatal(err)
		}
	}
	if far == 0 || far > 100 || s.Digest() != before {
		t.Errorf("%d of 2000 instances were far, want 1 to 100; the digest is %016x, want %016x", far, s.Digest(), before)
	}
	s.Approach(n + 1)
	if s.IsFar(n + 1) {
		t.Error("an instance that does not exist is far")
	}
}
