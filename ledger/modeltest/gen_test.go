package modeltest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"assetledger/ledger"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestGenReachesEverything runs the generator against the model alone. Each
// operation must both succeed and fail, and each code of StateCodes must occur.
func TestGenReachesEverything(t *testing.T) {
	accepted, refused := map[ledger.OpKind]int{}, map[ledger.OpKind]int{}
	codes := map[ledger.Code]int{}
	replayed := 0
	for seed := range uint64(4) {
		m := New(20)
		knobs := DefaultKnobs()
		knobs.Permits = 0.25
		g := NewGen(seed, m, knobs)
		for range 2500 {
			tx := g.Next()
			a := m.Submit(&tx, 1)
			switch {
			case a.Replayed:
				replayed++
			case a.Refusal != nil:
				codes[a.Refusal.Code]++
				refused[a.Refusal.Kind]++
			default:
				for _, op := range tx.Ops {
					accepted[op.Kind]++
				}
			}
		}
	}
	for _, k := range Kinds() {
		if accepted[k] == 0 || refused[k] == 0 {
			t.Errorf("%v: accepted %d times, rejected %d times; want both", k, accepted[k], refused[k])
		}
	}
	for _, c := range StateCodes() {
		if codes[c] == 0 {
			t.Errorf("%s never occurred", c)
		}
	}
	if replayed == 0 {
		t.Error("no request was answered from memory")
	}
	t.Logf("codes: %v", codes)
	t.Logf("accepted: %v", accepted)
}

// TestGenIsDeterministic checks that two generators with the same seed generate the same
// transactions.
func TestGenIsDeterministic(t *testing.T) {
	make := func() []ledger.Transaction {
		m := New(20)
		g := NewGen(7, m, DefaultKnobs())
		var txs []ledger.Transaction
		for range 500 {
			tx := g.Next()
			m.Submit(&tx, 1)
			txs = append(txs, tx)
		}
		return txs
	}
	if d := cmp.Diff(make(), make(), cmpopts.IgnoreUnexported(ledger.Transaction{})); d != "" {
		t.Errorf("two runs of one seed differ (-first +second):\n%s", d)
	}
}

// TestBody checks that both forms of a transaction's JSON, plain and shuffled,
// mean the same to encoding/json.
func TestBody(t *testing.T) {
	m := New(20)
	g := NewGen(1, m, DefaultKnobs())
	rng := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		tx := g.Next()
		m.Submit(&tx, 1)
		plain, shuffled := Body(&tx, nil), Body(&tx, rng)
		var a, b any
		if err := json.Unmarshal(plain, &a); err != nil {
			t.Fatalf("%v in %s", err, plain)
		}
		if err := json.Unmarshal(shuffled, &b); err != nil {
			t.Fatalf("%v in %s", err, shuffled)
		}
		if d := cmp.Diff(a, b); d != "" {
			t.Fatalf("the JSON differs (-plain +shuffled):\n%s", d)
		}
	}
	tx := ledger.Transaction{Key: []byte("k"), Metadata: []byte(`{"m":1}`), Ops: []ledger.Op{
		op(ledger.MintInstance, args{"class_id": 2}),
		op(ledger.Attach, args{"ref instance_id": 0, "parent_id": 1}),
		op(ledger.RegisterClass, args{"class_id": 3, "fungible": 0}),
	}}
	want := `{"operations":[{"op":"MintInstance","args":{"class_id":2}},` +
		`{"op":"Attach","args":{"instance_id":{"minted":0},"parent_id":1}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":3,"name":"name","fungible":false}}}],` +
		`"idempotency_key":"k","metadata":{"m":1}}`
	if got := Body(&tx, nil); !bytes.Equal(got, []byte(want)) {
		t.Errorf("body\n%s, want\n%s", got, want)
	}
}
