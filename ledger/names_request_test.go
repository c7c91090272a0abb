package ledger

import (
	"fmt"
	"strings"
	"testing"
)

// Requests with names: how they are parsed, hashed, stored in the log and read
// back.

func TestNamesInRequests(t *testing.T) {
	for _, tt := range []struct{ op, args, want string }{
		{"RemoveContainer", `"container_id":"users/42"`, "ok"},
		{"RemoveContainer", `"container_id":"\u0061"`, "ok"},
		{"RemoveContainer", `"container_id":"42"`, "InvalidRequest container_id 0"},
		{"RemoveContainer", `"container_id":""`, "InvalidRequest container_id 0"},
		{"RemoveContainer", `"container_id":"a b"`, "InvalidRequest container_id 0"},
		{"RemoveContainer", `"container_id":"` + strings.Repeat("x", 129) + `"`, "InvalidRequest container_id 0"},
		{"RemoveContainer", `"container_id":null`, "InvalidRequest container_id 0"},
		{"MintInstance", `"class_id":"` + strings.Repeat("x", 32) + `"`, "ok"},
		{"MintInstance", `"class_id":"` + strings.Repeat("x", 33) + `"`, "InvalidRequest class_id 0"},
		{"BurnInstance", `"instance_id":"a"`, "InvalidRequest instance_id 0"},
		{"CreateContainer", `"kind":"Standard","name":"a"`, "ok"},
		{"CreateContainer", `"name":"a"`, "InvalidRequest kind 0"},
		{"CreateContainer", `"kind":"Standard"`, "InvalidRequest container_id 0"},
		{"CreateContainer", `"kind":"Standard","name":null`, "InvalidRequest name 0"},
		{"CreateContainer", `"kind":"Standard","name":7`, "InvalidRequest name 0"},
		{"CreateContainer", `"container_id":"a","kind":"Standard"`, "InvalidRequest container_id 0"},
		{"RegisterClass", `"request":{"name":"n","code":"K"}`, "ok"},
		{"RegisterClass", `"request":{"code":"K"}`, "InvalidRequest name 0"},
		{"RegisterClass", `"request":{"name":"n"}`, "InvalidRequest class_id 0"},
		{"RegisterClassShape", `"request":{"class_id":"K","width":1,"height":1}`, "ok"},
		{"RenameContainer", `"container_id":1,"name":null`, "ok"},
		{"RenameContainer", `"container_id":"a","name":"b"`, "ok"},
		{"RenameContainer", `"container_id":1`, "InvalidRequest name 0"},
		{"RenameContainer", `"container_id":1,"name":"1"`, "InvalidRequest name 0"},
		{"RenameClass", `"class_id":1`, "InvalidRequest name 0"},
		{"RenameClass", `"class_id":1,"code":null`, "ok"},
		{"RenameClass", `"class_id":1,"name":null`, "InvalidRequest name 0"},
		{"RenameClass", `"code":"a","name":"two words","class_id":"b"`, "ok"},
	} {
		_, err := parseOne(oneOp(tt.op, tt.args))
		if got := show(err); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.op, tt.args, got, tt.want)
		}
	}
}

// TestConditionsAlone checks that a transaction that has only conditions is rejected in
// a commit request, but accepted by preflight.
func TestConditionsAlone(t *testing.T) {
	const balance = `{"op":"RequireBalance","args":{"container_id":1,"class_id":1,"key":0,"at_least":1}}`
	for _, tt := range []struct{ ops, want, preflight string }{
		{balance, "InvalidRequest operations -1", "ok"},
		{balance + "," + mint, "ok", "ok"},
		{`{"op":"RequireUnchanged","args":{"container_id":1,"since_seq":0}},{"op":"RequireInstance","args":{"instance_id":1,"container_id":1}}`, "InvalidRequest operations -1", "ok"},
		{strings.Replace(balance, `,"at_least":1`, "", 1), "InvalidRequest at_least 0", "InvalidRequest at_least 0"},
		{strings.Replace(balance, `"at_least":1`, `"at_most":-1`, 1), "InvalidRequest at_most 0", "InvalidRequest at_most 0"},
		{`{"op":"RequireUnchanged","args":{"container_id":1,"since_seq":-1}}`, "InvalidRequest since_seq 0", "InvalidRequest since_seq 0"},
		{mint + `,{"op":"RequireInstance","args":{"instance_id":{"minted":0},"container_id":"a","slot_index":0}}`, "ok", "ok"},
	} {
		body := []byte(`{"operations":[` + tt.ops + `]}`)
		var tx Transaction
		if got := show(ParseTransaction(body, &tx, ParseLimits{})); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.ops, got, tt.want)
		}
		if got := show(ParseTransaction(body, &tx, ParseLimits{Conditions: true})); got != tt.preflight {
			t.Errorf("%s in a preflight: %s, want %s", tt.ops, got, tt.preflight)
		}
		var b BatchRequest
		if err := ParseBatch(fmt.Appendf(nil, `{"transactions":[{"operations":[%s]},%s]}`, tt.ops, body), &b, ParseLimits{}); err != nil {
			t.Errorf("in a batch: %v", err)
		}
		for _, err := range b.Errs {
			if got := show(err); got != tt.want {
				t.Errorf("%s in a batch: %s, want %s", tt.ops, got, tt.want)
			}
		}
	}
}

// TestRequestHashOfNames checks that requests have different hashes if they name the
// class differently, and that removing a code differs from leaving it unchanged.
func TestRequestHashOfNames(t *testing.T) {
	seen := map[[16]byte]string{}
	for _, args := range []string{
		`"class_id":1,"name":"n"`, `"class_id":1,"name":"n","code":null`, `"class_id":1,"name":"n","code":"n"`, `"class_id":1,"code":"n"`,
		`"class_id":"a","name":"n"`, `"class_id":"b","name":"n"`, `"class_id":"a","code":"n"`, `"class_id":"a","name":"a n"`,
	} {
		body := strings.Replace(oneOp("RenameClass", args), "{", `{"idempotency_key":"k",`, 1)
		tx, err := parseOne(body)
		noErrors(t, err)
		if other := seen[tx.Hash]; other != "" {
			t.Errorf("%s and %s have the same hash", args, other)
		}
		seen[tx.Hash] = args
	}
}

// TestLogHoldsIntegers checks that records hold the integers that names stood
// for, and the ids that were assigned.
func TestLogHoldsIntegers(t *testing.T) {
	s := NewState(Config{})
	sent := `[{"op":"CreateContainer","args":{"kind":"Standard","name":"users/1"}},` +
		`{"op":"RegisterClass","args":{"request":{"name":"Euro","code":"EUR"}}},` +
		`{"op":"AddFungible","args":{"container_id":"users/1","class_id":"EUR","key":0,"quantity":5}},` +
		`{"op":"RenameContainer","args":{"container_id":"users/1","name":"users/2"}},` +
		`{"op":"RenameClass","args":{"class_id":"EUR","name":"Cent","code":null}},` +
		`{"op":"RequireBalance","args":{"container_id":"users/2","class_id":4503599627370496,"key":0,"at_most":5}}]`
	want := `[{"op":"CreateContainer","args":{"container_id":4503599627370496,"kind":"Standard","name":"users/1"}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":4503599627370496,"name":"Euro","code":"EUR"}}},` +
		`{"op":"AddFungible","args":{"container_id":4503599627370496,"class_id":4503599627370496,"key":0,"quantity":5}},` +
		`{"op":"RenameContainer","args":{"container_id":4503599627370496,"name":"users/2"}},` +
		`{"op":"RenameClass","args":{"class_id":4503599627370496,"name":"Cent","code":null}},` +
		`{"op":"RequireBalance","args":{"container_id":4503599627370496,"class_id":4503599627370496,"key":0,"at_most":5}}]`
	tx, err := parseOne(`{"operations":` + sent + `}`)
	noErrors(t, err)
	if got := string(AppendOperations(nil, tx.Ops)); got != sent {
		t.Errorf("as sent:\n%s, want\n%s", got, sent)
	}
	var out Outcome
	noErrors(t, s.Apply(&tx, 0, &out))
	var rec Record
	if err := rec.Decode(AppendRecord(nil, &tx, &out)); err != nil {
		t.Fatal(err)
	}
	if got := string(AppendOperations(nil, rec.Tx.Ops)); got != want {
		t.Errorf("read back:\n%s, want\n%s", got, want)
	}
	replayed, imported := NewState(Config{}), NewState(Config{})
	if err := replayed.Replay(&rec, 0, 1); err != nil {
		t.Fatal(err)
	}
	tx, err = parseOne(`{"operations":` + want + `}`) // as an import sends it
	noErrors(t, err)
	noErrors(t, imported.Apply(&tx, 0, &out))
	check(t, imported)
	if s.Digest() != replayed.Digest() || s.Digest() != imported.Digest() {
		t.Errorf("digests %016x, replayed %016x, imported %016x; want equal ones", s.Digest(), replayed.Digest(), imported.Digest())
	}
	rec.Out.Decisions[0].ID++
	if err := NewState(Config{}).Replay(&rec, 0, 1); err == nil || !strings.Contains(err.Error(), "decision 0") {
		t.Errorf("a record with a different assigned id: %v, want a divergence in decision 0", err)
	}
}

// TestRegistrationsAnsweredAgain checks that a remembered result equals the
// first one, byte for byte, even if the request lacked the id of the
// class.
func TestRegistrationsAnsweredAgain(t *testing.T) {
	live, replayed := NewState(Config{IdempotencyKeys: 9}), NewState(Config{IdempotencyKeys: 9})
	requests := []struct {
		endpoint Endpoint
		body     string
		first    string
	}{
		{EndpointRegisterClass, `{"class_id":7,"name":"early","idempotency_key":"a"}`, ""},
		{EndpointRegisterClass, `{"name":"Euro","code":"EUR","decimals":2,"idempotency_key":"b"}`, ""},
		{EndpointRegisterShape, `{"class_id":"EUR","width":2,"height":1,"idempotency_key":"c"}`, ""},
		{EndpointRegisterShape, `{"class_id":7,"width":2,"height":1,"idempotency_key":"d"}`, ""},
	}
	parse := func(i int) (tx Transaction) {
		noErrors(t, ParseRegistration([]byte(requests[i].body), requests[i].endpoint, &tx, ParseLimits{}))
		return tx
	}
	for i := range requests {
		tx, out, rec := parse(i), Outcome{}, Record{}
		noErrors(t, live.Apply(&tx, 0, &out))
		live.Remember(&tx, &out, live.Seq(), 1)
		if err := rec.Decode(AppendRecord(nil, &tx, &out)); err != nil {
			t.Fatal(err)
		}
		if err := replayed.Replay(&rec, 0, 1); err != nil {
			t.Fatal(err)
		}
		requests[i].first = string(AppendResult(nil, &tx, live.Seq(), 1, out.FirstMinted, out.Minted))
	}
	accept(t, live, "RenameClass class_id=EUR code=null")
	accept(t, replayed, "RenameClass class_id=EUR code=null")
	loaded := loadCheckpoint(t, checkpointOf(t, live), 9)
	if string(checkpointOf(t, live)) != string(checkpointOf(t, replayed)) {
		t.Error("the checkpoints of the ledger and of its replay differ")
	}
	if want := `"class":{"class_id":4503599627370496,"code":"EUR","name":"Euro","fungible":true,"decimals":2}}`; !strings.HasSuffix(requests[1].first, want) {
		t.Errorf("got %s, want %s at the end", requests[1].first, want)
	}
	if want := `"shape":{"class_id":4503599627370496,"key":null,"width":2,"height":1}}`; !strings.HasSuffix(requests[2].first, want) {
		t.Errorf("got %s, want %s at the end", requests[2].first, want)
	}
	for name, s := range map[string]*State{"live": live, "replayed": replayed, "loaded": loaded} {
		for i, r := range requests {
			tx := parse(i)
			known, ok := s.Recall(tx.Key)
			if !ok || known.Hash != tx.Hash {
				t.Fatalf("%s: request %d is not remembered", name, i)
			}
			if got := string(AppendResult(nil, &tx, known.Seq, known.BatchSeq, known.FirstMinted, known.Minted)); got != r.first {
				t.Errorf("%s:\n%s, want\n%s", name, got, r.first)
			}
		}
	}
}

// TestPermitAndNames checks what a client limited to owners can learn through names
// about the containers of other owners: at most that a name is taken.
func TestPermitAndNames(t *testing.T) {
	for _, c := range []struct {
		ops  string
		code Code
		op   int
	}{
		{"RenameContainer container_id=mine name=other", "", 0},
		{"RenameContainer container_id=mine name=mine2", NameTaken, 0},
		{"RenameContainer container_id=mine name=foreign", Forbidden, 0},
		{"RenameContainer container_id=foreign name=other", Forbidden, 0},
		{"RenameContainer container_id=nobody name=other", Forbidden, 0},
		{"CreateContainer kind=Standard owner=7 name=new", "", 0},
		{"CreateContainer kind=Standard owner=8 name=new", Forbidden, 0},
		{"CreateContainer kind=Standard owner=7 name=foreign", Forbidden, 0},
		{"CreateContainer kind=Standard owner=7 name=mine", NameTaken, 0},
		{"CreateContainer container_id=1 kind=Standard owner=7 name=foreign", ContainerAlreadyExists, 0},
		{"TransferFungible from_container=mine to_container=2 class_id=1 key=0 quantity=1", InvalidOperation, 0},
		{"TransferFungible from_container=foreign to_container=12 class_id=1 key=0 quantity=1", Forbidden, 0},
		{"TransferFungible from_container=12 to_container=foreign class_id=1 key=0 quantity=1", Forbidden, 0},
		{"TransferFungible from_container=foreign to_container=foreign class_id=1 key=0 quantity=1", Forbidden, 0},
		{"RequireBalance container_id=mine class_id=1 key=0 at_least=10", "", 0},
		{"RequireBalance container_id=mine class_id=1 key=0 at_least=11", RequirementFailed, 0},
		{"RequireBalance container_id=foreign class_id=1 key=0 at_least=1", Forbidden, 0},
		{"RequireBalance container_id=99 class_id=1 key=0 at_least=1", Forbidden, 0},
		{"RequireUnchanged container_id=12 since_seq=99", Forbidden, 0},
		{"RequireInstance instance_id=1 container_id=1", "", 0},
		{"RequireInstance instance_id=2 container_id=1", Forbidden, 0},
		{"RequireInstance instance_id=99 container_id=1", Forbidden, 0},
		{"RequireInstance instance_id=2 container_id=11", Forbidden, 0},
		{"RenameClass class_id=1 name=n", Forbidden, 0},
	} {
		t.Run(c.ops, func(t *testing.T) {
			s := limitedWorld(t)
			accept(t, s, "RenameContainer container_id=2 name=mine; RenameContainer container_id=1 name=mine2; RenameContainer container_id=12 name=foreign")
			tx := asTx(t, c.ops)
			tx.SetSender([]byte("seven"), &Permit{Owners: []int64{7}})
			err := s.Apply(tx, 0, &Outcome{})
			if c.code == "" && err != nil || c.code != "" && (err == nil || err.Code != c.code || err.OpIndex != c.op) {
				t.Fatalf("%v, want %q", err, c.code)
			}
			check(t, s)
			if err != nil && err.Code == Forbidden && strings.Contains(c.ops, "container=foreign") && detail(err, "container_id") == "12" && !strings.Contains(c.ops, "=12") {
				t.Errorf("the error reveals the id: %+v", err)
			}
		})
	}
	s := limitedWorld(t)
	accept(t, s, "RenameContainer container_id=2 name=mine; RenameContainer container_id=12 name=foreign")
	id, err := s.ContainerNamed("mine", []int64{7})
	noErrors(t, err)
	if id != 2 {
		t.Errorf("the name mine is resolved to %d, want 2", id)
	}
	var texts []string
	for _, name := range []string{"foreign", "nobody0"} {
		_, err := s.ContainerNamed(name, []int64{7})
		texts = append(texts, strings.ReplaceAll(string(err.AppendJSON(nil)), name, "NAME"))
	}
	if texts[0] != texts[1] || !strings.Contains(texts[0], "Forbidden") {
		t.Errorf("the errors for another owner's name and for an unknown one are %q, want Forbidden twice, with the same text", texts)
	}
	if _, err := s.ContainerNamed("nobody", nil); err == nil || err.Code != ContainerNotFound || detail(err, "name") != "nobody" {
		t.Errorf("%v, want ContainerNotFound with the name nobody", err)
	}
	if _, err := s.ClassCoded("none"); err == nil || err.Code != ClassNotFound || detail(err, "code") != "none" {
		t.Errorf("%v, want ClassNotFound with the code none", err)
	}
}

func TestConditions(t *testing.T) {
	s := newWorld(t)
	accept(t, s, "HoldFungible hold_id=1 container_id=1 class_id=1 key=5 quantity=30")
	before, _ := s.Container(1)
	accept(t, s, `RequireBalance container_id=1 class_id=1 key=5 at_least=20 at_most=50; RequireBalance container_id=2 class_id=1 key=0 at_most=0
		RequireBalance container_id=2 class_id=1 key=0 at_least=0; RequireUnchanged container_id=1 since_seq=2; RequireUnchanged container_id=1 since_seq=9223372036854775807
		RequireInstance instance_id=1 container_id=3; RequireInstance instance_id=1 container_id=3 slot_index=1; RequireInstance instance_id=2 container_id=4`)
	if after, _ := s.Container(1); after != before {
		t.Errorf("conditions changed container 1 from %+v to %+v", before, after)
	}
	// Conditions see the effects of the operations before them.
	accept(t, s, "RemoveFungible container_id=1 class_id=1 key=0 quantity=100; RequireBalance container_id=1 class_id=1 key=0 at_most=0")
	refuse(t, s, "AddFungible container_id=1 class_id=1 key=0 quantity=1; RequireBalance container_id=1 class_id=1 key=0 at_most=0")
	err := refuse(t, s, fmt.Sprintf("AddFungible container_id=1 class_id=1 key=0 quantity=1; RequireUnchanged container_id=1 since_seq=%d", s.Seq()))
	if err.Code != RequirementFailed || err.OpIndex != 1 || err.Code.Status() != 412 {
		t.Errorf("%v with status %d, want RequirementFailed at operation 1 with status 412", err, err.Code.Status())
	}
}
