package ledger

import (
	"strings"
	"testing"
)

// TestRefusals tests each operation's checks in their order. Each row of an
// operation except the last fails one check and, where possible, all later ones
// too.
func TestRefusals(t *testing.T) {
	tests := []struct {
		op      string
		code    Code
		details string // some of the details
	}{
		{"CreateContainer container_id=1 kind=Standard slot_count=3", InvalidRequest, "field=slot_count"},
		{"CreateContainer container_id=1 kind=Slots grid_width=3", InvalidRequest, "field=grid_width"},
		{"CreateContainer container_id=1 kind=Grid slot_count=3", InvalidRequest, "field=slot_count"},
		{"CreateContainer container_id=1 kind=9", InvalidRequest, "field=kind"},
		{"CreateContainer container_id=1 kind=Grid", ContainerAlreadyExists, "container_id=1"},

		{"RemoveContainer container_id=99", ContainerNotFound, "container_id=99"},
		{"RemoveContainer container_id=1", ContainerNotEmpty, "container_id=1 stacks=3 instances=0"},
		{"RemoveContainer container_id=3", ContainerNotEmpty, "container_id=3 stacks=0 instances=1"},

		{"AddFungible container_id=99 class_id=99 key=0 quantity=0 x=1", InvalidRequest, "field=y"},
		{"AddFungible container_id=99 class_id=99 key=0 quantity=0 y=1", InvalidRequest, "field=x"},
		{"AddFungible container_id=99 class_id=99 key=0 quantity=0", ContainerNotFound, "container_id=99"},
		{"AddFungible container_id=3 class_id=99 key=0 quantity=0", ClassNotFound, "class_id=99"},
		{"AddFungible container_id=3 class_id=3 key=0 quantity=0", WrongContainerKind, "container_id=3 kind=Slots"},
		{"AddFungible container_id=1 class_id=3 key=0 quantity=0 x=0 y=0", WrongContainerKind, "container_id=1 kind=Standard"},
		{"AddFungible container_id=1 class_id=3 key=0 quantity=0 rotation=0", WrongContainerKind, "container_id=1 kind=Standard"},
		{"AddFungible container_id=4 class_id=3 key=0 quantity=0 x=0 y=0", WrongClassKind, "class_id=3"},
		{"AddFungible container_id=4 class_id=1 key=0 quantity=0 x=0 y=0", AlreadyPlaced, "container_id=4 class_id=1 key=0 x=2 y=1 rotation=0"},
		{"AddFungible container_id=4 class_id=1 key=0 quantity=0 rotation=90", AlreadyPlaced, "x=2 y=1"},
		{"AddFungible container_id=4 class_id=2 key=0 quantity=0", UnregisteredClassShape, "class_id=2 key=0"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0 x=3 y=0", OutOfBounds, "x=3 y=0 width=2 height=1 grid_width=4 grid_height=3"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0 x=9223372036854775807 y=9223372036854775807", OutOfBounds, "container_id=4"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0 x=0 y=2 rotation=90", OutOfBounds, "width=1 height=2"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0 x=1 y=1", CellOccupied, "container_id=4 x=1 y=1 width=2 height=1"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0 x=0 y=0 rotation=90", CellOccupied, "x=0 y=0 width=1 height=2"},
		{"AddFungible container_id=4 class_id=1 key=1 quantity=0", InvalidQuantity, "quantity=0"},
		{"AddFungible container_id=4 class_id=1 key=0 quantity=-1 x=2 y=1 rotation=0", InvalidQuantity, "quantity=-1"},
		{"AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807", InvalidOperation, "class_id=1 total_quantity=160 quantity=9223372036854775807"},
		{"AddFungible container_id=7 class_id=1 key=0 quantity=9223372036854775648", InvalidOperation, "class_id=1"},

		{"RemoveFungible container_id=99 class_id=99 key=9 quantity=0", ContainerNotFound, "container_id=99"},
		{"RemoveFungible container_id=3 class_id=99 key=9 quantity=0", ClassNotFound, "class_id=99"},
		{"RemoveFungible container_id=3 class_id=3 key=9 quantity=0", WrongContainerKind, "container_id=3"},
		{"RemoveFungible container_id=1 class_id=3 key=9 quantity=0", WrongClassKind, "class_id=3"},
		{"RemoveFungible container_id=1 class_id=1 key=9 quantity=0", StackNotFound, "container_id=1 class_id=1 key=9"},
		{"RemoveFungible container_id=1 class_id=1 key=0 quantity=0", InvalidQuantity, "quantity=0"},
		{"RemoveFungible container_id=1 class_id=1 key=0 quantity=101", InsufficientBalance, "container_id=1 class_id=1 key=0 available=100 requested=101"},

		{"TransferFungible from_container=99 to_container=99 class_id=99 key=9 quantity=0 x=1", InvalidRequest, "field=y"},
		{"TransferFungible from_container=99 to_container=99 class_id=99 key=9 quantity=0", InvalidOperation, "from_container=99 to_container=99"},
		{"TransferFungible from_container=98 to_container=99 class_id=99 key=9 quantity=0", ContainerNotFound, "container_id=98"},
		{"TransferFungible from_container=3 to_container=99 class_id=99 key=9 quantity=0", ContainerNotFound, "container_id=99"},
		{"TransferFungible from_container=3 to_container=5 class_id=99 key=9 quantity=0", ClassNotFound, "class_id=99"},
		{"TransferFungible from_container=3 to_container=5 class_id=3 key=9 quantity=0", WrongContainerKind, "container_id=3"},
		{"TransferFungible from_container=1 to_container=5 class_id=3 key=9 quantity=0", WrongContainerKind, "container_id=5"},
		{"TransferFungible from_container=1 to_container=2 class_id=3 key=9 quantity=0 x=0 y=0", WrongContainerKind, "container_id=2"},
		{"TransferFungible from_container=1 to_container=2 class_id=3 key=9 quantity=0", WrongClassKind, "class_id=3"},
		{"TransferFungible from_container=2 to_container=4 class_id=1 key=0 quantity=0 x=0 y=0", StackNotFound, "container_id=2 class_id=1 key=0"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=0 quantity=0 x=0 y=0", AlreadyPlaced, "container_id=4 x=2 y=1"},
		{"TransferFungible from_container=1 to_container=4 class_id=2 key=0 quantity=0", UnregisteredClassShape, "class_id=2"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=5 quantity=0 x=4 y=0", OutOfBounds, "x=4"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=5 quantity=0 x=2 y=1", CellOccupied, "x=2"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=5 quantity=0", InvalidQuantity, "quantity=0"},
		{"TransferFungible from_container=1 to_container=4 class_id=1 key=5 quantity=51", InsufficientBalance, "container_id=1 available=50 requested=51"},

		{"MergeStacks container_id=99 class_id=99 from_key=1 to_key=1", InvalidOperation, "from_key=1 to_key=1"},
		{"MergeStacks container_id=99 class_id=99 from_key=1 to_key=2", ContainerNotFound, "container_id=99"},
		{"MergeStacks container_id=3 class_id=99 from_key=1 to_key=2", ClassNotFound, "class_id=99"},
		{"MergeStacks container_id=3 class_id=3 from_key=1 to_key=2", WrongContainerKind, "container_id=3"},
		{"MergeStacks container_id=1 class_id=3 from_key=1 to_key=2", WrongClassKind, "class_id=3"},
		{"MergeStacks container_id=1 class_id=1 from_key=1 to_key=2", StackNotFound, "key=1"},
		{"MergeStacks container_id=1 class_id=1 from_key=0 to_key=2", StackNotFound, "key=2"},

		{"ConsolidateStacks container_id=99 class_id=99", ContainerNotFound, "container_id=99"},
		{"ConsolidateStacks container_id=3 class_id=99", ClassNotFound, "class_id=99"},
		{"ConsolidateStacks container_id=3 class_id=3", WrongContainerKind, "container_id=3"},
		{"ConsolidateStacks container_id=1 class_id=3", WrongClassKind, "class_id=3"},
		{"ConsolidateStacks container_id=1 class_id=1 key=4", StackNotFound, "container_id=1 class_id=1 key=4"},
		{"ConsolidateStacks container_id=7 class_id=1", StackNotFound, "container_id=7 class_id=1"},

		{"MintInstance class_id=99 container_id=99 x=0", InvalidRequest, "field=y"},
		{"MintInstance class_id=99 slot_index=1", InvalidRequest, "field=container_id"},
		{"MintInstance class_id=99 rotation=0", InvalidRequest, "field=container_id"},
		{"MintInstance class_id=99 container_id=99", ContainerNotFound, "container_id=99"},
		{"MintInstance class_id=99 container_id=1", ClassNotFound, "class_id=99"},
		{"MintInstance class_id=1 container_id=1", WrongContainerKind, "container_id=1 kind=Standard"},
		{"MintInstance class_id=1 container_id=4 slot_index=0", WrongContainerKind, "container_id=4 kind=Grid"},
		{"MintInstance class_id=1 container_id=3 x=0 y=0", WrongContainerKind, "container_id=3 kind=Slots"},
		{"MintInstance class_id=1 container_id=3", InvalidRequest, "field=slot_index"},
		{"MintInstance class_id=1 container_id=3 slot_index=99", WrongClassKind, "class_id=1"},
		{"MintInstance class_id=1", WrongClassKind, "class_id=1"},
		{"MintInstance class_id=3 container_id=3 slot_index=4", SlotOutOfRange, "container_id=3 slot_index=4 slot_count=4"},
		{"MintInstance class_id=3 container_id=3 slot_index=9223372036854775807", SlotOutOfRange, "container_id=3"},
		{"MintInstance class_id=3 container_id=3 slot_index=1", SlotOccupied, "container_id=3 slot_index=1 instance_id=1"},
		{"MintInstance class_id=4 container_id=4", UnregisteredClassShape, "class_id=4 key=0"},
		{"MintInstance class_id=3 container_id=4 x=1 y=2", OutOfBounds, "x=1 y=2 width=1 height=2"},
		{"MintInstance class_id=3 container_id=4 x=2 y=0", CellOccupied, "x=2 y=0"},
		{"MintInstance class_id=3 key=9 container_id=4", GridFull, "container_id=4 class_id=3 key=9 width=3 height=3"},
		{"CreateContainer container_id=77 kind=Grid grid_width=1 grid_height=3; MintInstance class_id=3 container_id=77 rotation=90", GridFull, "container_id=77 width=2 height=1"},
		{"MintInstance class_id=3 container_id=4; MintInstance class_id=3 container_id=4 rotation=90; MintInstance class_id=3 container_id=4 rotation=0", GridFull, "container_id=4"},

		{"BurnInstance instance_id=99", InstanceNotFound, "instance_id=99"},
		{"BurnInstance instance_id=minted:0", InvalidRequest, "field=instance_id minted=0"},
		{"BurnInstance instance_id=4", HasChildren, "instance_id=4"},

		{"Attach instance_id=98 parent_id=99", InstanceNotFound, "instance_id=98"},
		{"Attach instance_id=1 parent_id=99", InstanceNotFound, "parent_id=99"},
		{"Attach instance_id=3 parent_id=3", AlreadyAttached, "instance_id=3 parent_id=4"},
		{"Attach instance_id=1 parent_id=1", AlreadyPlaced, "instance_id=1 container_id=3 slot_index=1"},
		{"Attach instance_id=2 parent_id=2", AlreadyPlaced, "instance_id=2 container_id=4 x=0 y=0"},
		{"Attach instance_id=4 parent_id=4", WouldCreateCycle, "instance_id=4 parent_id=4"},
		{"Attach instance_id=4 parent_id=3", WouldCreateCycle, "instance_id=4 parent_id=3"},
		{"Attach instance_id=5 parent_id=3; Attach instance_id=4 parent_id=5", WouldCreateCycle, "instance_id=4 parent_id=5"},

		{"Detach instance_id=99", InstanceNotFound, "instance_id=99"},
		{"Detach instance_id=1", NotAttached, "instance_id=1"},
		{"Detach instance_id=4", NotAttached, "instance_id=4"},

		{"PlaceInSlot container_id=99 slot_index=9 instance_id=99", ContainerNotFound, "container_id=99"},
		{"PlaceInSlot container_id=4 slot_index=9 instance_id=99", WrongContainerKind, "container_id=4 kind=Grid"},
		{"PlaceInSlot container_id=3 slot_index=9 instance_id=99", InstanceNotFound, "instance_id=99"},
		{"PlaceInSlot container_id=3 slot_index=9 instance_id=1", AlreadyPlaced, "instance_id=1"},
		{"PlaceInSlot container_id=3 slot_index=9 instance_id=3", AlreadyAttached, "instance_id=3"},
		{"PlaceInSlot container_id=3 slot_index=9 instance_id=6", SlotOutOfRange, "slot_index=9"},
		{"PlaceInSlot container_id=3 slot_index=4294967297 instance_id=6", SlotOutOfRange, "slot_index=4294967297"},
		{"PlaceInSlot container_id=3 slot_index=1 instance_id=6", SlotOccupied, "slot_index=1 instance_id=1"},

		{"RemoveFromSlot container_id=99 slot_index=9", ContainerNotFound, "container_id=99"},
		{"RemoveFromSlot container_id=1 slot_index=9", WrongContainerKind, "container_id=1"},
		{"RemoveFromSlot container_id=3 slot_index=4", SlotOutOfRange, "slot_index=4"},
		{"RemoveFromSlot container_id=3 slot_index=0", SlotEmpty, "container_id=3 slot_index=0"},

		{"SwapSlots container_id=98 slot_a=9 slot_b=9 other_container_id=99", ContainerNotFound, "container_id=98"},
		{"SwapSlots container_id=1 slot_a=9 slot_b=9 other_container_id=99", ContainerNotFound, "container_id=99"},
		{"SwapSlots container_id=1 slot_a=9 slot_b=9 other_container_id=4", WrongContainerKind, "container_id=1"},
		{"SwapSlots container_id=3 slot_a=9 slot_b=9 other_container_id=4", WrongContainerKind, "container_id=4"},
		{"SwapSlots container_id=3 slot_a=9 slot_b=8", SlotOutOfRange, "slot_index=9"},
		{"SwapSlots container_id=3 slot_a=3 slot_b=3 other_container_id=5", SlotOutOfRange, "container_id=5 slot_index=3 slot_count=2"},

		{"PlaceInGrid container_id=99 instance_id=99 x=0", InvalidRequest, "field=y"},
		{"PlaceInGrid container_id=99 instance_id=99", ContainerNotFound, "container_id=99"},
		{"PlaceInGrid container_id=3 instance_id=99", WrongContainerKind, "container_id=3"},
		{"PlaceInGrid container_id=4 instance_id=99", InstanceNotFound, "instance_id=99"},
		{"PlaceInGrid container_id=4 instance_id=2", AlreadyPlaced, "instance_id=2"},
		{"PlaceInGrid container_id=4 instance_id=3", AlreadyAttached, "instance_id=3"},
		{"PlaceInGrid container_id=4 instance_id=5 x=99 y=99", UnregisteredClassShape, "class_id=4"},
		{"PlaceInGrid container_id=4 instance_id=6 x=0 y=2", OutOfBounds, "y=2"},
		{"PlaceInGrid container_id=4 instance_id=6 x=0 y=1", CellOccupied, "y=1"},
		{"PlaceInGrid container_id=4 instance_id=7", GridFull, "width=3"},

		{"RemoveFromGrid container_id=99 instance_id=99", ContainerNotFound, "container_id=99"},
		{"RemoveFromGrid container_id=3 instance_id=99", WrongContainerKind, "container_id=3"},
		{"RemoveFromGrid container_id=4 instance_id=99", InstanceNotFound, "instance_id=99"},
		{"RemoveFromGrid container_id=4 instance_id=6", NotPlaced, "container_id=4 instance_id=6"},
		{"RemoveFromGrid container_id=4 instance_id=1", NotPlaced, "container_id=4 instance_id=1"},
		{"RemoveFromGrid container_id=6 instance_id=2", NotPlaced, "container_id=6 instance_id=2"},

		{"MoveInGrid container_id=99 x=9 y=9 to_x=9 to_y=9", ContainerNotFound, "container_id=99"},
		{"MoveInGrid container_id=1 x=9 y=9 to_x=9 to_y=9", WrongContainerKind, "container_id=1"},
		{"MoveInGrid container_id=4 x=4 y=0 to_x=9 to_y=9", OutOfBounds, "x=4 y=0 grid_width=4 grid_height=3"},
		{"MoveInGrid container_id=4 x=9223372036854775807 y=0 to_x=9 to_y=9", OutOfBounds, "container_id=4"},
		{"MoveInGrid container_id=4 x=1 y=0 to_x=9 to_y=9", CellEmpty, "container_id=4 x=1 y=0"},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=0 to_y=2", OutOfBounds, "x=0 y=2 width=1 height=2"},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=3 to_y=0 rotation=90", OutOfBounds, "x=3 y=0 width=2 height=1"},
		{"MoveInGrid container_id=4 x=0 y=1 to_x=2 to_y=0", CellOccupied, "x=2 y=0 width=1 height=2"},

		{"RegisterClass class_id=1 name=again", ClassAlreadyExists, "class_id=1"},
		{"RegisterClassShape class_id=99 width=1 height=1", ClassNotFound, "class_id=99"},
		{"RegisterClassShape class_id=1 width=1 height=1", ShapeAlreadyExists, "class_id=1"},
		{"RegisterClassShape class_id=1 key=null width=1 height=1", ShapeAlreadyExists, "class_id=1"},
		{"RegisterClassShape class_id=3 key=9 width=1 height=1", ShapeAlreadyExists, "class_id=3 key=9"},

		{"HoldFungible hold_id=1 container_id=99 class_id=99 key=9 quantity=0", ContainerNotFound, "container_id=99"},
		{"HoldFungible hold_id=1 container_id=3 class_id=99 key=9 quantity=0", ClassNotFound, "class_id=99"},
		{"HoldFungible hold_id=1 container_id=3 class_id=3 key=9 quantity=0", WrongContainerKind, "container_id=3 kind=Slots"},
		{"HoldFungible hold_id=1 container_id=1 class_id=3 key=9 quantity=0", WrongClassKind, "class_id=3"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; HoldFungible hold_id=1 container_id=1 class_id=1 key=9 quantity=0", HoldAlreadyExists, "hold_id=1"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=9 quantity=0", StackNotFound, "container_id=1 class_id=1 key=9"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=0", InvalidQuantity, "quantity=0"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=51", InsufficientBalance, "available=50 requested=51 held="},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; HoldFungible hold_id=2 container_id=1 class_id=1 key=5 quantity=21", InsufficientBalance, "container_id=1 class_id=1 key=5 available=20 held=30 requested=21"},

		{"SettleHold hold_id=1 to_container=99 quantity=0 x=1", HoldNotFound, "hold_id=1"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=99 quantity=0 x=1", InvalidRequest, "field=y"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=1 quantity=0 x=1 y=1", InvalidOperation, "hold_id=1 to_container=1"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=99 quantity=0 x=1 y=1", ContainerNotFound, "container_id=99"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=3 quantity=0", WrongContainerKind, "container_id=3"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=2 quantity=0 rotation=0", WrongContainerKind, "container_id=2"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=4 quantity=0 x=3 y=0", OutOfBounds, "x=3 y=0 width=2"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=4 quantity=0", InvalidQuantity, "quantity=0"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=2 quantity=31", InsufficientBalance, "hold_id=1 held=30 requested=31"},

		{"ReleaseHold hold_id=1", HoldNotFound, "hold_id=1"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; ReleaseHold hold_id=1; ReleaseHold hold_id=1", HoldNotFound, "hold_id=1"},

		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; RemoveFungible container_id=1 class_id=1 key=5 quantity=21", InsufficientBalance, "available=20 held=30 requested=21"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; TransferFungible from_container=1 to_container=2 class_id=1 key=5 quantity=21", InsufficientBalance, "available=20 held=30 requested=21"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SplitStack container_id=1 class_id=1 from_key=5 to_key=0 quantity=21", InsufficientBalance, "available=20 held=30 requested=21"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; MergeStacks container_id=1 class_id=1 from_key=5 to_key=99", StackNotFound, "key=99"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; MergeStacks container_id=1 class_id=1 from_key=5 to_key=0", StackHeld, "container_id=1 class_id=1 key=5 held=30"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; ConsolidateStacks container_id=1 class_id=1 key=0", StackHeld, "container_id=1 class_id=1 key=5 held=30"},

		{"SplitStack container_id=99 class_id=99 from_key=1 to_key=1 quantity=0 x=1", InvalidRequest, "field=y"},
		{"SplitStack container_id=99 class_id=99 from_key=1 to_key=1 quantity=0", InvalidOperation, "from_key=1 to_key=1"},
		{"SplitStack container_id=99 class_id=99 from_key=1 to_key=2 quantity=0", ContainerNotFound, "container_id=99"},
		{"SplitStack container_id=3 class_id=99 from_key=1 to_key=2 quantity=0", ClassNotFound, "class_id=99"},
		{"SplitStack container_id=3 class_id=3 from_key=1 to_key=2 quantity=0", WrongContainerKind, "container_id=3"},
		{"SplitStack container_id=1 class_id=3 from_key=1 to_key=2 quantity=0 x=0 y=0", WrongContainerKind, "container_id=1"},
		{"SplitStack container_id=1 class_id=3 from_key=1 to_key=2 quantity=0", WrongClassKind, "class_id=3"},
		{"SplitStack container_id=1 class_id=1 from_key=1 to_key=2 quantity=0", StackNotFound, "key=1"},
		{"SplitStack container_id=4 class_id=1 from_key=0 to_key=2 quantity=0 x=2 y=1", CellOccupied, "x=2 y=1"},
		{"SplitStack container_id=4 class_id=1 from_key=0 to_key=2 quantity=0", InvalidQuantity, "quantity=0"},
		{"SplitStack container_id=4 class_id=1 from_key=0 to_key=2 quantity=11", InsufficientBalance, "available=10 requested=11"},

		{"CreateContainer container_id=1 kind=Slots name=x grid_width=3", InvalidRequest, "field=grid_width"},
		{"RenameContainer container_id=2 name=x; CreateContainer container_id=1 kind=Standard name=x", ContainerAlreadyExists, "container_id=1"},
		{"RenameContainer container_id=2 name=x; CreateContainer container_id=9 kind=Standard name=x", NameTaken, "name=x container_id=2"},
		{"RenameContainer container_id=2 name=x; CreateContainer kind=Standard name=x", NameTaken, "name=x container_id=2"},
		{"CreateContainer kind=Standard", InvalidRequest, "field=container_id"},
		{"RenameContainer container_id=99 name=x", ContainerNotFound, "container_id=99"},
		{"RenameContainer container_id=nobody name=x", ContainerNotFound, "name=nobody container_id="},
		{"RenameContainer container_id=2 name=x; RenameContainer container_id=1 name=x", NameTaken, "name=x container_id=2"},
		{"RenameClass class_id=2 code=x; RegisterClass class_id=1 name=n code=x", ClassAlreadyExists, "class_id=1"},
		{"RenameClass class_id=2 code=x; RegisterClass class_id=9 name=n code=x", NameTaken, "code=x class_id=2"},
		{"RegisterClass name=n", InvalidRequest, "field=class_id"},
		{"RenameClass class_id=99 name=x", ClassNotFound, "class_id=99"},
		{"RenameClass class_id=EUR name=x", ClassNotFound, "code=EUR class_id="},
		{"RenameClass class_id=2 code=x; RenameClass class_id=1 name=n code=x", NameTaken, "code=x class_id=2"},
		{"TransferFungible from_container=a to_container=b class_id=c key=0 quantity=0", ContainerNotFound, "name=a"},
		{"TransferFungible from_container=a to_container=a class_id=c key=0 quantity=0", ContainerNotFound, "name=a"},
		{"TransferFungible from_container=1 to_container=b class_id=c key=0 quantity=0", ContainerNotFound, "name=b"},
		{"TransferFungible from_container=1 to_container=2 class_id=c key=0 quantity=0", ClassNotFound, "code=c"},
		{"RenameContainer container_id=1 name=a; TransferFungible from_container=a to_container=1 class_id=c key=0 quantity=0", InvalidOperation, "from_container=1 to_container=1"},
		{"RenameContainer container_id=1 name=a; TransferFungible from_container=a to_container=a class_id=c key=0 quantity=0", InvalidOperation, "from_container=1 to_container=1"},
		{"RenameContainer container_id=1 name=a; RenameContainer container_id=1 name=null; RemoveContainer container_id=a", ContainerNotFound, "name=a"},
		{"RenameContainer container_id=1 name=a; RemoveFungible container_id=a class_id=1 key=0 quantity=101", InsufficientBalance, "container_id=1 available=100"},
		{"RenameContainer container_id=1 name=a; HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; SettleHold hold_id=1 to_container=a", InvalidOperation, "to_container=1"},

		{"RequireBalance container_id=99 class_id=99 key=9 at_least=1", ContainerNotFound, "container_id=99"},
		{"RequireBalance container_id=3 class_id=99 key=9 at_least=1", ClassNotFound, "class_id=99"},
		{"RequireBalance container_id=3 class_id=3 key=9 at_least=1", WrongContainerKind, "container_id=3"},
		{"RequireBalance container_id=1 class_id=3 key=9 at_least=1", WrongClassKind, "class_id=3"},
		{"RequireBalance container_id=1 class_id=1 key=9 at_least=1", RequirementFailed, "container_id=1 class_id=1 key=9 at_least=1 available=0 quantity=0 at_most="},
		{"RequireBalance container_id=1 class_id=1 key=0 at_least=101 at_most=200", RequirementFailed, "at_least=101 at_most=200 available=100 quantity=100"},
		{"RequireBalance container_id=1 class_id=1 key=0 at_most=99", RequirementFailed, "at_most=99 available=100 at_least="},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; RequireBalance container_id=1 class_id=1 key=5 at_least=21 at_most=50", RequirementFailed, "available=20 quantity=50"},
		{"HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30; RequireBalance container_id=1 class_id=1 key=5 at_least=20 at_most=49", RequirementFailed, "available=20 quantity=50"},
		{"RequireUnchanged container_id=99 since_seq=0", ContainerNotFound, "container_id=99"},
		{"RequireUnchanged container_id=1 since_seq=0", RequirementFailed, "container_id=1 since_seq=0 updated_seq=1"},
		{"RequireInstance instance_id=99 container_id=99 slot_index=9", ContainerNotFound, "container_id=99"},
		{"RequireInstance instance_id=99 container_id=1 slot_index=9", WrongContainerKind, "container_id=1 kind=Standard"},
		{"RequireInstance instance_id=99 container_id=4 slot_index=9", WrongContainerKind, "container_id=4 kind=Grid"},
		{"RequireInstance instance_id=99 container_id=3 slot_index=9", InstanceNotFound, "instance_id=99"},
		{"RequireInstance instance_id=2 container_id=3 slot_index=9", SlotOutOfRange, "slot_index=9"},
		{"RequireInstance instance_id=1 container_id=3 slot_index=0", RequirementFailed, "instance_id=1 container_id=3 slot_index=0 found_container_id=3 found_slot_index=1"},
		{"RequireInstance instance_id=1 container_id=5", RequirementFailed, "instance_id=1 container_id=5 slot_index= found_container_id=3 found_slot_index=1"},
		{"RequireInstance instance_id=2 container_id=3", RequirementFailed, "found_container_id=4"},
		{"RequireInstance instance_id=3 container_id=3", RequirementFailed, "found_parent_id=4"},
		{"RequireInstance instance_id=6 container_id=3", RequirementFailed, "found=nowhere"},
		{"MintInstance class_id=3; RequireInstance instance_id=minted:0 container_id=3", RequirementFailed, "found=nowhere"},
	}
	seen := map[OpKind]bool{}
	for _, tt := range tests {
		t.Run(tt.op, func(t *testing.T) {
			s := newWorld(t)
			err := refuse(t, s, tt.op)
			last := strings.Count(tt.op, ";")
			if err.Code != tt.code || err.OpIndex != last {
				t.Errorf("got %v, want %s at operation %d", err, tt.code, last)
			}
			if !strings.HasSuffix(err.Message, ".") {
				t.Errorf("message %q does not end with a period", err.Message)
			}
			for _, want := range strings.Fields(tt.details) {
				name, value, _ := strings.Cut(want, "=")
				if got := detail(err, name); got != value {
					t.Errorf("detail %s is %q, want %q, in %+v", name, got, value, err.Details)
				}
			}
			for op := range strings.SplitSeq(tt.op, ";") {
				seen[asOp(t, op).Kind] = true
			}
			// After accepted operations the rejection is the same, and undoes them.
			behind := "CreateContainer container_id=50 kind=Grid; MintInstance class_id=3 container_id=50;" +
				"RemoveFungible container_id=1 class_id=2 key=0 quantity=7; BurnInstance instance_id=6;" +
				"CreateContainer container_id=51 kind=Standard; RemoveContainer container_id=7;"
			if !strings.Contains(tt.op, "minted") && !strings.Contains(tt.op, "id=6") && !strings.Contains(tt.op, "id=7") &&
				!strings.Contains(tt.op, "class_id=2") {
				again := refuse(t, s, behind+tt.op)
				if again.OpIndex != 6+last || (again.Code != tt.code) {
					t.Errorf("after other operations: got %v, want %s at operation %d", again, tt.code, 6+last)
				}
			}
		})
	}
	for _, kind := range OpKinds() {
		if !seen[kind] {
			t.Errorf("no rejection of %s is tested", kind)
		}
	}
}

// TestLowestQuantity checks that the error does not claim that the lowest int64 was
// sent, since the parser stores all lower quantities as that number.
func TestLowestQuantity(t *testing.T) {
	err := refuse(t, newWorld(t), "AddFungible container_id=1 class_id=1 key=0 quantity=-9223372036854775808")
	if err.Code != InvalidQuantity || err.Message != "The quantity is -9223372036854775808 or less; it must be at least 1." {
		t.Errorf(`%+v, want InvalidQuantity with "or less"`, err)
	}
}
