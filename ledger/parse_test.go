package ledger

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// fieldOf is the detail that says which field, or which operation name, is at fault.
func fieldOf(err *Error) string {
	for _, d := range err.Details {
		if d.Name == "field" || d.Name == "op" {
			return d.Str
		}
	}
	return ""
}

// show is an error in one line: code, field, index of the operation.
func show(err *Error) string {
	switch {
	case err == nil:
		return "ok"
	case err.Code == MalformedJSON && err.OpIndex == NoOperation:
		return "MalformedJSON"
	}
	return fmt.Sprintf("%s %s %d", err.Code, fieldOf(err), err.OpIndex)
}

func parseOne(body string) (Transaction, *Error) {
	var tx Transaction
	err := ParseTransaction([]byte(body), &tx, ParseLimits{})
	return tx, err
}

// oneOp is a transaction of one operation.
func oneOp(op, args string) string {
	return fmt.Sprintf(`{"operations":[{"op":"%s","args":{%s}}]}`, op, args)
}

const mint = `{"op":"MintInstance","args":{"class_id":1}}`

func TestTransactionFaults(t *testing.T) {
	ops := func(list string) string { return `{"operations":[` + list + `]}` }
	with := func(rest string) string { return `{"operations":[` + mint + `],` + rest + `}` }
	tests := []struct{ body, want string }{
		// The body.
		{``, "MalformedJSON"},
		{` `, "MalformedJSON"},
		{"\xef\xbb\xbf" + oneTransfer, "MalformedJSON"},
		{oneTransfer + `{}`, "MalformedJSON"},
		{oneTransfer + "\x00", "MalformedJSON"},
		{oneTransfer + " \n", "ok"},
		{`[]`, "InvalidRequest body -1"},
		{`null`, "InvalidRequest body -1"},
		{`"x"`, "InvalidRequest body -1"},
		{`nul`, "MalformedJSON"},
		{`{}`, "InvalidRequest operations -1"},
		{`{"operations":[]}`, "InvalidRequest operations -1"},
		{`{"operations":null}`, "InvalidRequest operations -1"},
		{`{"operations":{}}`, "InvalidRequest operations -1"},
		{`{"operations":[` + mint + `,]}`, "MalformedJSON"},
		{`{"operations":[` + mint + `}`, "MalformedJSON"},
		{`{"operations":[` + mint + ` ` + mint + `]}`, "MalformedJSON"},
		{`{"Operations":[]}`, "InvalidRequest Operations -1"},
		{`{"operations":[` + mint + `],"operations":[` + mint + `]}`, "MalformedJSON"},
		{`{"operations":[` + mint + `],"\u006fperations":[` + mint + `]}`, "MalformedJSON"},
		{`{"\u006fperations":[` + mint + `]}`, "ok"},
		{with(`"extra":1`), "InvalidRequest extra -1"},
		{with(`"extra":1,"extra":1`), "MalformedJSON"},
		{ops(strings.Repeat(mint+",", MaxOperations-1) + mint), "ok"},
		{ops(strings.Repeat(mint+",", MaxOperations) + mint), "InvalidRequest operations -1"},

		// The operation object.
		{ops(`5`), "InvalidRequest operations 0"},
		{ops(mint + `,null`), "InvalidRequest operations 1"},
		{ops(`{}`), "InvalidRequest op 0"},
		{ops(`{"args":{}}`), "InvalidRequest op 0"},
		{ops(`{"op":null,"args":{}}`), "InvalidRequest op 0"},
		{ops(`{"op":"Mint","args":{}}`), "UnknownOperation Mint 0"},
		{ops(`{"op":"mintinstance","args":{}}`), "UnknownOperation mintinstance 0"},
		{ops(mint + `,` + mint + `,{"op":"","args":{}}`), "UnknownOperation  2"},
		{ops(`{"op":"\u004dintInstance","args":{"class_id":1}}`), "ok"},
		{ops(`{"op":"MintInstance"}`), "InvalidRequest args 0"},
		{ops(`{"op":"MintInstance","args":null}`), "InvalidRequest args 0"},
		{ops(`{"op":"MintInstance","args":[]}`), "InvalidRequest args 0"},
		{ops(`{"op":"MintInstance","args":{"class_id":1},"note":1}`), "InvalidRequest note 0"},
		{ops(`{"op":"MintInstance","op":"MintInstance","args":{"class_id":1}}`), "MalformedJSON"},
		{ops(`{"args":{"class_id":1},"op":"MintInstance"}`), "ok"},
		{ops(`{"args":{"class_id":1},"\u006fp":"MintInstance"}`), "ok"},
		{ops(mint + `,{"args":{"x":1},"op":"MintInstance"}`), "InvalidRequest class_id 1"},
		{ops(`{"args":{"bogus":1},"zzz":1,"op":"MintInstance"}`), "InvalidRequest bogus 0"},
		{ops(`{"args":5,"op":"MintInstance"}`), "InvalidRequest args 0"},
		{ops(`{"args":5,"op":"Mint"}`), "InvalidRequest args 0"},
		{ops(`{"args":{"bogus":1},"op":"Mint"}`), "UnknownOperation Mint 0"},
		{ops(`{"args":{"bogus":1},"op":7}`), "InvalidRequest op 0"},
		{ops(`{"args":{"bogus":1},"zzz":1,"op":"Mint"}`), "InvalidRequest zzz 0"},
		{ops(`{"args":{"class_id":1},"op":"MintInstance","op":"MintInstance"}`), "MalformedJSON"},
		{ops(`{"args":{"class_id":1},"args":{"class_id":1},"op":"MintInstance"}`), "MalformedJSON"},
		{ops(`{"args":{"class_id":1},"op":"MintInstance"`), "MalformedJSON"},
		{ops(`{"args":{"class_id":01},"op":"MintInstance"}`), "MalformedJSON"},

		// What comes first is reported, and bad JSON before all.
		{ops(`{"op":"Nope","args":{}},{"op":5}`), "UnknownOperation Nope 0"},
		{ops(`{"op":5},{"op":"Nope","args":{}}`), "InvalidRequest op 0"},
		{`{"extra":1,"operations":[{"op":"Nope"}]}`, "InvalidRequest extra -1"},
		{ops(`{"op":"Nope","args":{}}`) + `x`, "MalformedJSON"},
		{ops(`{"op":"Nope","args":{"a":1,"a":2}}`), "MalformedJSON"},
		{ops(`{"op":"Nope","args":{"a":"\ud800"}}`), "MalformedJSON"},
		{ops(`{"op":5},{"op":"\x"}`), "MalformedJSON"},
		{ops(`{"op":5},` + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "MalformedJSON"},

		// The idempotency key.
		{with(`"idempotency_key":"k"`), "ok"},
		{with(`"idempotency_key":" ~"`), "ok"},
		{with(`"idempotency_key":""`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":null`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":7`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":"é"`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":"\n"`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":"\u007f"`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":"` + strings.Repeat("k", 255) + `"`), "ok"},
		{with(`"idempotency_key":"` + strings.Repeat("k", 256) + `"`), "InvalidRequest idempotency_key -1"},
		{with(`"idempotency_key":"` + strings.Repeat(`\u006b`, 255) + `"`), "ok"},
		{with(`"idempotency_key":"a","idempotency_key":"a"`), "MalformedJSON"},

		// Metadata.
		{with(`"metadata":{}`), "ok"},
		{with(`"metadata":null`), "InvalidRequest metadata -1"},
		{with(`"metadata":[]`), "InvalidRequest metadata -1"},
		{with(`"metadata":"x"`), "InvalidRequest metadata -1"},
		{with(`"metadata":{"a":-0.5e9,"b":[{"a":null}]}`), "ok"},
		{with(`"metadata":{"a":1,"a":1}`), "MalformedJSON"},
		{with(`"metadata":{"a":1,"\u0061":1}`), "MalformedJSON"},
		{with(`"metadata":{"a":{"b":1,"b":1}}`), "MalformedJSON"},
		{with(`"metadata":{"a":01}`), "MalformedJSON"},
		{with(`"metadata":{"idempotency_key":"k"}`), "InvalidRequest metadata -1"},
		{with(`"metadata":{"a":1,"idempotency\u005fkey":null}`), "InvalidRequest metadata -1"},
		{with(`"metadata":{"a":{"idempotency_key":"k"}}`), "ok"},
		{with(`"metadata":{"a":"` + strings.Repeat("x", MaxMetadata-8) + `"}`), "ok"},
		{with(`"metadata":{"a":"` + strings.Repeat("x", MaxMetadata-7) + `"}`), "InvalidRequest metadata -1"},
		{with(`"metadata":{ "a" : "` + strings.Repeat("x", MaxMetadata-8) + `" }`), "ok"},
		{with(`"metadata":{"a":` + strings.Repeat("[", 30) + strings.Repeat("]", 30) + `}`), "ok"},
		{with(`"metadata":{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`), "MalformedJSON"},
	}
	for _, tt := range tests {
		if _, err := parseOne(tt.body); show(err) != tt.want {
			t.Errorf("%.120s: %s, want %s (%v)", tt.body, show(err), tt.want, err)
		}
	}
}

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

		// A quantity of 0 or less is for the state to judge.
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
		// Every operation stands behind one mint, so its index is 1.
		body := `{"operations":[` + mint + `,{"op":"` + tt.op + `","args":{` + tt.args + `}}]}`
		if _, err := parseOne(body); show(err) != want {
			t.Errorf("%s %s: %s, want %s (%v)", tt.op, tt.args, show(err), want, err)
		}
	}
}

func TestMintedNamesOnlyEarlierMints(t *testing.T) {
	burn := `{"op":"BurnInstance","args":{"instance_id":{"minted":0}}}`
	if _, err := parseOne(`{"operations":[` + burn + `,` + mint + `]}`); show(err) != "InvalidRequest instance_id 0" {
		t.Error(err)
	}
	// The count begins anew with each transaction of a batch.
	var b BatchRequest
	body := `{"transactions":[{"operations":[` + mint + `,` + burn + `]},{"operations":[` + burn + `]}]}`
	if err := ParseBatch([]byte(body), &b, ParseLimits{}); err != nil || b.Errs[0] != nil || show(b.Errs[1]) != "InvalidRequest instance_id 0" {
		t.Error(err, b.Errs)
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
		t.Errorf("metadata %s, key %s, endpoint %d", tx.Metadata, tx.Key, tx.Endpoint)
	}
}

func TestParseRegistration(t *testing.T) {
	tests := []struct {
		e          Endpoint
		body, want string
	}{
		{EndpointRegisterClass, `{"class_id":1,"name":"gold"}`, "ok"},
		{EndpointRegisterClass, `{"metadata":{"a":1},"name":"gold","idempotency_key":"k","class_id":1,"decimals":2}`, "ok"},
		{EndpointRegisterClass, `{"class_id":1}`, "InvalidRequest name 0"},
		{EndpointRegisterClass, `{"class_id":"1","name":"gold"}`, "InvalidRequest class_id 0"},
		{EndpointRegisterClass, `{"class_id":1,"name":"gold","owner":1}`, "InvalidRequest owner 0"},
		{EndpointRegisterClass, `{"class_id":1,"name":"gold","class_id":1}`, "MalformedJSON"},
		{EndpointRegisterClass, `{"class_id":1,"name":"gold"`, "MalformedJSON"},
		{EndpointRegisterClass, `{"class_id":1,"name":"gold","idempotency_key":""}`, "InvalidRequest idempotency_key -1"},
		{EndpointRegisterClass, `{"class_id":1,"name":"gold","metadata":7}`, "InvalidRequest metadata -1"},
		{EndpointRegisterClass, `{"request":{"class_id":1,"name":"gold"}}`, "InvalidRequest request 0"},
		{EndpointRegisterClass, `7`, "InvalidRequest body -1"},
		{EndpointRegisterClass, `{"idempotency_key":"k","class_id":0}`, "InvalidRequest class_id 0"},
		{EndpointRegisterShape, `{"class_id":1,"width":1,"height":2}`, "ok"},
		{EndpointRegisterShape, `{"class_id":1,"key":null,"width":1,"height":2,"metadata":{}}`, "ok"},
		{EndpointRegisterShape, `{"class_id":1,"width":0,"height":2}`, "InvalidRequest width 0"},
		{EndpointRegisterShape, `{"class_id":1,"name":"gold"}`, "InvalidRequest name 0"},
	}
	var tx Transaction
	for _, tt := range tests {
		err := ParseRegistration([]byte(tt.body), tt.e, &tx, ParseLimits{})
		if show(err) != tt.want {
			t.Errorf("%s: %s, want %s (%v)", tt.body, show(err), tt.want, err)
		}
		if err == nil && (len(tx.Ops) != 1 || tx.Endpoint != tt.e || tx.Ops[0].Kind != RegisterClass+OpKind(tt.e-EndpointRegisterClass)) {
			t.Errorf("%s: %+v", tt.body, tx)
		}
	}
	// The hash does not take one endpoint for another.
	commit, _ := parseOne(`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"gold"}}}],"idempotency_key":"k"}`)
	if err := ParseRegistration([]byte(`{"class_id":1,"name":"gold","idempotency_key":"k"}`), EndpointRegisterClass, &tx, ParseLimits{}); err != nil || tx.Hash == commit.Hash {
		t.Error(err, tx.Hash)
	}
}

func TestErrorsShowLittleOfLongNames(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, body := range []string{
		`{"` + long + `":1}`,
		`{"operations":[{"op":"` + long + `"}]}`,
		`{"operations":[],"` + long + `":1,"` + long + `":1}`,
	} {
		if _, err := parseOne(body); err == nil || len(err.AppendJSON(nil)) > 1000 {
			t.Errorf("%.40s: an answer of %d bytes", body, len(err.AppendJSON(nil)))
		}
	}
}

// A hostile request may need much memory, but the next one must not keep it.
func TestScratchMemoryIsLetGo(t *testing.T) {
	body := []byte(`{"metadata":{"x":0`)
	for i := range keepNames + 1 {
		body = fmt.Appendf(body, `,"\u0061%d":0`, i)
	}
	body = append(body, `},"operations":[]}`...)
	var tx Transaction
	if err := ParseTransaction(body, &tx, ParseLimits{}); err == nil {
		t.Fatal("the request is taken")
	}
	if cap(tx.scratch.names) <= keepNames {
		t.Fatalf("room for %d names: the test shows nothing", cap(tx.scratch.names))
	}
	if err := ParseTransaction([]byte(keyedTransfer), &tx, ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if p := tx.scratch; cap(p.names) > keepNames || cap(p.text) > keepBytes {
		t.Errorf("room for %d names and %d bytes is kept", cap(p.names), cap(p.text))
	}
}

func TestNestingLimit(t *testing.T) {
	var tx Transaction
	for limit, want := range map[int]string{3: "MalformedJSON", 4: "ok"} {
		if err := ParseTransaction([]byte(oneTransfer), &tx, ParseLimits{Nesting: limit}); show(err) != want {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	var b BatchRequest
	for limit, want := range map[int]string{5: "MalformedJSON", 6: "ok"} {
		if err := ParseBatch(batchBody(1, transferBody), &b, ParseLimits{Nesting: limit}); show(err) != want {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
}
