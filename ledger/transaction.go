package ledger

// Endpoint is the kind of request that a transaction was sent in. The numbers are
// written to the log.
type Endpoint uint8

const (
	EndpointCommit        Endpoint = 0 // /v1/commit, and each transaction of /v1/commit/batch or /v1/commit/stream
	EndpointRegisterClass Endpoint = 1
	EndpointRegisterShape Endpoint = 2
	EndpointReverse       Endpoint = 3 // /v1/commit/{global_seq}/reverse
)

// Limits of a request, fixed by the interface.
const (
	MaxOperations  = 10_000   // operations in one transaction; at least one
	MaxMetadata    = 16 << 10 // bytes of metadata, as compact JSON
	MaxKeyLength   = 255      // bytes of an idempotency key; at least one
	MaxNameLength  = 128      // characters of a class name; at least one
	MaxBatch       = 10_000   // transactions in one batch request
	MaxSlotCount   = 65_536
	MaxSide        = 1024 // cells of a grid's or shape's width and height
	MaxDecimals    = 18
	MaxPeriod      = 315_360_000     // seconds: 3650 days
	MaxTime        = 253_402_300_799 // Unix seconds: the end of the year 9999
	DefaultSlots   = 64
	DefaultSide    = 16
	DefaultNesting = 32 // levels of JSON; the outermost value is level 1
)

// A Transaction is what a client submits: operations that are applied atomically.
// Its byte slices may alias the request body that it was parsed from, or the log.
type Transaction struct {
	// The fields that are read to apply a typical transaction come first, on one cache
	// line.
	Ops      []Op
	Reverses uint64  // global_seq of the commit that it reverses; 0: none
	permit   *Permit // what the sender may do; nil: everything. Not in the record
	Key      []byte  // idempotency key; empty if none was sent

	Metadata  []byte // compact JSON object as sent; empty if none was sent
	Principal []byte // name of the client that sent it; empty without authentication
	Endpoint  Endpoint
	version   byte     // version of the record that it was decoded from; 0: none
	sides     uint8    // 1 + the index in State.ahead of the first of its two sides; see Expect; 0: none
	Hash      [16]byte // of endpoint, operations, metadata, commit reversed and sender; set only when Key is

	inverse *inverse       // what Invert found, or the error of Refuse; only if Reverses is set
	scratch *requestParser // memory that parsing reuses; nil until it is needed
}

// An Outcome holds the decisions that the ledger made when it accepted a transaction:
// everything that does not follow from the operations themselves.
type Outcome struct {
	FirstMinted int64 // lowest instance id that the transaction minted; ids are consecutive
	Minted      int   // number of instances minted
	Decisions   []Decision
	Facts       []Fact
}

// A Decision is, for one operation, a place that first fit found, a quantity
// that a merge or consolidation moved, an id assigned, or what a rename replaced.
type Decision struct {
	Op       int32 // index of the operation
	Placed   bool  // X, Y, Turned are set
	X, Y     uint16
	Turned   bool   // rotation 90
	Quantity int64  // moved
	ID       int64  // assigned to a container or class; 0: none
	Renamed  bool   // Was is set
	Was      string // texts that were replaced, separated by newlines; "" where there was none
}

// Reset empties the outcome for reuse.
func (o *Outcome) Reset() {
	o.FirstMinted, o.Minted, o.Decisions, o.Facts = 0, 0, o.Decisions[:0], o.Facts[:0]
}

// A Record is an accepted transaction as the log keeps it.
type Record struct {
	Out Outcome
	Tx  Transaction
}
