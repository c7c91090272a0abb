package ledger

import (
	"reflect"
	"strings"
	"testing"
)

func TestArgumentFaults(t *testing.T) {
	const top, over = "9223372036854775807", "9223372036854775808"
	add := `"container_id":1,"class_id":1,"key":0,"quantity":1`
	tests := []struct{ op, args, want string }{
		// Integers.
		{"RemoveContainer", `"container_id":1`, "ok"},
		{"RemoveContainer", `"container_id":` + top, "ok"},
		{"RemoveContainer", `"container_id":` + over, "container_id"},
		{"RemoveContainer", `"container_id":99999999999999999999999999`, "container_id"},
		{"RemoveContainer", `"container_id":0`, "container_id"},
		{"RemoveContainer", `"container_id":-1`, "container_id"},
		{"RemoveContainer", `"container_id":1.0`, "container_id"},
		{"RemoveContainer", `"container_id":1e0`, "container_id"},
		{"RemoveContainer", `"container_id":1E0`, "container_id"},
		{"RemoveContainer", `"container_id":"1"`, "container_id"},
		{"RemoveContainer", `"container_id":null`, "container_id"},
		{"RemoveContainer", `"container_id":true`, "container_id"},
		{"RemoveContainer", `"container_id":[1]`, "container_id"},
		{"RemoveContainer", `"container_id":{"minted":0}`, "container_id"},
		{"RemoveContainer", `"container_id":01`, "MalformedJSON"},
		{"RemoveContainer", `"container_id":+1`, "MalformedJSON"},
		{"RemoveContainer", `"container_id":-`, "MalformedJSON"},
		{"RemoveContainer", `"container_id":1.`, "MalformedJSON"},
		{"RemoveContainer", `"container_id":1x`, "MalformedJSON"},
		{"RemoveContainer", ``, "container_id"},
		{"RemoveContainer", `"container_id":1,"container_id":1`, "MalformedJSON"},
		{"RemoveContainer", `"container_id":1,"class_id":1`, "class_id"},
		{"RemoveContainer", `"container_id":1,}`, "MalformedJSON"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":-0,"quantity":1`, "key"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":-1,"quantity":1`, "key"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":` + top + `,"quantity":1`, "ok"},
		{"RemoveFungible", `"class_id":1,"quantity":1`, "container_id"},
		{"RemoveFungible", add + `,"x":1`, "x"},

		// A quantity of 0 or less is left to the state to judge.
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":0`, "ok"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":-5`, "ok"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":-999999999999999999999999`, "ok"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":` + over, "quantity"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":-0`, "quantity"},
		{"RemoveFungible", `"container_id":1,"class_id":1,"key":0,"quantity":-1.5`, "quantity"},

		// Places.
		{"AddFungible", add, "ok"},
		{"AddFungible", add + `,"rotation":90`, "ok"},
		{"AddFungible", add + `,"x":0,"y":0,"rotation":0`, "ok"},
		{"AddFungible", add + `,"rotation":45`, "rotation"},
		{"AddFungible", add + `,"rotation":180`, "rotation"},
		{"AddFungible", add + `,"rotation":null`, "rotation"},
		{"AddFungible", add + `,"x":1`, "y"},
		{"AddFungible", add + `,"y":1`, "x"},
		{"AddFungible", add + `,"x":-1,"y":1`, "x"},
		{"TransferFungible", `"from_container":1,"to_container":1,"class_id":1,"key":0,"quantity":1,"y":4`, "x"},
		{"PlaceInGrid", `"container_id":1,"instance_id":1,"x":4`, "y"},
		{"PlaceInGrid", `"container_id":1,"instance_id":1`, "ok"},
		{"MoveInGrid", `"container_id":1,"x":1,"y":1,"to_x":1`, "to_y"},
		{"MoveInGrid", `"container_id":1,"x":1,"y":1,"to_x":1,"to_y":2`, "ok"},
		{"MintInstance", `"class_id":1,"container_id":1,"slot_index":1`, "ok"},
		{"MintInstance", `"class_id":1,"container_id":1,"slot_index":1,"x":1`, "slot_index"},
		{"MintInstance", `"class_id":1,"container_id":1,"slot_index":1,"x":1,"y":1`, "slot_index"},
		{"MintInstance", `"class_id":1,"slot_index":1`, "container_id"},
		{"MintInstance", `"class_id":1,"x":1,"y":1`, "container_id"},
		{"MintInstance", `"class_id":1,"rotation":0`, "container_id"},
		{"MintInstance", `"class_id":1,"container_id":1,"y":1`, "x"},
		{"MintInstance", `"class_id":1,"container_id":1,"slot_index":-1`, "slot_index"},

		// Containers.
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":null`, "ok"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":7`, "ok"},
		{"CreateContainer", `"container_id":1,"kind":"\u0053tandard"`, "ok"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":0`, "owner"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":"me"`, "owner"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":nul`, "MalformedJSON"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","owner":nulls`, "MalformedJSON"},
		{"CreateContainer", `"container_id":1,"kind":"standard"`, "kind"},
		{"CreateContainer", `"container_id":1,"kind":1`, "kind"},
		{"CreateContainer", `"container_id":1,"kind":null`, "kind"},
		{"CreateContainer", `"container_id":1,"kind":"\ud800"`, "MalformedJSON"},
		{"CreateContainer", `"container_id":1`, "kind"},
		{"CreateContainer", `"container_id":1,"kind":"Slots","slot_count":65536`, "ok"},
		{"CreateContainer", `"container_id":1,"kind":"Slots","slot_count":65537`, "slot_count"},
		{"CreateContainer", `"container_id":1,"kind":"Slots","slot_count":0`, "slot_count"},
		{"CreateContainer", `"slot_count":5,"container_id":1,"kind":"Standard"`, "slot_count"},
		{"CreateContainer", `"container_id":1,"kind":"Grid","slot_count":5`, "slot_count"},
		{"CreateContainer", `"container_id":1,"kind":"Grid","grid_width":1024,"grid_height":1`, "ok"},
		{"CreateContainer", `"container_id":1,"kind":"Grid","grid_width":1025`, "grid_width"},
		{"CreateContainer", `"container_id":1,"kind":"Grid","grid_height":0`, "grid_height"},
		{"CreateContainer", `"container_id":1,"kind":"Slots","grid_width":5`, "grid_width"},
		{"CreateContainer", `"container_id":1,"kind":"Standard","grid_height":5`, "grid_height"},

		// Registrations as operations.
		{"RegisterClass", `"request":{"class_id":1,"name":"gold"}`, "ok"},
		{"RegisterClass", `"request":{"class_id":1,"name":"gold","fungible":false,"decimals":18}`, "ok"},
		{"RegisterClass", `"class_id":1,"name":"gold"`, "class_id"},
		{"RegisterClass", ``, "request"},
		{"RegisterClass", `"request":null`, "request"},
		{"RegisterClass", `"request":{}`, "class_id"},
		{"RegisterClass", `"request":{"class_id":1}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":""}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":null}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":5}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":"a\tb"}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":"a\u0085b"}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":"` + strings.Repeat("é", 128) + `"}`, "ok"},
		{"RegisterClass", `"request":{"class_id":1,"name":"` + strings.Repeat("é", 129) + `"}`, "name"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","fungible":1}`, "fungible"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","fungible":null}`, "fungible"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","fungible":truth}`, "MalformedJSON"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","decimals":19}`, "decimals"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","decimals":-1}`, "decimals"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x"},"request":{"class_id":1,"name":"x"}`, "MalformedJSON"},
		{"RegisterClass", `"request":{"class_id":1,"name":"x","idempotency_key":"k"}`, "idempotency_key"},
		{"RegisterClassShape", `"request":{"class_id":1,"width":2,"height":3}`, "ok"},
		{"RegisterClassShape", `"request":{"class_id":1,"key":null,"width":2,"height":3}`, "ok"},
		{"RegisterClassShape", `"request":{"class_id":1,"key":0,"width":2,"height":1024}`, "ok"},
		{"RegisterClassShape", `"request":{"class_id":1,"key":-1,"width":2,"height":3}`, "key"},
		{"RegisterClassShape", `"request":{"class_id":1,"width":2,"height":1025}`, "height"},
		{"RegisterClassShape", `"request":{"class_id":1,"width":null,"height":3}`, "width"},

		// References to instances.
		{"BurnInstance", `"instance_id":1`, "ok"},
		{"BurnInstance", `"instance_id":0`, "instance_id"},
		{"BurnInstance", `"instance_id":null`, "instance_id"},
		{"BurnInstance", `"instance_id":{"minted":0}`, "ok"},
		{"BurnInstance", `"instance_id":{"minted":1}`, "instance_id"},
		{"BurnInstance", `"instance_id":{"minted":` + over + `}`, "minted"},
		{"BurnInstance", `"instance_id":{"minted":-1}`, "minted"},
		{"BurnInstance", `"instance_id":{"minted":"0"}`, "minted"},
		{"BurnInstance", `"instance_id":{}`, "minted"},
		{"BurnInstance", `"instance_id":{"n":0}`, "n"},
		{"BurnInstance", `"instance_id":{"minted":0,"minted":0}`, "MalformedJSON"},
		{"BurnInstance", `"instance_id":{"minted":0`, "MalformedJSON"},
		{"Attach", `"instance_id":{"minted":0},"parent_id":{"minted":1}`, "parent_id"},
		{"Attach", `"instance_id":{"minted":0},"parent_id":4`, "ok"},
	}
	for _, tt := range tests {
		want := tt.want
		if want != "ok" && want != "MalformedJSON" {
			want = "InvalidRequest " + want + " 1"
		}
		// Every operation comes after one mint, so its index is 1.
		body := `{"operations":[` + mint + `,{"op":"` + tt.op + `","args":{` + tt.args + `}}]}`
		if _, err := parseOne(body); show(err) != want {
			t.Errorf("%s %s: %s, want %s (%v)", tt.op, tt.args, show(err), want, err)
		}
	}
}

func TestMintedNamesOnlyEarlierMints(t *testing.T) {
	burn := `{"op":"BurnInstance","args":{"instance_id":{"minted":0}}}`
	if _, err := parseOne(`{"operations":[` + burn + `,` + mint + `]}`); show(err) != "InvalidRequest instance_id 0" {
		t.Errorf("a reference to a later mint: %v, want InvalidRequest in instance_id", err)
	}
	// The count restarts with each transaction of a batch.
	var b BatchRequest
	body := `{"transactions":[{"operations":[` + mint + `,` + burn + `]},{"operations":[` + burn + `]}]}`
	if err := ParseBatch([]byte(body), &b, ParseLimits{}); err != nil || b.Errs[0] != nil || show(b.Errs[1]) != "InvalidRequest instance_id 0" {
		t.Errorf("a batch: %v, its transactions: %v; want InvalidRequest in instance_id for the second transaction only", err, b.Errs)
	}
}

func TestParsedArguments(t *testing.T) {
	tx, err := parseOne(` { "metadata" : { "n" : 1.50 , "s" : "a b" } , "operations" : [
		{"op":"CreateContainer","args":{"kind":"Grid","owner":null,"container_id":9,"grid_height":3}},
		{"args":{"class_id":1},"op":"MintInstance"},
		{"op":"PlaceInGrid","args":{"instance_id":{"minted":0},"container_id":9,"y":2,"x":1,"rotation":90}},
		{"op":"AddFungible","args":{"container_id":9,"class_id":2,"key":9223372036854775807,"quantity":-99999999999999999999}},
		{"op":"RegisterClass","args":{"request":{"name":"\u0047old","class_id":3,"fungible":false}}}
	], "idempotency_key" : "k\u0031" } `)
	if err != nil {
		t.Fatal(err)
	}
	want := []Op{
		{Kind: CreateContainer, Has: 0b100111, Null: 0b100, Args: [8]int64{9, int64(Grid), 0, 0, 0, 3}},
		{Kind: MintInstance, Has: 1, Args: [8]int64{1}},
		{Kind: PlaceInGrid, Has: 0b11111, Ref: 0b10, Args: [8]int64{9, 0, 1, 2, 90}},
		{Kind: AddFungible, Has: 0b1111, Args: [8]int64{9, 2, 9223372036854775807, -9223372036854775808}},
		{Kind: RegisterClass, Has: 0b111, Name: "Gold", Args: [8]int64{3}},
	}
	if !reflect.DeepEqual(tx.Ops, want) {
		t.Errorf("got  %+v\nwant %+v", tx.Ops, want)
	}
	if string(tx.Metadata) != `{"n":1.50,"s":"a b"}` || string(tx.Key) != "k1" || tx.Endpoint != EndpointCommit {
		t.Errorf(`metadata %s, key %s, endpoint %d; want {"n":1.50,"s":"a b"}, k1, %d`, tx.Metadata, tx.Key, tx.Endpoint, EndpointCommit)
	}
}
