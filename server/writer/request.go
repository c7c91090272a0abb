package writer

import (
	"sync"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A request carries transactions from a handler to the sequencer, and the verdicts
// back. The handler owns it until it is submitted, and again when its group is
// done. Requests are pooled, and their transactions alias the body that they were
// parsed from. So no part of a request may be kept after its release.
type request struct {
	ledger.BatchRequest // one transaction, or those of a batch request or a block of a stream

	bulk      bool // a batch request, or a block of a stream
	preflight bool // judge the one transaction, and change nothing
	reversal  bool // its handler reads the commit that the transaction reverses
	// alive reports whether the client still waits for the response. If it is nil,
	// the client is assumed to wait. The sequencer calls it at the start of each
	// turn, and whenever it checks the clock.
	alive func() bool
	// lane is the lane in which the request waits for its turns: that of its
	// stream, or one that it gets on submission. Small requests have none.
	lane *lane

	next int // number of transactions judged so far

	verdicts []verdict // one for each transaction
	atSeq    uint64    // for a preflight: the last commit that it was judged against
	kept     []byte    // metadata of replayed results
	read     []byte    // metadata that readBack read last

	took time.Duration // time from its submission until its verdicts may be sent
}

// A verdict is the outcome of one transaction: an error, or a result.
type verdict struct {
	err         *ledger.Error
	seq         uint64
	firstMinted int64
	minted      int
	batchSeq    uint32
	replayed    bool // the result is that of an earlier request with the same idempotency key
	long        bool // replayed, and only the hash of the metadata is known
	spelling    ledger.Spelling
}

// keep copies the metadata of a replayed result.
func (r *request) keep(metadata []byte) []byte {
	at := len(r.kept)
	r.kept = append(r.kept, metadata...)
	return r.kept[at:len(r.kept):len(r.kept)]
}

// keepMetadata is the maximum number of bytes of replayed metadata for which a
// pooled request keeps room.
const keepMetadata = 256 << 10

// keepOps is the maximum number of operations for which a pooled request of one
// transaction keeps room while the daemon is crowded.
const keepOps = 512

// Requests of one transaction and batch requests have separate pools, because the
// sizes of their parse buffers are very different.
var (
	singles = sync.Pool{New: func() any { return &request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}} }}
	bulks   = sync.Pool{New: func() any { return &request{bulk: true} }}
)

// small reports whether the request may share a group with others: it has one
// transaction, whose cost is certainly low.
func (r *request) small() bool {
	return !r.bulk && operationCost(r.Txs[0].Ops, turnCheck+1) <= turnCheck
}

// halted reports whether the request, or an earlier one of its stream, has
// failed and on_error is stop.
func (r *request) halted() bool { return r.StopOnError && r.lane.failed }

// judged prepares the request for the sequencer, and makes room for its verdicts.
func (r *request) judged() {
	r.next = 0
	if cap(r.verdicts) < len(r.Txs) {
		r.verdicts = make([]verdict, len(r.Txs))
	}
	r.verdicts = r.verdicts[:len(r.Txs)]
}

// release returns the request to its pool, unless the daemon is crowded and the
// request may have large buffers. It must not be called while the request waits in a
// group.
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
	clear(r.verdicts) // also drops their errors
	clear(r.Errs)
	r.preflight, r.alive, r.lane, r.atSeq = false, nil, nil, 0
	httpserver.Poison(r.kept)
	httpserver.Poison(r.read)
	if r.kept = r.kept[:0]; cap(r.kept) > keepMetadata {
		r.kept = nil
	}
}
