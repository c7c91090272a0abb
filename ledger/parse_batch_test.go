package ledger

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestParseBatch(t *testing.T) {
	tx := oneTransfer
	list := func(n int, tx string) string { return strings.TrimSuffix(strings.Repeat(tx+",", n), ",") }
	tests := []struct {
		body, want string
		errs       []string
	}{
		{`{"transactions":[` + tx + `]}`, "ok", []string{"ok"}},
		{`{"transactions":[` + tx + `,{},` + tx + `,7,{"operations":[{"op":"Nope"}]}],"on_error":"continue"}`, "ok",
			[]string{"ok", "InvalidRequest operations -1", "ok", "InvalidRequest transactions -1", "UnknownOperation Nope 0"}},
		{`{"transactions":[{"operations":[` + mint + `,{"op":"BurnInstance","args":{"instance_id":0}}]},` + tx + `]}`, "ok",
			[]string{"InvalidRequest instance_id 1", "ok"}},
		{`{"transactions":[{"operations":[{"op":"Nope","x":{"a":1,"a":2}}]},` + tx + `]}`, "MalformedJSON", nil},
		{`{"transactions":[{},` + tx + `],"on_error":"continue"`, "MalformedJSON", nil},
		{`{"transactions":[` + tx + `,` + tx[:len(tx)-1] + `]}`, "MalformedJSON", nil},
		{`{"transactions":[` + tx + `]}]`, "MalformedJSON", nil},
		{`{"transactions":[` + tx + `],"transactions":[]}`, "MalformedJSON", nil},
		{``, "MalformedJSON", nil},
		{`[` + tx + `]`, "InvalidRequest body -1", nil},
		{`{}`, "InvalidRequest transactions -1", nil},
		{`{"transactions":[]}`, "InvalidRequest transactions -1", nil},
		{`{"transactions":{}}`, "InvalidRequest transactions -1", nil},
		{`{"transactions":null}`, "InvalidRequest transactions -1", nil},
		{`{"transactions":[` + tx + `],"on_error":"panic"}`, "InvalidRequest on_error -1", nil},
		{`{"transactions":[` + tx + `],"on_error":null}`, "InvalidRequest on_error -1", nil},
		{`{"transactions":[` + tx + `],"on_error":"panic"`, "MalformedJSON", nil},
		{`{"transactions":[` + tx + `],"idempotency_key":"k"}`, "InvalidRequest idempotency_key -1", nil},
		{`{"transactions":[` + list(MaxBatch+1, "{}") + `]}`, "InvalidRequest transactions -1", nil},
	}
	var b BatchRequest
	for _, tt := range tests {
		err := ParseBatch([]byte(tt.body), &b, ParseLimits{})
		if show(err) != tt.want {
			t.Errorf("%.100s: %s, want %s", tt.body, show(err), tt.want)
		}
		if err != nil {
			continue
		}
		var errs []string
		for _, e := range b.Errs {
			errs = append(errs, show(e))
		}
		if !reflect.DeepEqual(errs, tt.errs) || len(b.Txs) != len(b.Errs) {
			t.Errorf("%.100s: %q, want %q", tt.body, errs, tt.errs)
		}
	}
}

func TestParseBatchOnError(t *testing.T) {
	var b BatchRequest
	for _, tt := range []struct {
		body string
		stop bool
	}{
		{`{"on_error":"stop","transactions":[` + oneTransfer + `]}`, true},
		{`{"transactions":[` + oneTransfer + `],"on_error":"s\u0074op"}`, true},
		{`{"transactions":[` + oneTransfer + `],"on_error":"continue"}`, false},
		{`{"transactions":[` + oneTransfer + `]}`, false},
	} {
		if err := ParseBatch([]byte(tt.body), &b, ParseLimits{}); err != nil || b.StopOnError != tt.stop {
			t.Errorf("%s: StopOnError is %t, want %t (%v)", tt.body, b.StopOnError, tt.stop, err)
		}
	}
}

// compareWithSingle checks that each transaction of a batch is parsed as it
// would be on its own.
func compareWithSingle(t *testing.T, body []byte, b *BatchRequest) {
	t.Helper()
	var plain struct{ Transactions []json.RawMessage }
	if err := json.Unmarshal(body, &plain); err != nil || len(plain.Transactions) != len(b.Txs) {
		t.Fatalf("the batch has %d transactions, want %d (%v)", len(b.Txs), len(plain.Transactions), err)
	}
	var tx Transaction
	for i, text := range plain.Transactions {
		err := ParseTransaction(text, &tx, ParseLimits{Nesting: DefaultNesting - 2})
		if err != nil && err.Details[0].Str == "body" {
			err.Details[0].Str = "transactions"
		}
		if show(err) != show(b.Errs[i]) {
			t.Fatalf("transaction %d: %v, alone %v", i, b.Errs[i], err)
		}
		got := &b.Txs[i]
		if err == nil && (!reflect.DeepEqual(got.Ops, tx.Ops) || !bytes.Equal(got.Key, tx.Key) ||
			!bytes.Equal(got.Metadata, tx.Metadata) || got.Hash != tx.Hash) {
			t.Fatalf("transaction %d is %+v, alone %+v", i, *got, tx)
		}
	}
}

// TestBatchGrowsUnderItsTransactions checks that transactions stay correct when the
// arrays that they share with later ones of the batch grow.
func TestBatchGrowsUnderItsTransactions(t *testing.T) {
	body := batchBody(1000, func(i int) string {
		switch i % 4 {
		case 0:
			return `{"operations":[{"op":"Nope"}],"metadata":{"b":1}}`
		case 1:
			return `{ "operations" : [` + mint + `,` + mint + `,{"op":"Attach","args":{"instance_id":{"minted":1},"parent_id":{"minted":0}}}],` +
				`"metadata" : { "b" : 1 , "a" : "\u0041" } , "idempotency_key" : "k\u0031" }`
		case 2:
			return `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"n"}}}],"idempotency_key":"k"}`
		}
		return transferBody(i)
	})
	var b BatchRequest
	for range 2 { // first with new memory, then with that of the first round
		if err := ParseBatch(body, &b, ParseLimits{}); err != nil {
			t.Fatal(err)
		}
		compareWithSingle(t, body, &b)
	}
	last := -1
	for i := range b.Txs {
		if b.Errs[i] == nil && cap(b.Txs[i].Ops) != len(b.Txs[i].Ops) {
			last = i
		}
	}
	if last >= 0 {
		t.Errorf("appending to the operations of transaction %d would overwrite the next one's", last)
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	body := batchBody(500, func(i int) string {
		if i%2 == 0 {
			return keyedTransfer
		}
		return transferBody(i)
	})
	var b BatchRequest
	var tx Transaction
	single := []byte(`{"operations":[{"args":{"instance_id":7},"op":"Detach"}],"idempotency_key":"\u006b","metadata":{"b":[1, {}],"a":{"c":1,"b":2}}}`)
	checks := map[string]func(){
		"batch": func() {
			if err := ParseBatch(body, &b, ParseLimits{}); err != nil || b.Errs[0] != nil || b.Errs[1] != nil {
				t.Fatal(err)
			}
		},
		"transaction": func() {
			if err := ParseTransaction(single, &tx, ParseLimits{}); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, parse := range checks {
		parse()
		if n := testing.AllocsPerRun(50, parse); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}
