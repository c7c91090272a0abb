package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A kept is a change with its commit.
type kept struct {
	seq uint64
	Change
}

// pastOf builds a container's past from all its changes up to seq, oldest first.
func pastOf(changes []kept, seq uint64) *State {
	var info *ContainerInfo
	stacks, holds, instances := map[StackKey]Change{}, map[int64]Change{}, map[int64]Change{}
	var updated uint64
	for _, c := range changes {
		if c.seq > seq {
			break
		}
		updated = c.seq
		switch c.Kind {
		case ContainerCreated, ContainerRenamed:
			info = &c.Info
		case ContainerRemoved:
			info = nil
		case HeldChanged:
			if holds[c.Hold.ID] = c.Change; c.Hold.Quantity == 0 {
				delete(holds, c.Hold.ID)
			}
			fallthrough
		case StackChanged:
			if stacks[StackKey{c.ClassID, c.Key}] = c.Change; c.Quantity == 0 {
				delete(stacks, StackKey{c.ClassID, c.Key})
			}
		case InstanceIn, InstanceMoved:
			instances[c.InstanceID] = c.Change
		case InstanceOut:
			delete(instances, c.InstanceID)
		}
	}
	if info == nil {
		return EmptyPast(seq)
	}
	p := NewPast(seq, *info, usedPast)
	for _, c := range stacks {
		p.Stack(&c)
	}
	for _, c := range holds {
		p.Hold(&c.Hold)
	}
	for _, c := range instances {
		p.Instance(&c)
	}
	usedPast = p.State(updated)
	return usedPast
}

// usedPast is the previous past, whose memory the next one reuses.
var usedPast *State

// dumpContainer returns what reads show of one container.
func dumpContainer(t *testing.T, s *State, id int64) string {
	var b strings.Builder
	c, err := s.Container(id)
	if err != nil {
		return string(err.Code)
	}
	fmt.Fprintf(&b, "%+v\n", c)
	dumpContents(t, &b, s, c)
	return b.String()
}

// TestPastFromChanges checks that the changes reported to an observer are
// complete. A container that is rebuilt from them as of any commit must equal what reads
// showed at that commit. The differences that the changes report must be correct.
func TestPastFromChanges(t *testing.T) {
	kinds, short, rounds := map[ChangeKind]int{}, 0, 1500
	if testing.Short() {
		rounds /= 5
	}
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 3))
		s, replay := NewState(Config{}), NewState(Config{})
		changes, dumps := map[int64][]kept{}, map[int64][]string{}
		quantities, held := map[[3]int64]int64{}, map[[3]int64]int64{}
		into := Changes{}
		take := func() {
			for i := range into.List() {
				seq, c := wholeChange(&into, &into.List()[i])
				kinds[c.Kind]++
				changes[c.Container] = append(changes[c.Container], kept{seq, *c})
				thing := [3]int64{c.Container, c.ClassID, c.Key}
				switch c.Kind {
				case StackChanged:
					if quantities[thing] += c.Delta; quantities[thing] != c.Quantity {
						t.Fatalf("commit %d: %+v, but the changes add up to %d", seq, c, quantities[thing])
					}
				case HeldChanged:
					if held[thing] += c.Delta; held[thing] != c.Held {
						t.Fatalf("commit %d: %+v, but the changes add up to %d", seq, c, held[thing])
					}
				}
				if into.Other(&into.List()[i]) == nil {
					short++
				}
			}
			into.Reset()
		}
		replay.Observe(&into, take)
		ids := []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, FirstAssigned, FirstAssigned + 1, FirstAssigned + 2}
		commit := func(tx *Transaction, out *Outcome) {
			rec := Record{}
			if err := rec.Decode(AppendRecord(nil, tx, out)); err != nil {
				t.Fatal(err)
			}
			if err := replay.Replay(&rec, 0, 1); err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				dumps[id] = append(dumps[id], dumpContainer(t, replay, id))
			}
		}
		first := asTx(t, field)
		out := Outcome{}
		if err := s.Apply(first, 0, &out); err != nil {
			t.Fatal(err)
		}
		commit(first, &out)
		for range rounds {
			tx := &Transaction{}
			for range 1 + r.IntN(4) {
				tx.Ops = append(tx.Ops, randomStateOp(r, s.nextInstance))
			}
			if err := s.Apply(tx, 0, &out); err != nil {
				if tx.Ops = tx.Ops[:err.OpIndex]; len(tx.Ops) == 0 || s.Apply(tx, 0, &out) != nil {
					continue
				}
			}
			commit(tx, &out)
		}
		take()
		for _, id := range ids {
			for j, want := range dumps[id] {
				if j%7 != 0 && j > 0 && dumps[id][j-1] == want {
					continue
				}
				if got := dumpContainer(t, pastOf(changes[id], uint64(j)+1), id); got != want {
					t.Fatalf("seed %d: container %d at commit %d:\n%s\nwant\n%s", seed, id, j+1, got, want)
				}
			}
		}
	}
	for kind := StackChanged; kind <= ContainerTouched; kind++ {
		if kinds[kind] == 0 {
			t.Errorf("there was no change of kind %d", kind)
		}
	}
	if short == 0 || short == kinds[StackChanged] {
		t.Errorf("%d of %d stack changes were short; want both forms", short, kinds[StackChanged])
	}
	t.Log(kinds, short)
}

// wholeChange returns a change and its commit, in whichever form it was stored.
func wholeChange(of *Changes, s *StackChange) (uint64, *Change) {
	if c := of.Other(s); c != nil {
		return s.Seq, c
	}
	return s.Seq, &Change{Kind: StackChanged, Op: s.Op, OpKind: s.OpKind, Container: s.Container, Stacks: int(s.Stacks), Instances: int(s.Instances),
		ClassID: s.ClassID, Key: s.Key, Delta: s.Delta, Quantity: s.Quantity}
}
