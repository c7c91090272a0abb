package ctl

import (
	"encoding/json"
	"testing"

	"assetledger/ledger"
)

// TestOperationWordsRoundTrip checks that an operation shown in words can be given to -op.
func TestOperationWordsRoundTrip(t *testing.T) {
	for _, words := range []string{
		`CreateContainer container_id=1 kind=Standard owner=null`,
		`CreateContainer container_id=9223372036854775807 kind=Grid owner=7 grid_width=8 grid_height=1`,
		`RemoveContainer container_id=1`,
		`AddFungible container_id=1 class_id=1 key=0 quantity=5 x=0 y=3 rotation=90`,
		`RemoveFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807`,
		`TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=5`,
		`MergeStacks container_id=1 class_id=1 from_key=1 to_key=0`,
		`ConsolidateStacks container_id=1 class_id=1`,
		`MintInstance class_id=2 key=1 container_id=3 slot_index=0`,
		`BurnInstance instance_id=minted:3`,
		`Attach instance_id=minted:0 parent_id=4`,
		`Detach instance_id=4`,
		`PlaceInSlot container_id=3 slot_index=1 instance_id=4`,
		`RemoveFromSlot container_id=3 slot_index=1`,
		`SwapSlots container_id=3 slot_a=0 slot_b=1 other_container_id=5`,
		`PlaceInGrid container_id=4 instance_id=minted:0 x=1 y=2`,
		`RemoveFromGrid container_id=4 instance_id=1`,
		`MoveInGrid container_id=4 x=0 y=0 to_x=1 to_y=1 rotation=0`,
		`RegisterClass class_id=1 name=gold fungible=false decimals=0`,
		`RegisterClass class_id=1 name="a \"long\" \\ sword = 'épée'"`,
		`RegisterClassShape class_id=1 key=null width=1 height=1024`,
	} {
		op, err := ledger.ParseOpWords(words)
		if err != nil {
			t.Errorf("%s: %v", words, err)
			continue
		}
		var shown []operation
		if err := json.Unmarshal(ledger.AppendOperations(nil, []ledger.Op{op}), &shown); err != nil {
			t.Fatal(err)
		}
		got, err := shown[0].words(argValue)
		if err != nil || got != words {
			t.Errorf("got  %s (%v)\nwant %s", got, err, words)
		}
	}
}

// FuzzWithDecimals checks that quantities lose no digit.
func FuzzWithDecimals(f *testing.F) {
	f.Add(uint64(12345), 2)
	f.Add(uint64(0), 18)
	f.Fuzz(func(t *testing.T, v uint64, decimals int) {
		if decimals < 0 || decimals > ledger.MaxDecimals {
			return
		}
		minor := ledger.Uint128{Lo: v}.String()
		shown := withDecimals(minor, decimals)
		digits := make([]byte, 0, len(shown))
		point := -1
		for i := range shown {
			if shown[i] == '.' {
				point = len(shown) - 1 - i
				continue
			}
			digits = append(digits, shown[i])
		}
		for len(digits) > 1 && digits[0] == '0' {
			digits = digits[1:]
		}
		if string(digits) != minor || max(point, 0) != decimals || shown[0] == '.' {
			t.Errorf("withDecimals(%s, %d) = %s", minor, decimals, shown)
		}
	})
}
