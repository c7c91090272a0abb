package writer

import (
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A request is what a handler hands to the sequencer, and where the sequencer
// leaves its verdicts. It belongs to the handler until it is submitted, and
// again when its group is done. Requests are pooled: transactions alias the
// body that they were parsed from, so keep nothing of one.
type request struct {
	ledger.BatchRequest // one transaction, or those of a batch request

	bulk      bool // a batch request
	preflight bool // judge the one transaction and change nothing
	// alive reports whether anyone still waits for the answer; nil: someone
	// does. The sequencer asks between two turns.
	alive func() bool
	// lane is where it waits for its turns: that of its stream, or one that it
	// gets when it is submitted. Small requests have none.
	lane *lane

	next int // transactions that are judged

	verdicts []verdict // one for each transaction
	atSeq    uint64    // preflight: the last commit that it was judged against
	kept     []byte    // metadata of replayed results
}

// A verdict is what became of one transaction: a refusal, or a result.
type verdict struct {
	err         *ledger.Error
	seq         uint64
	firstMinted int64
	minted      int
	batchSeq    uint32
	replayed    bool // idempotency gave the result of an earlier request
	long        bool // and the metadata that it had is not known but by its spelling
	spelling    ledger.Spelling
}

// keep copies metadata of a replayed result.
func (r *request) keep(metadata []byte) []byte {
	at := len(r.kept)
	r.kept = append(r.kept, metadata...)
	return r.kept[at:len(r.kept):len(r.kept)]
}

// keepMetadata is how much metadata of replayed results a pooled request keeps
// room for, in bytes.
const keepMetadata = 256 << 10

// keepOps is how many operations a pooled request of one transaction keeps room
// for when the daemon is crowded.
const keepOps = 512

// Requests of one transaction, and batch requests, are pooled apart: what they
// keep for parsing is of very different size.
var (
	singles = sync.Pool{New: func() any { return &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} }}
	bulks   = sync.Pool{New: func() any { return &request{bulk: true} }}
)

// small reports whether the request may share a group with others: it is of one
// transaction that surely costs little.
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

// release gives back what the request holds; large memory goes to the
// collector if the daemon is crowded. Not while it waits in a group.
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

// clear lets go of what the request refers to.
func (r *request) clear() {
	clear(r.verdicts) // and with them the refusals
	clear(r.Errs)
	r.preflight, r.alive, r.lane, r.atSeq = false, nil, nil, 0
	httpserver.Poison(r.kept)
	if r.kept = r.kept[:0]; cap(r.kept) > keepMetadata {
		r.kept = nil
	}
}
