package ledger

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// marshal returns v as encoding/json writes it without HTML escaping.
func marshal(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func TestAppendJSONOfErrors(t *testing.T) {
	tests := []struct {
		err  *Error
		want string
	}{
		{Errorf(NotFound, "no such path"), `{"error":{"code":"NotFound","message":"no such path","details":{}}}`},
		{Errorf(InsufficientBalance, "only %d", 3).With(Num("container_id", 1), Num("available", math.MinInt64), Text("x\"y", "a\n<")).At(0),
			`{"error":{"code":"InsufficientBalance","message":"only 3","details":{"container_id":1,"available":-9223372036854775808,"x\"y":"a\n<"},"operation_index":0}}`},
	}
	for _, tt := range tests {
		if got := string(tt.err.AppendJSON([]byte("x"))); got != "x"+tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if got := string(AppendError(nil, tt.err)); `{"error":`+got+`}` != tt.want {
			t.Errorf("AppendError: %s, want the inner object of %s", got, tt.want)
		}
	}
}

func TestAppendMetadata(t *testing.T) {
	tests := []struct{ md, key, want string }{
		{"", "", `{}`},
		{"{}", "", `{}`},
		{`{"a":1}`, "", `{"a":1}`},
		{"", "k", `{"idempotency_key":"k"}`},
		{"{}", "k", `{"idempotency_key":"k"}`},
		{`{"a":1}`, `"\`, `{"a":1,"idempotency_key":"\"\\"}`},
	}
	for _, tt := range tests {
		if got := string(AppendMetadata(nil, []byte(tt.md), []byte(tt.key))); got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.md, tt.key, got, tt.want)
		}
	}
}

func TestAppendResult(t *testing.T) {
	commit, err := parseOne(keyedTransfer)
	if err != nil {
		t.Fatal(err)
	}
	registration := func(e Endpoint, body string) *Transaction {
		var tx Transaction
		if err := ParseRegistration([]byte(body), e, &tx, ParseLimits{}); err != nil {
			t.Fatal(err)
		}
		return &tx
	}
	tests := []struct {
		tx            *Transaction
		first, minted int
		want          string
	}{
		{&commit, 0, 0, `{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[],` +
			`"metadata":{"reason":"sale","order":12,"idempotency_key":"6ba7b810-9dad-11d1-80b4-00c04fd430c8"}}`},
		{&Transaction{}, 9, 3, `{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[9,10,11],"metadata":{}}`},
		{registration(EndpointRegisterClass, `{"class_id":3,"name":"a\"b"}`), 0, 0,
			`{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[],"metadata":{},` +
				`"class":{"class_id":3,"name":"a\"b","fungible":true,"decimals":0}}`},
		{registration(EndpointRegisterClass, `{"class_id":3,"name":"b","fungible":false,"decimals":18,"metadata":{"x":1}}`), 0, 0,
			`{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[],"metadata":{"x":1},` +
				`"class":{"class_id":3,"name":"b","fungible":false,"decimals":18}}`},
		{registration(EndpointRegisterShape, `{"class_id":3,"key":null,"width":2,"height":1}`), 0, 0,
			`{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[],"metadata":{},` +
				`"shape":{"class_id":3,"key":null,"width":2,"height":1}}`},
		{registration(EndpointRegisterShape, `{"class_id":3,"key":0,"width":2,"height":1}`), 0, 0,
			`{"global_seq":18446744073709551615,"batch_seq":7,"minted_instances":[],"metadata":{},` +
				`"shape":{"class_id":3,"key":0,"width":2,"height":1}}`},
	}
	for _, tt := range tests {
		if got := string(AppendResult(nil, tt.tx, math.MaxUint64, 7, int64(tt.first), tt.minted)); got != tt.want {
			t.Errorf("\n%s, want\n%s", got, tt.want)
		}
	}
}

func TestAppendClassAndShapeAreThoseOfEncodingJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		c := ClassInfo{rng.Int64(), []string{"", "EUR"}[rng.IntN(2)], randomName(rng), rng.IntN(2) == 0, rng.IntN(MaxDecimals + 1), rng.Uint64()}
		want := marshal(t, struct {
			ID            int64  `json:"class_id"`
			Code          string `json:"code,omitempty"`
			Name          string `json:"name"`
			Fungible      bool   `json:"fungible"`
			Decimals      int    `json:"decimals"`
			RegisteredSeq uint64 `json:"registered_seq"`
		}(c))
		if got := string(AppendClassInfo(nil, c)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got := string(AppendClass(nil, c)); got != want[:strings.LastIndex(want, `,"reg`)]+"}" {
			t.Fatalf("AppendClass: %s, want %s without registered_seq", got, want)
		}
		s := ShapeInfo{rng.IntN(2) == 0, rng.Int64(), rng.IntN(1024), rng.IntN(1024)}
		key := &s.Key
		if s.AnyKey {
			key = nil
		}
		want = marshal(t, struct {
			Key    *int64 `json:"key"`
			Width  int    `json:"width"`
			Height int    `json:"height"`
		}{key, s.Width, s.Height})
		if got := string(AppendShape(nil, s)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

func randomName(rng *rand.Rand) string {
	runes := []rune(`ab "\<é€😀` + "\u2028")
	var b strings.Builder
	for range 1 + rng.IntN(10) {
		b.WriteRune(runes[rng.IntN(len(runes))])
	}
	return b.String()
}

// randomText returns a string that an argument of type t may have.
func randomText(rng *rand.Rand, t ArgType) string {
	if t == ArgName {
		return randomName(rng)
	}
	return []string{"a", "7-", "users/42/wallet", "Z:x@y.z+1", strings.Repeat("b", MaxClassCode)}[rng.IntN(5)]
}

// setTexts sets the string arguments of an operation.
func setTexts(op *Op, texts map[int]string) {
	var list []string
	for i := range op.Kind.Args() {
		if op.texts()&(1<<i) != 0 {
			list = append(list, texts[i])
		}
	}
	op.Name = strings.Join(list, "\n")
}

// nameSome replaces some integers with names.
func nameSome(rng *rand.Rand, op *Op) {
	texts := map[int]string{}
	for i := range op.Kind.Args() {
		texts[i] = op.Text(i)
	}
	for i, a := range op.Kind.Args() {
		if bit := uint16(1) << i; nameArgs[op.Kind]&op.Has&bit != 0 && rng.IntN(4) == 0 {
			op.Ref |= bit
			op.Args[i], texts[i] = 0, randomText(rng, a.Type)
		}
	}
	setTexts(op, texts)
}

// randomOp returns a well-formed operation that the ledger might have accepted,
// after the given number of mints.
func randomOp(rng *rand.Rand, mints int) Op {
	for {
		k := OpKinds()[rng.IntN(NumOpKinds-1)]
		op := Op{Kind: k}
		texts := map[int]string{}
		for i, a := range k.Args() {
			if !a.Required && rng.IntN(2) == 0 || a.Type == ArgNewID && rng.IntN(3) == 0 {
				continue
			}
			op.Has |= 1 << i
			r := recordRanges[a.Type]
			op.Args[i] = min(r.max, r.min+rng.Int64N(200))
			switch {
			case rng.IntN(8) == 0:
				op.Args[i] = r.max
			case a.Type == ArgRotation:
				op.Args[i] = 90 * rng.Int64N(2)
			}
			if textArgs[k]&(1<<i) != 0 {
				texts[i], op.Args[i] = randomText(rng, a.Type), 0
			}
			if nullable[k]&(1<<i) != 0 && rng.IntN(3) == 0 {
				op.Null |= 1 << i
				op.Args[i] = 0
			}
			if a.Type == ArgInstance && mints > 0 && rng.IntN(2) == 0 {
				op.Ref |= 1 << i
				op.Args[i] = rng.Int64N(int64(mints))
			}
		}
		setTexts(&op, texts)
		var p requestParser
		if p.op = 0; p.checkArguments(&op) {
			return op
		}
	}
}

func randomOps(rng *rand.Rand) (ops []Op) {
	mints := 0
	for range 1 + rng.IntN(6) {
		ops = append(ops, randomOp(rng, mints))
		if ops[len(ops)-1].Kind == MintInstance {
			mints++
		}
	}
	return ops
}

func TestAppendOperationsIsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	seen := map[OpKind]bool{}
	for range 3000 {
		ops := randomOps(rng)
		for i := range ops {
			nameSome(rng, &ops[i])
		}
		text := AppendOperations(nil, ops)
		var tx Transaction
		err := ParseTransaction([]byte(`{"operations":`+string(text)+`}`), &tx, ParseLimits{Conditions: true})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for i := range ops {
			seen[ops[i].Kind] = true
			if tx.Ops[i] != ops[i] {
				t.Fatalf("%s: %+v, want %+v", text, tx.Ops[i], ops[i])
			}
		}
	}
	if len(seen) != NumOpKinds-1 {
		t.Errorf("%d kinds were generated, want %d", len(seen), NumOpKinds-1)
	}
}

func TestAppendOperationsAsSent(t *testing.T) {
	sent := `[{"op":"CreateContainer","args":{"container_id":1,"kind":"Slots","owner":null,"slot_count":3}},` +
		`{"op":"MintInstance","args":{"class_id":2,"container_id":1,"slot_index":0}},` +
		`{"op":"Attach","args":{"instance_id":{"minted":0},"parent_id":7}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"<gold>","fungible":true}}},` +
		`{"op":"RegisterClassShape","args":{"request":{"class_id":1,"key":null,"width":1,"height":2}}}]`
	tx, err := parseOne(`{"operations":` + sent + `}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(AppendOperations(nil, tx.Ops)); got != sent {
		t.Errorf("%s, want %s", got, sent)
	}
}

func TestEncodingAllocatesNothing(t *testing.T) {
	tx, err := parseOne(keyedTransfer)
	if err != nil {
		t.Fatal(err)
	}
	refusal := Errorf(SlotOccupied, "occupied").With(Num("slot_index", 1)).At(3)
	dst := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		dst = AppendResult(dst[:0], &tx, 1, 2, 3, 4)
		dst = AppendOperations(dst, tx.Ops)
		dst = refusal.AppendJSON(dst)
		dst = AppendRecord(dst, &tx, &Outcome{})
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
