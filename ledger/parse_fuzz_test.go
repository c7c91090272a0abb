package ledger

import (
	"bytes"
	"fmt"
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
		`{"operations":[{"op":"HoldFungible","args":{"hold_id":7,"container_id":"a","class_id":1,"key":0,"quantity":5,"expires_in":60}},` +
			`{"op":"SettleHold","args":{"hold_id":7,"to_container":2,"keep":true,"quantity":3,"x":0,"y":1}},{"op":"ReleaseHold","args":{"hold_id":7}}],"idempotency_key":"h"}`,
		`{"reverses":17,"operations":[{"op":"SplitStack","args":{"container_id":1,"class_id":1,"from_key":0,"to_key":9,"quantity":5,"rotation":90}}],"idempotency_key":"r"}`,
		`{"operations":[{"op":"RequireInstance","args":{"instance_id":{"minted":0},"container_id":1}}]}`,
		`{"operations":[{"op":"Nope","args":{"a":1,"a":2}}]}`,
	} {
		f.Add([]byte(text))
	}
	var tx, again Transaction
	f.Fuzz(func(t *testing.T, body []byte) {
		err := ParseTransaction(body, &tx, ParseLimits{})
		if malformed := err != nil && err.Code == MalformedJSON; malformed == wellFormed(body, DefaultNesting) {
			t.Fatalf("the error is MalformedJSON: %t, want %t (%v)", malformed, !malformed, err)
		}
		if err != nil {
			if err.Code != MalformedJSON && err.Code != InvalidRequest && err.Code != UnknownOperation {
				t.Fatalf("%v, want MalformedJSON, InvalidRequest or UnknownOperation", err)
			}
			if !wellFormed(err.AppendJSON(nil), DefaultNesting) {
				t.Fatalf("the error is not well-formed JSON: %s", err.AppendJSON(nil))
			}
			return
		}
		text := append([]byte(`{"metadata":`), AppendMetadata(nil, tx.Metadata, nil)...)
		text = append(text, `,"operations":`...)
		text = AppendOperations(text, tx.Ops)
		if tx.Reverses != 0 {
			text = fmt.Appendf(text, `,"reverses":%d`, tx.Reverses)
		}
		text = append(text, '}')
		if err := ParseTransaction(text, &again, ParseLimits{}); err != nil || !reflect.DeepEqual(again.Ops, tx.Ops) {
			t.Fatalf("%s: %v, operations %+v, want %+v", text, err, again.Ops, tx.Ops)
		}
		if len(tx.Key) > 0 {
			if err := again.SetHeaderKey([]string{string(tx.Key)}); err != nil || again.Hash != tx.Hash || !bytes.Equal(again.Key, tx.Key) {
				t.Fatalf("%s: key %s, hash %x, want %s, %x (%v)", text, again.Key, again.Hash, tx.Key, tx.Hash, err)
			}
		}
	})
}

func FuzzParseReversal(f *testing.F) {
	for _, text := range []string{`{}`, `{"idempotency_key":"k","metadata":{"why":["wrong",1.50]}}`, `{"metadata":{}}`, `{"reverses":1}`, `{"idempotency_key":""} `} {
		f.Add([]byte(text), uint64(3))
	}
	var tx, again, other Transaction
	f.Fuzz(func(t *testing.T, body []byte, seq uint64) {
		seq = seq>>1 | 1
		err := ParseReversal(body, seq, &tx, ParseLimits{})
		if malformed := err != nil && err.Code == MalformedJSON; malformed == wellFormed(body, DefaultNesting) {
			t.Fatalf("the error is MalformedJSON: %t, want %t (%v)", malformed, !malformed, err)
		}
		if err != nil {
			if err.Code != MalformedJSON && err.Code != InvalidRequest || !wellFormed(err.AppendJSON(nil), DefaultNesting) {
				t.Fatalf("%s, want MalformedJSON or InvalidRequest in well-formed JSON", err.AppendJSON(nil))
			}
			return
		}
		if len(tx.Ops) > 0 || tx.Reverses != seq || tx.Endpoint != EndpointReverse {
			t.Fatalf("%s gives %+v, want a reversal of commit %d without operations", body, tx, seq)
		}
		if len(tx.Key) == 0 {
			return
		}
		text := append(AppendMetadata([]byte(`{"metadata":`), tx.Metadata, nil), '}')
		for at, to := range map[uint64]*Transaction{seq: &again, seq ^ 2: &other} {
			err := ParseReversal(text, at, to, ParseLimits{})
			if err == nil {
				err = to.SetHeaderKey([]string{string(tx.Key)})
			}
			if err != nil || (to.Hash == tx.Hash) != (at == seq) {
				t.Fatalf("%s of commit %d: hash %x, that of commit %d is %x (%v); want equal hashes for equal commits only", text, at, to.Hash, seq, tx.Hash, err)
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
			t.Fatalf("the error is MalformedJSON: %t, want %t (%v)", malformed, !malformed, err)
		}
		if err == nil {
			compareWithSingle(t, body, &b)
		}
	})
}
