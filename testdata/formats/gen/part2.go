package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// part2 has the path and the body of requests with names, conditions, holds, splits and
// reversals. LAST is the global_seq of the previous commit. The hold of the last request
// has expired already, so the write daemon releases it.
var part2 = [][2]string{
	{"/v1/register/class", `{"code":"EUR/2","name":"euro","decimals":2,"idempotency_key":"part2-class"}`},
	{"/v1/register/class", `{"class_id":9000001,"code":"sword/2","name":"sword","fungible":false}`},
	{"/v1/register/class-shape", `{"class_id":"EUR/2","width":1,"height":1}`},
	{"/v1/register/class-shape", `{"class_id":"sword/2","width":1,"height":2,"idempotency_key":"part2-shape"}`},
	commit(`CreateContainer {"kind":"Standard","name":"vault/1"}`, `CreateContainer {"container_id":9000001,"kind":"Standard","owner":7,"name":"vault/2"}`,
		`CreateContainer {"kind":"Grid","name":"shelf:A.3","grid_width":6,"grid_height":4}`, `CreateContainer {"kind":"Slots","name":"rack","slot_count":4}`),
	commit(`CreateContainer {"kind":"Standard","name":"vault/1"}`), // NameTaken
	commit(`AddFungible {"container_id":"vault/1","class_id":"EUR/2","key":0,"quantity":100000}`,
		`AddFungible {"container_id":"shelf:A.3","class_id":"EUR/2","key":0,"quantity":50}`),
	commit(`RequireBalance {"container_id":"vault/1","class_id":"EUR/2","key":0,"at_least":100000}`,
		`TransferFungible {"from_container":"vault/1","to_container":"vault/2","class_id":"EUR/2","key":0,"quantity":250}`,
		`RequireBalance {"container_id":"vault/2","class_id":"EUR/2","key":0,"at_least":250,"at_most":1000}`),
	commit(`RequireUnchanged {"container_id":"vault/1","since_seq":1}`, `RemoveContainer {"container_id":"rack"}`), // RequirementFailed
	commit(`HoldFungible {"hold_id":71,"container_id":"vault/1","class_id":"EUR/2","key":0,"quantity":700,"expires_at":253402300799}`,
		`HoldFungible {"hold_id":72,"container_id":"vault/1","class_id":"EUR/2","key":0,"quantity":600}`,
		`HoldFungible {"hold_id":73,"container_id":"shelf:A.3","class_id":"EUR/2","key":0,"quantity":5,"expires_in":315360000}`),
	commit(`SettleHold {"hold_id":72,"to_container":"shelf:A.3","quantity":200,"keep":true}`),
	commit(`SettleHold {"hold_id":71,"to_container":9000001,"quantity":100}`),
	commit(`SplitStack {"container_id":"shelf:A.3","class_id":"EUR/2","from_key":0,"to_key":3,"quantity":40,"x":5,"y":3}`),
	commit(`MergeStacks {"container_id":"shelf:A.3","class_id":"EUR/2","from_key":0,"to_key":3}`), // StackHeld
	commit(`ReleaseHold {"hold_id":73}`),
	commit(`MoveInGrid {"container_id":"shelf:A.3","x":5,"y":3,"to_x":2,"to_y":2}`),
	commit(`RemoveFungible {"container_id":"shelf:A.3","class_id":"EUR/2","key":3,"quantity":1}`),
	commit(`RemoveFungible {"container_id":"shelf:A.3","class_id":"EUR/2","key":3,"quantity":39}`),
	{"/v1/commit", `{"operations":[` + words(`AddFungible {"container_id":"shelf:A.3","class_id":"EUR/2","key":3,"quantity":39,"x":2,"y":2,"rotation":0}`) +
		`],"reverses":LAST,"idempotency_key":"part2-reversal","metadata":{"why":"` + strings.Repeat("long ", 80) + `"}}`},
	commit(`MergeStacks {"container_id":"shelf:A.3","class_id":"EUR/2","from_key":3,"to_key":0}`),
	commit(`RenameContainer {"container_id":"vault/2","name":"vault/two"}`, `RenameClass {"class_id":"EUR/2","name":"Euro","code":"EUR"}`),
	commit(`RenameContainer {"container_id":"rack","name":null}`, `RenameClass {"class_id":"sword/2","code":null}`),
	commit(`MintInstance {"class_id":9000001,"container_id":"shelf:A.3","x":5,"y":0}`, `MintInstance {"class_id":9000001}`,
		`MintInstance {"class_id":9000001}`, `Attach {"instance_id":{"minted":2},"parent_id":{"minted":0}}`,
		`RequireInstance {"instance_id":{"minted":0},"container_id":"shelf:A.3"}`,
		`Detach {"instance_id":{"minted":2}}`, `MoveInGrid {"container_id":"shelf:A.3","x":5,"y":1,"to_x":4,"to_y":1}`,
		`RemoveFromGrid {"container_id":"shelf:A.3","instance_id":{"minted":0}}`,
		`RenameContainer {"container_id":4503599627370498,"name":"rack"}`,
		`PlaceInSlot {"container_id":"rack","slot_index":1,"instance_id":{"minted":1}}`,
		`PlaceInSlot {"container_id":"rack","slot_index":2,"instance_id":{"minted":0}}`,
		`SwapSlots {"container_id":"rack","slot_a":1,"slot_b":2}`, `RemoveFromSlot {"container_id":"rack","slot_index":1}`),
	commit(`HoldFungible {"hold_id":74,"container_id":"vault/1","class_id":"EUR","key":0,"quantity":1,"expires_at":1}`),
}

// commit returns a request with operations, each a name and its arguments.
func commit(ops ...string) [2]string {
	return [2]string{"/v1/commit", `{"operations":[` + words(ops...) + `]}`}
}

func words(ops ...string) string {
	var list []string
	for _, op := range ops {
		name, args, _ := strings.Cut(op, " ")
		list = append(list, fmt.Sprintf(`{"op":%q,"args":%s}`, name, args))
	}
	return strings.Join(list, ",")
}

// playPart2 creates the log of the scenario, and continues with the requests above.
func playPart2(dir string, txs []string) error {
	if err := play(dir, txs); err != nil {
		return err
	}
	return withDaemons(dir, func(write, read string) error {
		last := uint64(0)
		for _, r := range part2 {
			body, err := post(write+r[0], strings.ReplaceAll(r[1], "LAST", fmt.Sprint(last)))
			if err != nil {
				return err
			}
			var result struct {
				Seq uint64 `json:"global_seq"`
			}
			if err := json.Unmarshal(body, &result); err != nil {
				return err
			}
			if result.Seq != 0 {
				last = result.Seq
			}
		}
		_, err := get(fmt.Sprintf("%s/v1/read/freshness?wait=30s&min_seq=%d", read, last+1)) // the commit that releases the expired hold
		return err
	})
}
