package ctl

import (
	"strings"
	"testing"

	"assetledger/ledger"
)

// TestExamplesOfOperations checks that the example of each operation can be parsed, and that
// some have the expected arguments.
func TestExamplesOfOperations(t *testing.T) {
	for _, kind := range ledger.OpKinds() {
		example := exampleOf(kind)
		if _, err := ledger.ParseOpList(example); err != nil {
			t.Errorf("the example %q of %v is invalid: %v", example, kind, err)
		}
	}
	for kind, want := range map[ledger.OpKind]string{
		ledger.MintInstance:   "MintInstance class_id=sword",
		ledger.Attach:         "Attach instance_id=1 parent_id=2",
		ledger.SplitStack:     "SplitStack container_id=users/42 class_id=EUR from_key=0 to_key=1 quantity=1",
		ledger.MergeStacks:    "MergeStacks container_id=users/42 class_id=EUR from_key=0 to_key=1",
		ledger.SwapSlots:      "SwapSlots container_id=users/42 slot_a=0 slot_b=1",
		ledger.MoveInGrid:     "MoveInGrid container_id=users/42 x=0 y=0 to_x=1 to_y=0",
		ledger.RequireBalance: "RequireBalance container_id=users/42 class_id=EUR key=0 at_least=1",
		ledger.RenameClass:    "RenameClass class_id=EUR name=Euro",
	} {
		if got := strings.Join(exampleOf(kind), " "); got != want {
			t.Errorf("the example of %v is %s, want %s", kind, got, want)
		}
	}
}
