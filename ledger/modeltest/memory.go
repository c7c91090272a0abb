package modeltest

import (
	"bytes"
	"encoding/json"
	"reflect"

	"assetledger/ledger"
)

// Remembered is a commit with an idempotency key, and its first result.
type Remembered struct {
	Tx          ledger.Transaction // as first sent
	Seq         uint64
	BatchSeq    uint32
	FirstMinted int64
	Minted      int
	Class       int64 // class that the response to a registration shows
}

// An Answer is the response to a request.
type Answer struct {
	Seq      uint64 // global_seq of the commit; 0 if it was rejected
	BatchSeq uint32
	Out      ledger.Outcome // without decisions if the response is replayed
	Replayed bool
	Refusal  *Refusal
}

// Submit handles tx like a commit request. If the key is remembered, it returns the
// first result, or IdempotencyConflict if the first request was not the same. Otherwise
// it applies tx. It remembers an accepted transaction that has a key.
func (m *Model) Submit(tx *ledger.Transaction, batchSeq uint32) Answer {
	if len(tx.Key) > 0 {
		if old, ok := m.Recall(tx.Key); ok {
			if !Same(&old.Tx, tx) {
				return Answer{Refusal: &Refusal{Code: ledger.IdempotencyConflict, Op: ledger.NoOperation}}
			}
			return Answer{Seq: old.Seq, BatchSeq: old.BatchSeq, Replayed: true,
				Out: ledger.Outcome{FirstMinted: old.FirstMinted, Minted: old.Minted}}
		}
	}
	out, refusal := m.Apply(tx)
	if refusal != nil {
		return Answer{Refusal: refusal}
	}
	m.Remember(tx, out, m.seq, batchSeq)
	return Answer{Seq: m.seq, BatchSeq: batchSeq, Out: out}
}

// Remember stores a commit that has a key, and forgets the oldest one if more than
// memorySize are stored. The transaction must not change afterwards.
func (m *Model) Remember(tx *ledger.Transaction, out ledger.Outcome, seq uint64, batchSeq uint32) {
	if len(tx.Key) == 0 {
		return
	}
	kept := Remembered{Tx: *tx, Seq: seq, BatchSeq: batchSeq, FirstMinted: out.FirstMinted, Minted: out.Minted}
	if tx.Endpoint == ledger.EndpointRegisterClass || tx.Endpoint == ledger.EndpointRegisterShape {
		kept.Class = m.OpsOf(seq)[0].Args[0]
	}
	m.memory = append(m.memory, kept)
	if len(m.memory) > m.memorySize {
		m.memory = m.memory[len(m.memory)-m.memorySize:]
	}
}

// Recall returns the remembered commit with the given key, and whether there is one.
func (m *Model) Recall(key []byte) (Remembered, bool) {
	for _, r := range m.memory {
		if bytes.Equal(r.Tx.Key, key) {
			return r, true
		}
	}
	return Remembered{}, false
}

// Same reports whether two transactions are the same request: from the same
// sender, to the same endpoint, reversing the same commit, with the same operations
// and equal metadata. Null counts as an absent argument where both mean the same. A name
// differs from the id that it stands for. Metadata is compared as JSON values, with
// numbers as spelled.
func Same(a, b *ledger.Transaction) bool {
	if !sameFrame(a, b) || len(a.Ops) != len(b.Ops) {
		return false
	}
	for i := range a.Ops {
		if plain(a.Ops[i]) != plain(b.Ops[i]) {
			return false
		}
	}
	return true
}

// sameFrame compares everything that Same compares, except the operations.
func sameFrame(a, b *ledger.Transaction) bool {
	return a.Endpoint == b.Endpoint && a.Reverses == b.Reverses && bytes.Equal(a.Principal, b.Principal) &&
		reflect.DeepEqual(jsonValue(a.Metadata), jsonValue(b.Metadata))
}

// plain returns an operation without the nulls that mean the same as an absent
// argument.
func plain(op ledger.Op) ledger.Op {
	for i, arg := range op.Kind.Args() {
		if op.Null&(1<<i) != 0 && (arg.Type == ledger.ArgOwner || arg.Type == ledger.ArgShapeKey) {
			op.Has &^= 1 << i
			op.Null &^= 1 << i
		}
	}
	return op
}

// jsonValue decodes metadata. The ledger shows absent metadata as an empty
// object, so the two are the same.
func jsonValue(metadata []byte) any {
	if len(metadata) == 0 {
		return map[string]any{}
	}
	dec := json.NewDecoder(bytes.NewReader(metadata))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		panic("modeltest: metadata is not JSON: " + err.Error())
	}
	return v
}
