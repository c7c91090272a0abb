package writer

import (
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A request carries transactions from a handler to the sequencer, and the
// verdicts back. The handler owns it until it is submitted, and again when its
// group is done. Requests are pooled, and their transactions alias the body that
// they were parsed from, so don't keep any part of one.
type request struct {
	ledger.BatchRequest // one transaction, or those of a batch request

	bulk      bool // a batch request
	preflight bool // judge the one transaction and change nothing
	// alive reports whether the client still waits for the response; nil: it does.
	// The sequencer calls it between two turns.
	alive func() bool
	// lane is where the request waits for its turns: that of its stream, or one
	// that it gets on submission. Small requests have none.
	lane *lane

	next int // transactions that are judged

	verdicts []verdict // one for each transaction
	atSeq    uint64    // preflight: the last commit that it was judged against
	kept     []byte    // metadata of replayed results
}

// A verdict is the outcome of one transaction: an error, or a result.
type verdict struct {
	err         *ledger.Error
	seq         uint64
	firstMinted int64
	minted      int
	batchSeq    uint32
	replayed    bool // the result of an earlier request with the same key
	long        bool // and only the hash of its metadata is known
	spelling    ledger.Spelling
}

// keep copies the metadata of a replayed result.
func (r *request) keep(metadata []byte) []byte {
	at := len(r.kept)
	r.kept = append(r.kept, metadata...)
	return r.kept[at:len(r.kept):len(r.kept)]
}

// keepMetadata is the most bytes for metadata of replayed results that a pooled
// request keeps.
const keepMetadata = 256 << 10

// keepOps is the most operations that a pooled request of one transaction keeps
// room for while the daemon is crowded.
const keepOps = 512

// Requests of one transaction and batch requests have separate pools, because
// their buffers for parsing are of very different size.
var (
	singles = sync.Pool{New: func() any { return &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} }}
	bulks   = sync.Pool{New: func() any { return &request{bulk: true} }}
)

// small reports whether the request may share a group with others: it has one
// transaction whose cost is surely low.
func (r *request) small() bool {
	return !r.bulk && operationCost(r.Txs[0].Ops, turnCheck+1) <= turnCheck
}

// halted reports whether the request, or an earlier one of its stream, has
// failed and on_error is stop.
func (r *request) halted() bool { return r.StopOnError && r.lane.failed }

// judged makes room for the verdicts.
func (r *request) judged() {
	r.next = 0
	if cap(r.verdicts) < len(r.Txs) {
		r.verdicts = make([]verdict, len(r.Txs))
	}
	r.verdicts = r.verdicts[:len(r.Txs)]
}

// release returns the request to its pool; large memory is left to the collector
// if the daemon is crowded. Don't call it while the request waits in a group.
func (r *request) release(crowded bool) {
	r.clear()
	switch {
	case crowded && (r.bulk || len(r.Txs[0].Ops) > keepOps):
	case r.bulk:
		bulks.Put(r)
	default:
		singles.Put(r)
	}
}

// clear drops the request's references.
func (r *request) clear() {
	clear(r.verdicts) // and with them the errors
	clear(r.Errs)
	r.preflight, r.alive, r.lane, r.atSeq = false, nil, nil, 0
	httpserver.Poison(r.kept)
	if r.kept = r.kept[:0]; cap(r.kept) > keepMetadata {
		r.kept = nil
	}
}
