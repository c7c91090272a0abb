package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
)

// SetHeaderKey reconciles the values of the header X-Idempotency-Key with the key
// of the body, and sets tx.Key and tx.Hash. The key is then final, but SetSender may
// still change the hash. There are no values if the header is absent.
// Errors: InvalidRequest (not 1 to 255 bytes of printable ASCII),
// IdempotencyKeyMismatch (the header and the body, or two headers, differ).
func (tx *Transaction) SetHeaderKey(values []string) *Error {
	const header = "X-Idempotency-Key"
	for _, v := range values {
		if !ValidIdempotencyKey(v) {
			return Errorf(InvalidRequest, "%s must be 1 to %d bytes of printable ASCII.", header, MaxKeyLength).
				With(Text("field", header))
		}
	}
	for i, v := range values {
		if i > 0 && v != values[0] {
			return Errorf(IdempotencyKeyMismatch, "The header %s is given twice with different keys.", header).
				With(Text("header_key", values[0]), Text("other_header_key", v))
		}
	}
	if len(values) == 0 {
		return nil
	}
	key := values[0]
	if len(tx.Key) > 0 {
		if string(tx.Key) == key {
			return nil
		}
		return Errorf(IdempotencyKeyMismatch, "The header %s and the body's idempotency_key differ.", header).
			With(Text("header_key", key), Text("body_key", string(tx.Key)))
	}
	p := tx.parser()
	tx.Key = p.keep(func(dst []byte) []byte { return append(dst, key...) })
	p.seal(tx)
	return nil
}

// Seal sets tx.Hash from the other fields, if there is a key. The parser and
// SetHeaderKey do this themselves; for a transaction built otherwise, call Seal. Metadata
// must be as a parser leaves it: one compact JSON object, or empty.
func (tx *Transaction) Seal() { tx.parser().seal(tx) }

// seal sets tx.Hash to the first 16 bytes of the SHA-256 of
//
//	u8 endpoint | uvarint number of operations | each operation as in a record,
//	except that an argument given as null counts as absent where both mean the same,
//	and that a name in place of an integer is a string whose bit in Ref is set |
//	metadata in canonical form | if the transaction reverses a commit: u8 0, uvarint
//	global_seq of that commit
//
// Absent metadata and {} are the same. The hash does not depend on the key. It
// is written to the log: the form must never change.
func (p *requestParser) seal(tx *Transaction) {
	if len(tx.Key) == 0 {
		return
	}
	b := append(recycled(p.hashed, keepBytes), byte(tx.Endpoint))
	b = binary.AppendUvarint(b, uint64(len(tx.Ops)))
	for i := range tx.Ops {
		op := &tx.Ops[i]
		if absent := op.Null & absentNull[op.Kind]; absent != 0 {
			plain := *op
			plain.Has, plain.Null = op.Has&^absent, op.Null&^absent
			op = &plain
		}
		b = appendRecordOp(b, op, nil, true)
	}
	if len(tx.Metadata) > 0 && !bytes.Equal(tx.Metadata, []byte("{}")) {
		p.canon.data, p.canon.pos, p.canon.err = tx.Metadata, 0, nil
		p.canon.maxLevel = len(tx.Metadata)
		b = p.canon.value(b)
	}
	if tx.Reverses != 0 {
		b = binary.AppendUvarint(append(b, 0), tx.Reverses)
	}
	sum := sha256.Sum256(b)
	copy(tx.Hash[:], sum[:])
	p.hashed = b
}
