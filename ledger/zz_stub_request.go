package ledger

// Stubs of the request room; replaced by it.

// Limits on parsing.
type ParseLimits struct{ Nesting int }

// ParseTransaction reads the body of POST /v1/commit and /v1/commit/preflight.
// headerKey is X-Idempotency-Key ("" and hasHeader false when absent). tx is
// reused; its slices alias body.
func ParseTransaction(body []byte, tx *Transaction, lim ParseLimits) *Error { panic("stub") }

// ParseRegistration reads the body of POST /v1/register/class or class-shape.
func ParseRegistration(body []byte, e Endpoint, tx *Transaction, lim ParseLimits) *Error {
	panic("stub")
}

// SetKey reconciles the header X-Idempotency-Key with the key of the body, sets tx.Key and tx.Hash.
func (tx *Transaction) SetHeaderKey(values []string) *Error { panic("stub") }

// BatchRequest is a decoded POST /v1/commit/batch.
type BatchRequest struct {
	StopOnError bool
	Txs         []Transaction
	Errs        []*Error // Errs[i] != nil: transaction i is of the wrong shape
}

// ParseBatch reads the body of POST /v1/commit/batch.
func ParseBatch(body []byte, b *BatchRequest, lim ParseLimits) *Error { panic("stub") }

// AppendError appends {"code":…} (the inner object) for e.
func AppendError(dst []byte, e *Error) []byte { panic("stub") }

// AppendJSON appends {"error":{…}}.
func (e *Error) AppendJSON(dst []byte) []byte { panic("stub") }

// AppendOperations appends the JSON array of operations, as sent, compact.
func AppendOperations(dst []byte, ops []Op) []byte { panic("stub") }

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte { panic("stub") }

// AppendMetadata appends the result's metadata object: md plus idempotency_key.
func AppendMetadata(dst, md, key []byte) []byte { panic("stub") }

// AppendResult appends the commit result {"global_seq",…}. For registrations it
// also has "class" or "shape", made from the transaction's operation.
func AppendResult(dst []byte, tx *Transaction, seq uint64, batchSeq uint32, firstMinted int64, minted int) []byte {
	panic("stub")
}

// ParseOpWords reads one operation as words: "TransferFungible from_container=1 …".
func ParseOpWords(words string) (Op, error) { panic("stub") }

// AppendRecord appends the binary record of an accepted transaction (version 1).
func AppendRecord(dst []byte, tx *Transaction, out *Outcome) []byte { panic("stub") }

// Decode reads a record; r's slices are reused or alias b.
func (r *Record) Decode(b []byte) error { panic("stub") }
