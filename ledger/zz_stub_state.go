package ledger

// Stubs of the state room; replaced by it.

// State is the whole ledger in memory.
type State struct{ _ int }

// Config of a state.
type Config struct {
	IdempotencyKeys int // how many keyed commits are remembered; 0: none
}

// NewState makes the empty ledger.
func NewState(c Config) *State { panic("stub") }

// Seq is the global_seq of the last commit applied, 0 at first.
func (s *State) Seq() uint64 { panic("stub") }

// Digest covers everything that reads can show.
func (s *State) Digest() uint64 { panic("stub") }

// Apply checks and applies tx as commit Seq()+1, filling out. On an error the state is unchanged.
func (s *State) Apply(tx *Transaction, out *Outcome) *Error { panic("stub") }

// Undo takes the last Apply back; only directly after it.
func (s *State) Undo() { panic("stub") }

// Replay applies a record of the log and compares the ledger's decisions with its own (DivergenceError).
func (s *State) Replay(rec *Record, batchSeq uint32) error { panic("stub") }

// A Remembered is the first result of an idempotency key.
type Remembered struct {
	Endpoint    Endpoint
	Hash        [16]byte
	Seq         uint64
	BatchSeq    uint32
	FirstMinted int64
	Minted      int
	Metadata    []byte // valid until the next change of the state
}

// Remember keeps tx's result under its key, forgetting the oldest when full. No key: no effect.
func (s *State) Remember(tx *Transaction, out *Outcome, seq uint64, batchSeq uint32) { panic("stub") }

// Recall looks a key up.
func (s *State) Recall(key []byte) (Remembered, bool) { panic("stub") }

// Container, 404 ContainerNotFound.
func (s *State) Container(id int64) (ContainerInfo, *Error) { panic("stub") }

// BalanceFilter narrows Balances: nil fields match all.
type BalanceFilter struct{ ClassID, Key *int64 }

// StackKey orders the stacks of a container.
type StackKey struct{ ClassID, Key int64 }

// Balances appends up to limit stacks after the given one (nil: from the first) by class_id, then key;
// more says that there are further ones.
func (s *State) Balances(dst []Balance, id int64, f BalanceFilter, after *StackKey, limit int) (out []Balance, more bool, err *Error) {
	panic("stub")
}

// SlotEntries appends up to limit occupied slots with an index above after (-1: all).
func (s *State) SlotEntries(dst []SlotEntry, id int64, after int, limit int) (out []SlotEntry, more bool, err *Error) {
	panic("stub")
}

// Cell is a grid cell.
type Cell struct{ X, Y int }

// Placements appends up to limit placements by y, then x, after the given anchor, that touch region (nil: all).
func (s *State) Placements(dst []Placement, id int64, region *Rect, after *Cell, limit int) (out []Placement, more bool, err *Error) {
	panic("stub")
}

// Class, 404 ClassNotFound.
func (s *State) Class(id int64) (ClassInfo, *Error) { panic("stub") }

// Classes appends classes with id above after, by id.
func (s *State) Classes(dst []ClassInfo, after int64, limit int) (out []ClassInfo, more bool) {
	panic("stub")
}

// Shapes of a class, the null key first, then by key.
func (s *State) Shapes(dst []ShapeInfo, class int64) ([]ShapeInfo, *Error) { panic("stub") }

// Stats of a class.
func (s *State) Stats(class int64) (ClassStats, *Error) { panic("stub") }

// Instance, 404 InstanceNotFound. Children by id.
func (s *State) Instance(id int64) (InstanceInfo, *Error) { panic("stub") }

// ContainerFilter narrows Containers: zero fields match all.
type ContainerFilter struct {
	Owner int64
	Kind  ContainerKind
}

// Containers appends containers with id above after, by id.
func (s *State) Containers(dst []ContainerInfo, f ContainerFilter, after int64, limit int) (out []ContainerInfo, more bool) {
	panic("stub")
}
