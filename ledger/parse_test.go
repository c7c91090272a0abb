package ledger

import (
	"fmt"
	"strings"
	"testing"
)

// fieldOf returns the detail that names the invalid field or operation.
func fieldOf(err *Error) string {
	for _, d := range err.Details {
		if d.Name == "field" || d.Name == "op" {
			return d.Str
		}
	}
	return ""
}

// show returns an error on one line: code, field, index of the operation.
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

// oneOp returns a transaction of one operation.
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

		// The first error is reported, and malformed JSON before all others.
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
			t.Errorf("%s: %+v, want one registration with endpoint %d", tt.body, tx, tt.e)
		}
	}
	// The hash distinguishes endpoints.
	commit, _ := parseOne(`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"gold"}}}],"idempotency_key":"k"}`)
	if err := ParseRegistration([]byte(`{"class_id":1,"name":"gold","idempotency_key":"k"}`), EndpointRegisterClass, &tx, ParseLimits{}); err != nil || tx.Hash == commit.Hash {
		t.Errorf("a registration has the hash %x (%v), want a different one from that of the same operation in a commit, %x", tx.Hash, err, commit.Hash)
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
			t.Errorf("%.40s: %d bytes of error, want at most 1000", body, len(err.AppendJSON(nil)))
		}
	}
}

// TestScratchMemoryIsLetGo checks that the memory that a hostile request needed is
// released by the next request.
func TestScratchMemoryIsLetGo(t *testing.T) {
	body := []byte(`{"metadata":{"x":0`)
	for i := range keepNames + 1 {
		body = fmt.Appendf(body, `,"\u0061%d":0`, i)
	}
	body = append(body, `},"operations":[]}`...)
	var tx Transaction
	if err := ParseTransaction(body, &tx, ParseLimits{}); err == nil {
		t.Fatal("the request was accepted, want a rejection")
	}
	if cap(tx.scratch.names) <= keepNames {
		t.Fatalf("room for only %d names: the test proves nothing", cap(tx.scratch.names))
	}
	if err := ParseTransaction([]byte(keyedTransfer), &tx, ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if p := tx.scratch; cap(p.names) > keepNames || cap(p.text) > keepBytes {
		t.Errorf("room for %d names and %d bytes was kept, want at most %d and %d", cap(p.names), cap(p.text), keepNames, keepBytes)
	}
}

func TestNestingLimit(t *testing.T) {
	var tx Transaction
	for limit, want := range map[int]string{3: "MalformedJSON", 4: "ok"} {
		if err := ParseTransaction([]byte(oneTransfer), &tx, ParseLimits{Nesting: limit}); show(err) != want {
			t.Errorf("a transaction with limit %d: %v, want %s", limit, err, want)
		}
	}
	var b BatchRequest
	for limit, want := range map[int]string{5: "MalformedJSON", 6: "ok"} {
		if err := ParseBatch(batchBody(1, transferBody), &b, ParseLimits{Nesting: limit}); show(err) != want {
			t.Errorf("a batch with limit %d: %v, want %s", limit, err, want)
		}
	}
}
