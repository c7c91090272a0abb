package writer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

// A preflight of a reversal reports what the reversal then does, with the same
// operations or the same error, and changes nothing.
func TestPreflightSaysWhatAReversalDoes(t *testing.T) {
	for _, x := range []struct {
		name    string
		commits []string // after the world; the first of them is reversed
		body    string
		status  int
		want    string // part of the preflight's response
	}{
		{"a transfer", []string{transferTx(300, "")}, `{"metadata":{"why":"returned"}}`, 200, `"operations":[{"op":"TransferFungible","args":{"from_container":2,"to_container":1,`},
		{"several, the last one first", []string{
			`{"operations":[{"op":"MintInstance","args":{"class_id":2}},{"op":"RenameContainer","args":{"container_id":1,"name":"\u007e"}}]}`,
			`{"operations":[{"op":"RenameContainer","args":{"container_id":1,"name":"one"}},{"op":"MintInstance","args":{"class_id":2}}]}`}, `{}`, 200,
			`"operations":[{"op":"BurnInstance","args":{"instance_id":1}},{"op":"RenameContainer","args":{"container_id":1,"name":null}}]`},
		{"what was spent", []string{transferTx(300, ""), `{"operations":[{"op":"RemoveFungible","args":{"container_id":2,"class_id":1,"key":0,"quantity":1}}]}`},
			`{}`, 422, `"InsufficientBalance"`},
		{"no inverse", []string{`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":3,"name":"Ore"}}}]}`}, `{}`, 422, `"NotReversible"`},
		{"reversed already", []string{transferTx(300, ""), `{"operations":[{"op":"CreateContainer","args":{"container_id":3,"kind":"Standard"}}],"reverses":2}`},
			`{}`, 409, `"AlreadyReversed"`},
		{"a key of another request", []string{transferTx(300, `,"idempotency_key":"k"`)}, `{"idempotency_key":"k"}`, 409, `"IdempotencyConflict"`},
		{"a body of another shape", []string{transferTx(300, "")}, `{"operations":[]}`, 400, `"InvalidRequest"`},
	} {
		t.Run(x.name, func(t *testing.T) {
			l := newRAMLog()
			w := startWriter(t, l)
			w.post(200, "/v1/commit", world)
			for _, tx := range x.commits {
				w.do("POST", "/v1/commit", tx)
			}
			end := w.end()
			said := w.post(x.status, reversal(2)+"/preflight", x.body)
			if !strings.Contains(said.body, x.want) {
				t.Errorf("the preflight says %s, want %s", said.body, x.want)
			}
			if w.end() != end {
				t.Errorf("the preflight made commit %d, want none", w.end())
			}
			done := w.post(x.status, reversal(2), x.body)
			if x.status != http.StatusOK {
				if done.body != said.body {
					t.Errorf("the reversal is rejected with %s, and the preflight said %s", done.body, said.body)
				}
				return
			}
			want := fmt.Sprintf(`{"valid":true,"at_seq":%d,"minted_instances":[],"operations":%s}`, end, operationsOf(t, l, end+1))
			if said.body != want {
				t.Errorf("the reversal did %s, and the preflight said %s", want, said.body)
			}
		})
	}
}

// operationsOf returns the operations of a commit in the log as JSON.
func operationsOf(t *testing.T, l *ramLog, seq uint64) (text string) {
	t.Helper()
	if err := l.Commit(seq, func(rec *ledger.Record) { text = string(ledger.AppendOperations(nil, rec.Tx.Ops)) }); err != nil {
		t.Fatal(err)
	}
	return text
}

// A preflight of a reversal whose idempotency key has been used reports that nothing
// would be done, even if the commit can no longer be read.
func TestPreflightOfAReversalThatWasMade(t *testing.T) {
	l := &lostLog{ramLog: newRAMLog()}
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	w.post(200, "/v1/commit", transferTx(1, ""))
	w.post(200, reversal(2), `{"idempotency_key":"r"}`)
	for _, fault := range []error{nil, &wal.ArchivedError{Seq: 2, First: 5}} {
		l.fault = fault
		a := w.post(200, reversal(2)+"/preflight", `{"idempotency_key":"r"}`)
		if a.body != `{"valid":true,"at_seq":3,"minted_instances":[],"operations":[]}` || a.header.Get(headerHit) != "hit" {
			t.Errorf("with the fault %v: %s, %s %q; want no operations, and a hit", fault, a.body, headerHit, a.header.Get(headerHit))
		}
	}
	if a := w.post(410, reversal(2)+"/preflight", `{}`); a.code() != string(ledger.CommitArchived) {
		t.Errorf("another key: %s, want CommitArchived", a.body)
	}
}

// The response to a preflight of a reversal counts against the budget before the
// daemon builds it.
func TestPreflightsOfReversalsAreCounted(t *testing.T) {
	const operations = 9000
	op := `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}`
	large := `{"operations":[` + strings.Repeat(op+",", operations-1) + op + `]}`
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 16 << 20 })
	w.post(200, "/v1/commit", world)
	w.post(200, "/v1/commit", large)
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
	others := w.budget.Claim()
	if !others.GrowNow(8 << 20) { // what is left is enough for the inverse, but not for its text
		t.Fatal("no room for others")
	}
	if a := w.do("POST", reversal(2)+"/preflight", `{}`); a.status != 503 || a.code() != string(ledger.Overloaded) {
		t.Errorf("without room: %d %.200s, want Overloaded", a.status, a.body)
	}
	others.Release()
	if a := w.do("POST", reversal(2)+"/preflight", `{}`); a.status != 200 || strings.Count(a.body, `"RemoveFungible"`) != operations {
		t.Errorf("with room: %d %.200s, want 200 with %d operations", a.status, a.body, operations)
	}
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
}
