package ledger

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzParseTransaction(f *testing.F) {
	for _, text := range []string{
		oneTransfer, keyedTransfer,
		`{"operations":[{"args":{"class_id":1},"op":"MintInstance"},{"op":"Attach","args":{"instance_id":{"minted":0},"parent_id":2}}]}`,
		`{"operations":[{"op":"CreateContainer","args":{"container_id":1,"kind":"Grid","owner":null,"grid_width":3}}],"metadata":{"b":[1.50,{}]}}`,
		`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"\u0047é"}}}],"idempotency_key":"\u006b"}`,
		`{"operations":[{"op":"RemoveFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":-99999999999999999999}}]}`,
		`{"operations":[{"op":"CreateContainer","args":{"kind":"Standard","name":"users/1"}},{"op":"RenameClass","args":{"code":null,"class_id":"EUR","name":"a b"}}]}`,
		`{"operations":[{"args":{"from_container":"a","to_container":"\u0062","class_id":"c","key":0,"quantity":1},"op":"TransferFungible"},{"op":"RequireBalance","args":{"container_id":"a","class_id":1,"key":0,"at_most":1}}]}`,
		`{"operations":[{"op":"Nope","args":{"a":1,"a":2}}]}`,
	} {
		f.Add([]byte(text))
	}
	var tx, again Transaction
	f.Fuzz(func(t *testing.T, body []byte) {
		err := ParseTransaction(body, &tx, ParseLimits{})
		if malformed := err != nil && err.Code == MalformedJSON; malformed == wellFormed(body, DefaultNesting) {
			t.Fatalf("MalformedJSON is %v: %v", malformed, err)
		}
		if err != nil {
			if err.Code != MalformedJSON && err.Code != InvalidRequest && err.Code != UnknownOperation {
				t.Fatal(err)
			}
			if !wellFormed(err.AppendJSON(nil), DefaultNesting) {
				t.Fatalf("the answer is %s", err.AppendJSON(nil))
			}
			return
		}
		text := append([]byte(`{"metadata":`), AppendMetadata(nil, tx.Metadata, nil)...)
		text = append(text, `,"operations":`...)
		text = append(AppendOperations(text, tx.Ops), '}')
		if err := ParseTransaction(text, &again, ParseLimits{}); err != nil || !reflect.DeepEqual(again.Ops, tx.Ops) {
			t.Fatalf("%s: %v", text, err)
		}
		if len(tx.Key) > 0 {
			if err := again.SetHeaderKey([]string{string(tx.Key)}); err != nil || again.Hash != tx.Hash || !bytes.Equal(again.Key, tx.Key) {
				t.Fatalf("%s: hash %x, was %x (%v)", text, again.Hash, tx.Hash, err)
			}
		}
	})
}

func FuzzParseBatch(f *testing.F) {
	f.Add([]byte(`{"transactions":[` + oneTransfer + `,{},` + keyedTransfer + `,{"operations":[{"op":"Nope"}]}],"on_error":"stop"}`))
	f.Add([]byte(`{"on_error":"continue","transactions":[null]} `))
	var b BatchRequest
	f.Fuzz(func(t *testing.T, body []byte) {
		err := ParseBatch(body, &b, ParseLimits{})
		if malformed := err != nil && err.Code == MalformedJSON; malformed == wellFormed(body, DefaultNesting) {
			t.Fatalf("MalformedJSON is %v: %v", malformed, err)
		}
		if err == nil {
			compareWithSingle(t, body, &b)
		}
	})
}
