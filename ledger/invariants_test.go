package ledger

import (
	"strings"
	"testing"
)

// TestInvariantsFindDamage damages one thing at a time.
func TestInvariantsFindDamage(t *testing.T) {
	first := func(s *State) *stack { return s.stacks.at(s.findStack(s.findContainer(1), s.findClass(1), 0)) }
	gridOf := func(s *State, id int64) *grid { return s.grids.at(s.containers.at(s.findContainer(id)).grid) }
	tests := []struct {
		name   string
		damage func(s *State)
		says   string
	}{
		{"quantity", func(s *State) { first(s).quantity++ }, "is not the"},
		{"digest", func(s *State) { s.digest++ }, "digest"},
		{"stack count", func(s *State) { s.containers.at(s.findContainer(1)).stacks++ }, "counts 4 stacks, but has 3"},
		{"class counts", func(s *State) { s.classes.at(s.findClass(1)).containers++ }, "has 3 in 2"},
		{"index", func(s *State) { s.containerIndex.remove(containerHash(2), s.findContainer(2)) }, "not found"},
		{"order", func(s *State) { first(s).key = 6 }, "comes before"},
		{"bitmap", func(s *State) { gridOf(s, 4).bits[0] ^= 8 }, "bitmap"},
		{"cells", func(s *State) { gridOf(s, 4).occupied++ }, "cells"},
		{"overlap", func(s *State) { s.placements.at(s.instances.at(s.findInstance(2)).spot).width = 3 }, "overlaps"},
		{"outside", func(s *State) { s.placements.at(s.instances.at(s.findInstance(2)).spot).height = 9 }, "extends beyond"},
		{"parent", func(s *State) { s.instances.at(s.findInstance(3)).where = Nowhere }, "listed under 4"},
		{"cycle", func(s *State) {
			r := s.instances.at(s.findInstance(4))
			r.where, r.host = Attached, s.findInstance(3)
		}, "cycle"},
		{"paths", func(s *State) { s.cutPath(s.findInstance(3)) }, "its path leads to"},
		{"slot", func(s *State) { s.instances.at(s.findInstance(1)).spot = 9 }, "in a slot"},
		{"holding", func(s *State) { s.holdings.at(s.findHolding(s.findContainer(3), s.findClass(3))).count++ }, "counts a different number"},
		{"leak", func(s *State) { s.stacks.alloc() }, "stack records"},
		{"minted", func(s *State) { s.classes.at(s.findClass(3)).minted++ }, "live according to the classes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newWorld(t)
			tt.damage(s)
			if err := s.Invariants(); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
		})
	}
}
