package server

import (
	"io"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
)

// A request is what a handler hands to the sequencer, and where the sequencer
// leaves its verdicts. It belongs to the handler until it is submitted, and
// again when its group is done. Requests are pooled: transactions alias the
// body that they were parsed from, so keep nothing of one.
type request struct {
	ledger.BatchRequest // one transaction, or those of a batch request

	bulk      bool // a batch request
	preflight bool // judge the one transaction and change nothing

	verdicts []verdict // one for each transaction
	atSeq    uint64    // preflight: the last commit that it was judged against
	kept     []byte    // metadata of replayed results
	body     budgetReader
}

// A verdict is what became of one transaction: a refusal, or a result.
type verdict struct {
	err         *ledger.Error
	seq         uint64
	firstMinted int64
	minted      int
	batchSeq    uint32
	replayed    bool // idempotency gave the result of an earlier request
}

// keepMetadata is how much metadata of replayed results a pooled request keeps
// room for, in bytes.
const keepMetadata = 256 << 10

// Requests of one transaction, and batch requests, are pooled apart: what they
// keep for parsing is of very different size.
var (
	singles = sync.Pool{New: func() any { return &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} }}
	bulks   = sync.Pool{New: func() any { return &request{bulk: true} }}
)

// judged makes room for the verdicts.
func (r *request) judged() {
	if cap(r.verdicts) < len(r.Txs) {
		r.verdicts = make([]verdict, len(r.Txs))
	}
	r.verdicts = r.verdicts[:len(r.Txs)]
}

// release gives back what the request holds. Not while it waits in a group.
func (r *request) release() {
	r.body.release()
	clear(r.verdicts) // and with them the refusals
	clear(r.Errs)
	r.preflight, r.atSeq = false, 0
	if r.kept = r.kept[:0]; cap(r.kept) > keepMetadata {
		r.kept = nil
	}
	if r.bulk {
		bulks.Put(r)
	} else {
		singles.Put(r)
	}
}

// A budget bounds the bytes of request bodies that are in memory at a time.
type budget struct {
	used atomic.Int64
	max  int64
}

// A budgetReader reads a body against a budget.
type budgetReader struct {
	io.ReadCloser
	budget *budget
	held   int64
	over   bool // the budget ended the reading
}

// Read reads, and fails when the budget is used up, though never when no other
// request holds anything of it: a body within its own limit can always pass.
func (b *budgetReader) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	used := b.budget.used.Add(int64(n))
	b.held += int64(n)
	if used > b.budget.max && used > b.held {
		b.over = true
		return n, errOverBudget
	}
	return n, err
}

type budgetError struct{}

func (budgetError) Error() string { return "the daemon's memory for requests is used up" }

var errOverBudget error = budgetError{}

// release gives back what was read.
func (b *budgetReader) release() {
	if b.budget != nil {
		b.budget.used.Add(-b.held)
	}
	*b = budgetReader{}
}
