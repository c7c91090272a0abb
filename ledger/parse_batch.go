package ledger

// BatchRequest holds the transactions of a decoded POST /v1/commit/batch, or of lines
// of a stream (see ParseLine). They alias the body or the lines, or memory that the
// BatchRequest keeps for reuse. Their operations are in one array, one after another.
// If that array has to grow, the operations of earlier transactions stay in the old one.
type BatchRequest struct {
	StopOnError bool          // on_error is "stop"
	Txs         []Transaction // in the order of the request
	Errs        []*Error      // Errs[i] != nil: transaction i is malformed, and Txs[i] is empty
	parser      requestParser
}

// Fields of a batch, in the order of batchFields.
const (
	fieldTransactions = iota
	fieldOnError
)

var batchFields = fieldNames("transactions", "on_error")

// ParseBatch reads the body of POST /v1/commit/batch into b, which may be
// reused; its previous content is lost. A malformed transaction fails alone; its
// error is in b.Errs. The returned error is for a body that is not JSON or not a
// batch. After it, b must not be used.
func ParseBatch(body []byte, b *BatchRequest, lim ParseLimits) *Error {
	b.StopOnError, b.Txs, b.Errs = false, b.Txs[:0], b.Errs[:0]
	if b.parser.begin(body, lim) {
		b.parser.makeRoom(body)
		b.parser.batch(b)
	}
	return b.parser.finish()
}

func (p *requestParser) batch(b *BatchRequest) bool {
	if !p.enter('{', 1, "body", "a batch: a JSON object") {
		return false
	}
	seen, ok := p.fields(batchFields, func(i int) bool {
		if i == fieldOnError {
			return p.onError(b)
		}
		return p.transactions(b, 2)
	})
	if ok && seen&(1<<fieldTransactions) == 0 {
		return p.invalid("transactions", "transactions is missing: a batch has 1 to %d transactions", MaxBatch)
	}
	return ok
}

func (p *requestParser) onError(b *BatchRequest) bool {
	mode, ok := p.shortText()
	b.StopOnError = string(mode) == "stop"
	if !ok || !b.StopOnError && string(mode) != "continue" {
		return p.invalid("on_error", `on_error must be "continue" or "stop"`)
	}
	return true
}

// transactions reads the array of transactions.
func (p *requestParser) transactions(b *BatchRequest, level int) bool {
	const what = "an array of 1 to 10000 transactions"
	if !p.enter('[', level, "transactions", what) {
		return false
	}
	for p.more(']', len(b.Txs) == 0) {
		if len(b.Txs) == MaxBatch {
			return p.invalid("transactions", "transactions must be %s", what)
		}
		b.Txs = append(b.Txs, Transaction{})
		fault := p.batchMember(&b.Txs[len(b.Txs)-1], level+1)
		if p.err != nil {
			return false
		}
		b.Errs = append(b.Errs, fault)
	}
	if p.err == nil && len(b.Txs) == 0 {
		return p.invalid("transactions", "transactions must be %s", what)
	}
	return p.err == nil
}

// batchMember reads one transaction of a batch. If it is malformed, it is skipped as
// plain JSON, and the fault is returned. If it is not even JSON, p.err is set.
func (p *requestParser) batchMember(tx *Transaction, level int) *Error {
	start, ops := p.pos, len(p.ops)
	if p.similar(tx, level) {
		return nil
	}
	fault := p.err
	if fault.Code == MalformedJSON {
		return nil
	}
	*tx = Transaction{}
	p.ops = p.ops[:ops]
	p.op = NoOperation
	p.rewind(start)
	p.skip(level)
	return fault
}

// ForgetOperations frees the memory of the operations. Keys and metadata stay.
func (b *BatchRequest) ForgetOperations() {
	for i := range b.Txs {
		b.Txs[i].Ops = nil
	}
	b.parser.ops = nil
}
