package ledger

import "bytes"

// Fields of a transaction, in the order of transactionFields.
const (
	fieldOperations = iota
	fieldKey
	fieldMetadata
	fieldReverses
)

var transactionFields = fieldNames("operations", "idempotency_key", "metadata", "reverses")

// transaction reads a transaction object, whose nesting level is level. It appends
// the operations to p.ops; they become tx.Ops.
func (p *requestParser) transaction(tx *Transaction, level int) bool {
	p.op = NoOperation
	field := "body"
	if level > 1 {
		field = "transactions" // one of a batch
	}
	if !p.enter('{', level, field, "a JSON object with the field operations") {
		return false
	}
	first := len(p.ops)
	seen, ok := p.fields(transactionFields, func(i int) bool {
		switch i {
		case fieldOperations:
			return p.operations(level + 1)
		case fieldKey:
			return p.key(tx)
		case fieldReverses:
			return p.reverses(tx)
		default:
			return p.metadata(tx, level+1)
		}
	})
	if !ok {
		return false
	}
	if seen&(1<<fieldOperations) == 0 {
		return p.invalid("operations", "operations is missing: a transaction has 1 to %d operations", MaxOperations)
	}
	tx.Ops = p.ops[first:len(p.ops):len(p.ops)]
	if !p.conditions && onlyConditions(tx.Ops) {
		return p.invalid("operations", "operations has only conditions, which change nothing: a commit needs an operation that changes something; a preflight does not")
	}
	p.seal(tx)
	return true
}

func onlyConditions(ops []Op) bool {
	for i := range ops {
		if !ops[i].Kind.IsCondition() {
			return false
		}
	}
	return true
}

// operations reads the array of operations.
func (p *requestParser) operations(level int) bool {
	const what = "an array of 1 to 10000 operations"
	if !p.enter('[', level, "operations", what) {
		return false
	}
	p.mints = 0
	n := 0
	for ; p.more(']', n == 0); n++ {
		if n == MaxOperations {
			return p.invalid("operations", "operations must be %s", what)
		}
		p.op = n
		if !p.operation(level + 1) {
			return false
		}
		p.op = NoOperation
	}
	if p.err == nil && n == 0 {
		return p.invalid("operations", "operations must be %s", what)
	}
	return p.err == nil
}

// registration reads the body of a registration: the arguments of the one
// operation, with idempotency_key and metadata next to them.
func (p *requestParser) registration(tx *Transaction) bool {
	kind := RegisterClass
	if tx.Endpoint == EndpointRegisterShape {
		kind = RegisterClassShape
	}
	if !p.enter('{', 1, "body", "the request of "+kind.String()+": a JSON object") {
		return false
	}
	p.ops = append(p.ops, Op{Kind: kind})
	op := &p.ops[0]
	own := len(kind.Args())
	p.op = 0
	p.texts = p.texts[:0]
	_, ok := p.fields(registrationFields[kind], func(i int) bool {
		if i < own {
			return p.argument(op, i, 2)
		}
		p.op = NoOperation // the fault is not in the operation
		ok := i == own && p.key(tx) || i > own && p.metadata(tx, 2)
		p.op = 0
		return ok
	})
	if !ok || !p.checkArguments(op) {
		return false
	}
	tx.Ops = p.ops
	p.seal(tx)
	return true
}

var registrationFields = [NumOpKinds][]fieldName{
	RegisterClass:      append(argumentFields(RegisterClass), transactionFields[fieldKey:fieldReverses]...),
	RegisterClassShape: append(argumentFields(RegisterClassShape), transactionFields[fieldKey:fieldReverses]...),
}

// key reads the idempotency key.
func (p *requestParser) key(tx *Transaction) bool {
	raw, escaped, ok := p.str()
	if ok && escaped {
		raw = p.keep(func(dst []byte) []byte { return appendUnescaped(dst, raw) })
	}
	if !ok || !ValidIdempotencyKey(raw) {
		return p.invalid("idempotency_key", "idempotency_key must be a string of 1 to %d bytes of printable ASCII", MaxKeyLength)
	}
	tx.Key = raw
	return true
}

// keep calls a function that appends to the arena, and returns the bytes that it
// added. A growing arena moves, but what was kept before stays valid where it is.
func (p *requestParser) keep(appending func([]byte) []byte) []byte {
	start := len(p.arena)
	p.arena = appending(p.arena)
	return p.arena[start:len(p.arena):len(p.arena)]
}

// metadata reads the metadata, whose nesting level is level.
func (p *requestParser) metadata(tx *Transaction, level int) bool {
	if !p.enter('{', level, "metadata", "a JSON object") {
		return false
	}
	start, spaces, names := p.pos-1, p.spaces, len(p.names)
	for begin := true; p.more('}', begin); begin = false {
		if !p.pushName() {
			return false
		}
		if bytes.Equal(p.name(p.names[len(p.names)-1]), []byte("idempotency_key")) {
			return p.invalid("metadata", "metadata must not have a field named idempotency_key")
		}
		if !p.skip(level + 1) {
			return false
		}
	}
	if p.err != nil || !p.popNames(names) {
		return false
	}
	spaces = p.spaces - spaces
	tx.Metadata = p.data[start:p.pos:p.pos]
	if len(tx.Metadata)-spaces > MaxMetadata {
		return p.invalid("metadata", "metadata must be at most %d bytes of JSON without whitespace, not %d",
			MaxMetadata, len(tx.Metadata)-spaces)
	}
	if spaces > 0 {
		tx.Metadata = p.keep(func(dst []byte) []byte { return appendCompact(dst, tx.Metadata) })
	}
	return true
}

// reverses reads the global_seq of the commit that the transaction reverses.
func (p *requestParser) reverses(tx *Transaction) bool {
	seq, ok := p.integer()
	if !ok || seq < 1 {
		return p.invalid("reverses", "reverses must be %s: the global_seq of an earlier commit", positive)
	}
	tx.Reverses = uint64(seq)
	return true
}

// ParseReversal reads the body of /v1/commit/{global_seq}/reverse. Otherwise it is
// like ParseTransaction. seq is from the path. The key and Hash are those of the
// request; tx has no operations until Invert determines them.
func ParseReversal(body []byte, seq uint64, tx *Transaction, lim ParseLimits) *Error {
	p := tx.reset(EndpointReverse)
	tx.Reverses = seq
	if p.begin(body, lim) && p.enter('{', 1, "body", "a JSON object, optionally with the fields idempotency_key and metadata") {
		_, ok := p.fields(transactionFields[fieldKey:fieldReverses], func(i int) bool {
			return i == 0 && p.key(tx) || i == 1 && p.metadata(tx, 2)
		})
		if ok {
			p.seal(tx)
		}
	}
	return p.finish()
}
