package ledger

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func balances(t testing.TB, s *State, container int64) []Balance {
	t.Helper()
	out, _, more, err := s.Balances(nil, container, BalanceFilter{}, nil, 100)
	noErrors(t, err)
	if more {
		t.Fatal("more than 100 stacks")
	}
	return out
}

func placements(t testing.TB, s *State, container int64) []Placement {
	t.Helper()
	out, _, err := s.Placements(nil, container, nil, nil, 1000)
	noErrors(t, err)
	return out
}

func expect(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestContainersAreMadeWithDefaults(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `CreateContainer container_id=9223372036854775807 kind=Standard owner=9223372036854775807
		CreateContainer container_id=2 kind=Slots
		CreateContainer container_id=3 kind=Grid
		CreateContainer container_id=4 kind=Grid grid_width=1024 grid_height=1`)
	all, _, more := s.Containers(nil, ContainerFilter{}, 0, 10)
	expect(t, "containers", []ContainerInfo{
		{ID: 2, Kind: Slots, CreatedSeq: 1, UpdatedSeq: 1, SlotCount: 64},
		{ID: 3, Kind: Grid, CreatedSeq: 1, UpdatedSeq: 1, GridWidth: 16, GridHeight: 16},
		{ID: 4, Kind: Grid, CreatedSeq: 1, UpdatedSeq: 1, GridWidth: 1024, GridHeight: 1},
		{ID: math.MaxInt64, Kind: Standard, Owner: math.MaxInt64, CreatedSeq: 1, UpdatedSeq: 1},
	}, all)
	if more {
		t.Error("more than four containers")
	}
	accept(t, s, "RemoveContainer container_id=2; CreateContainer container_id=2 kind=Standard; RemoveContainer container_id=3")
	info, err := s.Container(2)
	noErrors(t, err)
	expect(t, "created again", ContainerInfo{ID: 2, Kind: Standard, CreatedSeq: 2, UpdatedSeq: 2}, info)
	if _, err := s.Container(3); err == nil || err.Code != ContainerNotFound {
		t.Errorf("a removed container: %v, want ContainerNotFound", err)
	}
}

func TestStacksMoveAndTotalsStay(t *testing.T) {
	s := newWorld(t)
	accept(t, s, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=40")
	accept(t, s, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=60")
	expect(t, "source", []Balance{{1, 5, 50, 0}, {2, 0, 7, 0}}, balances(t, s, 1))
	expect(t, "target", []Balance{{1, 0, 100, 0}}, balances(t, s, 2))
	accept(t, s, "RemoveFungible container_id=2 class_id=1 key=0 quantity=1; AddFungible container_id=7 class_id=1 key=3 quantity=6")
	stats, err := s.Stats(1)
	noErrors(t, err)
	expect(t, "stats", ClassStats{ClassID: 1, TotalQuantity: 165, TotalAdded: Uint128{Lo: 166}, TotalRemoved: Uint128{Lo: 1},
		Stacks: 4, Containers: 4}, stats)
}

func TestMergeAndConsolidateDecide(t *testing.T) {
	s := newWorld(t)
	out := accept(t, s, `CreateContainer container_id=8 kind=Standard
		MergeStacks container_id=1 class_id=1 from_key=0 to_key=5
		AddFungible container_id=1 class_id=1 key=3 quantity=1
		AddFungible container_id=1 class_id=1 key=9 quantity=2
		ConsolidateStacks container_id=1 class_id=1`)
	expect(t, "decisions", []Decision{{Op: 1, Quantity: 100}, {Op: 4, Quantity: 152}}, out.Decisions)
	expect(t, "balances", []Balance{{1, 3, 153, 0}, {2, 0, 7, 0}}, balances(t, s, 1))
	out = accept(t, s, "ConsolidateStacks container_id=1 class_id=1 key=3")
	expect(t, "nothing to move", []Decision{{Op: 0}}, out.Decisions)
	out = accept(t, s, `AddFungible container_id=4 class_id=1 key=7 quantity=1
		ConsolidateStacks container_id=4 class_id=1 key=7`)
	expect(t, "in a grid", []Decision{{Op: 0, Placed: true, X: 1}, {Op: 1, Quantity: 10}}, out.Decisions)
	expect(t, "the cells of the other are free", []Placement{
		{X: 0, Y: 0, Width: 1, Height: 2, ClassID: 3, InstanceID: 2},
		{X: 1, Y: 0, Width: 2, Height: 1, ClassID: 1, Key: 7, Quantity: 11},
	}, placements(t, s, 4))
}

func TestTotalsReachTheLimitExactly(t *testing.T) {
	s := NewState(Config{})
	accept(t, s, `RegisterClass class_id=1 name=gold; CreateContainer container_id=1 kind=Standard
		CreateContainer container_id=2 kind=Standard
		AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807`)
	if err := refuse(t, s, "AddFungible container_id=2 class_id=1 key=0 quantity=1"); err.Code != InvalidOperation {
		t.Errorf("%v, want InvalidOperation", err)
	}
	for range 3 {
		accept(t, s, `RemoveFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807
			AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807`)
	}
	accept(t, s, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=9223372036854775807")
	stats, _ := s.Stats(1)
	if got := stats.TotalAdded.String(); got != "36893488147419103228" || stats.TotalQuantity != math.MaxInt64 {
		t.Errorf("total_added is %s, want 4 times 2^63-1; total_quantity is %d, want 2^63-1", got, stats.TotalQuantity)
	}
}

func TestGridPlaces(t *testing.T) {
	s := newWorld(t)
	// A position without a rotation means unrotated. First fit rotates only if
	// nothing fits unrotated.
	out := accept(t, s, `CreateContainer container_id=20 kind=Grid grid_width=3 grid_height=2
		AddFungible container_id=20 class_id=1 key=0 quantity=1 x=1 y=1
		AddFungible container_id=20 class_id=1 key=1 quantity=1 rotation=90
		AddFungible container_id=20 class_id=1 key=2 quantity=1
		AddFungible container_id=20 class_id=1 key=2 quantity=1 x=1 y=0 rotation=0
		AddFungible container_id=20 class_id=1 key=2 quantity=1 x=1 y=0
		AddFungible container_id=20 class_id=1 key=2 quantity=1`)
	expect(t, "decisions", []Decision{{Op: 2, Placed: true, Turned: true}, {Op: 3, Placed: true, X: 1}}, out.Decisions)
	expect(t, "placements", []Placement{
		{X: 0, Y: 0, Width: 1, Height: 2, Rotation: 90, ClassID: 1, Key: 1, Quantity: 1},
		{X: 1, Y: 0, Width: 2, Height: 1, ClassID: 1, Key: 2, Quantity: 4},
		{X: 1, Y: 1, Width: 2, Height: 1, ClassID: 1, Key: 0, Quantity: 1},
	}, placements(t, s, 20))
	info, _ := s.Container(20)
	if info.OccupiedCells != 6 || info.Stacks != 3 {
		t.Errorf("the full grid is %+v, want 6 occupied cells and 3 stacks", info)
	}
	// Adding a quantity of 0 to a full grid returns GridFull, because the quantity
	// is checked last.
	if err := refuse(t, s, "AddFungible container_id=20 class_id=1 key=7 quantity=0"); err.Code != GridFull {
		t.Errorf("%v, want GridFull", err)
	}
	// When the quantity of a stack reaches 0, its cells become free.
	accept(t, s, `RemoveFungible container_id=20 class_id=1 key=2 quantity=4
		TransferFungible from_container=1 to_container=20 class_id=1 key=5 quantity=50`)
	// A transfer out of the grid empties the stack.
	accept(t, s, "TransferFungible from_container=20 to_container=7 class_id=1 key=5 quantity=50")
	info, _ = s.Container(20)
	expect(t, "cells", 4, info.OccupiedCells)
}

func TestMoveInGrid(t *testing.T) {
	s := newWorld(t)
	place := func() Placement { return placements(t, s, 4)[0] }
	// Instance 2 covers (0,0) and (0,1). The move names the lower of these cells, and
	// the instance's own cells don't block the move.
	accept(t, s, "MoveInGrid container_id=4 x=0 y=1 to_x=0 to_y=1")
	expect(t, "one down", Placement{X: 0, Y: 1, Width: 1, Height: 2, ClassID: 3, InstanceID: 2}, placements(t, s, 4)[0])
	accept(t, s, "MoveInGrid container_id=4 x=0 y=2 to_x=0 to_y=0 rotation=90")
	expect(t, "turned", Placement{X: 0, Y: 0, Width: 2, Height: 1, Rotation: 90, ClassID: 3, InstanceID: 2}, place())
	accept(t, s, "MoveInGrid container_id=4 x=1 y=0 to_x=1 to_y=0")
	expect(t, "keeps its rotation", Placement{X: 1, Y: 0, Width: 2, Height: 1, Rotation: 90, ClassID: 3, InstanceID: 2}, place())
	accept(t, s, "MoveInGrid container_id=4 x=2 y=0 to_x=1 to_y=0 rotation=0")
	expect(t, "turned back", Placement{X: 1, Y: 0, Width: 1, Height: 2, ClassID: 3, InstanceID: 2}, place())
	accept(t, s, "MoveInGrid container_id=4 x=3 y=1 to_x=2 to_y=2; MoveInGrid container_id=4 x=1 y=0 to_x=1 to_y=0")
	info, err := s.Instance(2)
	noErrors(t, err)
	expect(t, "instance", InstanceInfo{ID: 2, ClassID: 3, MintedSeq: 1, Location: InGrid, ContainerID: 4, X: 1}, info)
}

func TestThingsKeepTheSizeTheyWerePlacedWith(t *testing.T) {
	s := newWorld(t)
	accept(t, s, "RegisterClassShape class_id=3 key=0 width=4 height=1; MoveInGrid container_id=4 x=0 y=0 to_x=0 to_y=1")
	expect(t, "placed before", 2, placements(t, s, 4)[0].Height)
	accept(t, s, "RemoveFromGrid container_id=4 instance_id=2; PlaceInGrid container_id=4 instance_id=2")
	expect(t, "placed after", 4, placements(t, s, 4)[0].Width)
}

func TestInstancesAndTheirPlaces(t *testing.T) {
	s := newWorld(t)
	out := accept(t, s, `MintInstance class_id=4 key=77
		MintInstance class_id=3 container_id=5 slot_index=1
		Attach instance_id=minted:0 parent_id=minted:1
		Attach instance_id=4 parent_id=1`)
	if out.FirstMinted != 8 || out.Minted != 2 {
		t.Errorf("the outcome is %+v, want 2 instances minted from 8 on", out)
	}
	info, err := s.Instance(8)
	noErrors(t, err)
	expect(t, "attached", InstanceInfo{ID: 8, ClassID: 4, Key: 77, MintedSeq: 2, Location: Attached, ParentID: 9}, info)
	info, _ = s.Instance(9)
	info.Children, _ = s.Children(nil, 9, 0, 10)
	expect(t, "parent", InstanceInfo{ID: 9, ClassID: 3, MintedSeq: 2, Location: InSlot, ContainerID: 5, SlotIndex: 1, Children: []int64{8}}, info)

	accept(t, s, "Detach instance_id=8; BurnInstance instance_id=9; BurnInstance instance_id=2; BurnInstance instance_id=3; BurnInstance instance_id=8")
	stats, _ := s.Stats(3)
	expect(t, "stats", ClassStats{ClassID: 3, Containers: 1, InstancesMinted: 7, InstancesBurned: 3, Alive: 4}, stats)
	if _, err := s.Instance(9); err == nil || err.Code != InstanceNotFound {
		t.Errorf("a burned instance: %v, want InstanceNotFound", err)
	}
	// Instance ids are never reused.
	if out := accept(t, s, "MintInstance class_id=3"); out.FirstMinted != 10 {
		t.Errorf("the outcome is %+v, want instance 10 minted", out)
	}
}

func TestSwapSlots(t *testing.T) {
	s := newWorld(t)
	slots := func(id int64) []SlotEntry {
		out, _, err := s.SlotEntries(nil, id, -1, 10)
		noErrors(t, err)
		return out
	}
	accept(t, s, "SwapSlots container_id=3 slot_a=1 slot_b=1; SwapSlots container_id=3 slot_a=0 slot_b=2")
	expect(t, "itself, and two empty", []SlotEntry{{1, 1, 3, 0}}, slots(3))
	accept(t, s, "PlaceInSlot container_id=3 slot_index=0 instance_id=6; SwapSlots container_id=3 slot_a=0 slot_b=1")
	expect(t, "two full", []SlotEntry{{0, 1, 3, 0}, {1, 6, 3, 0}}, slots(3))
	accept(t, s, "SwapSlots container_id=3 slot_a=0 slot_b=1 other_container_id=5")
	expect(t, "one empty elsewhere", []SlotEntry{{1, 6, 3, 0}}, slots(3))
	accept(t, s, "SwapSlots container_id=5 slot_a=0 slot_b=1 other_container_id=3")
	expect(t, "this one empty", []SlotEntry{{0, 6, 3, 0}, {1, 1, 3, 0}}, slots(5))
	accept(t, s, "SwapSlots container_id=5 slot_a=1 slot_b=0 other_container_id=5; RemoveFromSlot container_id=5 slot_index=0")
	expect(t, "taken out", []SlotEntry{{1, 6, 3, 0}}, slots(5))
}

// TestUpdatedSeq checks, for most kinds of operations, which containers get a new
// updated_seq.
func TestUpdatedSeq(t *testing.T) {
	tests := []struct {
		op    string
		moved []int64
	}{
		{"CreateContainer container_id=10 kind=Standard", []int64{10}},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=1", []int64{1}},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=1", []int64{4}},
		{"RemoveFungible container_id=1 class_id=2 key=0 quantity=7", []int64{1}},
		{"TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=1", []int64{1, 2}},
		{"MergeStacks container_id=1 class_id=1 from_key=0 to_key=5", []int64{1}},
		{"ConsolidateStacks container_id=1 class_id=2", []int64{1}},
		{"MintInstance class_id=3", nil},
		{"MintInstance class_id=3 container_id=5 slot_index=0", []int64{5}},
		{"MintInstance class_id=3 container_id=6", []int64{6}},
		{"BurnInstance instance_id=1", []int64{3}},
		{"BurnInstance instance_id=2", []int64{4}},
		{"BurnInstance instance_id=3", nil},
		{"BurnInstance instance_id=5", nil},
		{"Attach instance_id=5 parent_id=1", nil},
		{"Detach instance_id=3", nil},
		{"PlaceInSlot container_id=5 slot_index=0 instance_id=5", []int64{5}},
		{"RemoveFromSlot container_id=3 slot_index=1", []int64{3}},
		{"SwapSlots container_id=3 slot_a=0 slot_b=0 other_container_id=5", []int64{3, 5}},
		{"SwapSlots container_id=3 slot_a=1 slot_b=1 other_container_id=5", []int64{3, 5}},
		{"SwapSlots container_id=3 slot_a=1 slot_b=1", []int64{3}},
		{"PlaceInGrid container_id=6 instance_id=6", []int64{6}},
		{"RemoveFromGrid container_id=4 instance_id=2", []int64{4}},
		{"MoveInGrid container_id=4 x=0 y=0 to_x=0 to_y=0", []int64{4}},
		{"RegisterClass class_id=9 name=x", nil},
		{"RegisterClassShape class_id=2 width=1 height=1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.op, func(t *testing.T) {
			s := newWorld(t)
			before := dump(t, s)
			accept(t, s, tt.op)
			var moved []int64
			all, _, _ := s.Containers(nil, ContainerFilter{}, 0, 100)
			for _, c := range all {
				if c.UpdatedSeq == 2 {
					moved = append(moved, c.ID)
				}
			}
			expect(t, "moved", tt.moved, moved)
			s.Undo()
			check(t, s)
			same(t, "after undo", before, dump(t, s))
		})
	}
}
