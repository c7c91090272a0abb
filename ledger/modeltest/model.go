// Package modeltest has three parts: a second, slow ledger that tests compare with the
// real one, a generator of random transactions, and a checker of histories.
//
// The main invariant: no rule is shared with the real ledger. The model implements
// every rule again, in code that is easy to check. It uses plain maps and slices,
// stores each fact once, and finds everything else by searching. It paints a grid
// cell by cell for every question about it, searches every container for an
// instance, and adds totals as big integers. Apply copies the whole ledger before each
// transaction, so that a rejection can restore it.
//
// No program imports this package; a test checks that.
package modeltest

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"assetledger/ledger"
)

// A Model is a whole ledger.
type Model struct {
	seq          uint64   // global_seq of the last commit
	nextInstance int64    // the next instance id
	nextAssigned [2]int64 // the next ids that the ledger assigns: for containers, for classes
	containers   map[int64]*container
	classes      map[int64]*class
	instances    map[int64]*instance
	holds        map[int64]*hold
	commits      []commit          // all of them: commit n is commits[n-1]
	reversedBy   map[uint64]uint64 // the commit that reversed each commit
	memory       []Remembered      // of idempotency keys, the oldest first
	memorySize   int

	// Now is the time of the following commits, in Unix nanoseconds.
	Now int64
}

// container is one container; only the fields of its kind are used.
type container struct {
	name             string // "": none
	kind             ledger.ContainerKind
	owner            int64 // 0: none
	created, updated uint64
	stacks           map[ledger.StackKey]int64 // Standard, Grid: quantity, never 0
	slotCount        int64
	slots            map[int64]int64 // slot index to instance
	width, height    int64           // of a Grid
	things           []thing         // of a Grid, in no particular order
}

// thing is a rectangle in a grid: a stack, or, if instance is not 0, an instance.
type thing struct {
	x, y, w, h int64 // cells, as placed
	turned     bool
	stack      ledger.StackKey
	instance   int64
}

// class is a registered class with its shapes and lifetime totals.
type class struct {
	code           string // "": none
	name           string
	fungible       bool
	decimals       int
	registered     uint64
	anyKey         *size          // the shape for keys without one of their own
	byKey          map[int64]size // the shapes for one key
	added, removed *big.Int
	minted, burned int64
}

type size struct{ w, h int64 }

// instance describes an instance. Its place is found by searching every
// container. Only an attachment is stored here.
type instance struct {
	class, key int64
	minted     uint64
	parent     int64 // 0: not attached
}

// New returns an empty ledger. The argument keys is the number of idempotency keys that
// it remembers.
func New(keys int) *Model {
	return &Model{nextInstance: 1, nextAssigned: [2]int64{ledger.FirstAssigned, ledger.FirstAssigned}, memorySize: keys,
		containers: map[int64]*container{}, classes: map[int64]*class{}, instances: map[int64]*instance{},
		holds: map[int64]*hold{}, reversedBy: map[uint64]uint64{}}
}

// Seq returns the global_seq of the last commit, 0 at first.
func (m *Model) Seq() uint64 { return m.seq }

// Copy returns a copy of m. The two share only what never changes.
func (m *Model) Copy() *Model {
	c := *m
	c.containers = map[int64]*container{}
	for id, old := range m.containers {
		dup := *old
		dup.stacks, dup.slots, dup.things = maps.Clone(old.stacks), maps.Clone(old.slots), slices.Clone(old.things)
		c.containers[id] = &dup
	}
	c.classes = map[int64]*class{}
	for id, old := range m.classes {
		dup := *old
		dup.byKey = maps.Clone(old.byKey)
		dup.added, dup.removed = new(big.Int).Set(old.added), new(big.Int).Set(old.removed)
		c.classes[id] = &dup
	}
	c.instances = map[int64]*instance{}
	for id, old := range m.instances {
		dup := *old
		c.instances[id] = &dup
	}
	c.holds = map[int64]*hold{}
	for id, old := range m.holds {
		dup := *old
		c.holds[id] = &dup
	}
	c.commits = slices.Clip(m.commits) // a commit never changes
	c.reversedBy = maps.Clone(m.reversedBy)
	c.memory = slices.Clone(m.memory)
	return &c
}

// A Refusal is the reason why a transaction was rejected.
type Refusal struct {
	Code    ledger.Code
	Op      int            // index of the operation at fault
	Kind    ledger.OpKind  // of the operation at fault, see Refusals
	Details map[string]any // those that the error must have, int64 or string; it may have more; nil if none
}

// Error returns the code, the operation and the details on one line.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s at operation %d %v", r.Code, r.Op, r.Details)
}

// Apply checks tx and applies it as commit Seq()+1. A rejected transaction
// changes nothing. tx must be a transaction that the request parser accepts.
func (m *Model) Apply(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	before := m.Copy()
	out, refusal := m.applyHere(tx)
	if refusal != nil {
		*m = *before
	}
	return out, refusal
}

// applyHere is like Apply, but without a copy. After a rejection the model is
// unusable.
func (m *Model) applyHere(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	r := &run{m: m, seq: m.seq + 1, permit: tx.Permit()}
	ops, refusal := r.begin(tx)
	if refusal != nil {
		return ledger.Outcome{}, refusal
	}
	for i := range ops {
		r.index = i
		if refusal := r.try(&ops[i]); refusal != nil {
			if r.back != nil && r.permit.Limited() && refusal.Code == ledger.Forbidden {
				refusal.Op = ledger.NoOperation // the error must not tell which operation was forbidden
				refusal.Details = map[string]any{"global_seq": int64(tx.Reverses)}
			}
			return ledger.Outcome{}, refusal
		}
	}
	if refusal := r.finish(); refusal != nil {
		return ledger.Outcome{}, refusal
	}
	out := ledger.Outcome{Minted: len(r.minted), Decisions: r.decisions}
	if len(r.minted) > 0 {
		out.FirstMinted = r.minted[0]
		r.done.first = r.minted[0]
	}
	m.seq++
	m.commits = append(m.commits, r.done)
	return out, nil
}

// Preflight returns what Apply would return, and changes nothing.
func (m *Model) Preflight(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	return m.Copy().Apply(tx)
}

// run is one transaction in progress.
type run struct {
	m         *Model
	seq       uint64 // global_seq if it is accepted
	index     int    // index of the current operation
	kind      ledger.OpKind
	minted    []int64
	decisions []ledger.Decision
	permit    *ledger.Permit
	freed     map[int64]int // instances that have been left without a location, and the last operation that left them so
	back      *commit       // commit to reverse, or nil
	done      commit        // its effects so far
}

// try runs one operation. The operation makes its checks in the order that the API
// documents. A check that fails panics.
func (r *run) try(asked *ledger.Op) (refusal *Refusal) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Refusal:
			refusal = p
		default:
			panic(p)
		}
	}()
	op := *asked
	r.kind = op.Kind
	r.unchanged()
	r.mayDo(op.Kind)
	r.done.steps = append(r.done.steps, step{})
	r.operation(&op)
	r.done.ops = append(r.done.ops, meant(op))
	return nil
}

// detail is one value that an error must name.
type detail struct {
	name  string
	value any // int64 or string
}

// check rejects the transaction with the given code unless ok is true.
func (r *run) check(ok bool, code ledger.Code, details ...detail) {
	if ok {
		return
	}
	refusal := &Refusal{Code: code, Op: r.index, Kind: r.kind}
	for _, d := range details {
		if refusal.Details == nil {
			refusal.Details = map[string]any{}
		}
		refusal.Details[d.name] = d.value
	}
	panic(refusal)
}

func (r *run) operation(op *ledger.Op) {
	do, ok := operations[op.Kind]
	if !ok {
		panic(fmt.Sprintf("modeltest: operation of kind %d", op.Kind))
	}
	do(r, op)
}

var operations = map[ledger.OpKind]func(*run, *ledger.Op){
	ledger.CreateContainer:    (*run).createContainer,
	ledger.RemoveContainer:    (*run).removeContainer,
	ledger.AddFungible:        (*run).addFungible,
	ledger.RemoveFungible:     (*run).removeFungible,
	ledger.TransferFungible:   (*run).transferFungible,
	ledger.MergeStacks:        (*run).mergeStacks,
	ledger.ConsolidateStacks:  (*run).consolidateStacks,
	ledger.MintInstance:       (*run).mintInstance,
	ledger.BurnInstance:       (*run).burnInstance,
	ledger.Attach:             (*run).attach,
	ledger.Detach:             (*run).detach,
	ledger.PlaceInSlot:        (*run).placeInSlot,
	ledger.RemoveFromSlot:     (*run).removeFromSlot,
	ledger.SwapSlots:          (*run).swapSlots,
	ledger.PlaceInGrid:        (*run).placeInGrid,
	ledger.RemoveFromGrid:     (*run).removeFromGrid,
	ledger.MoveInGrid:         (*run).moveInGrid,
	ledger.RegisterClass:      (*run).registerClass,
	ledger.RegisterClassShape: (*run).registerClassShape,
	ledger.RenameContainer:    (*run).renameContainer,
	ledger.RenameClass:        (*run).renameClass,
	ledger.RequireBalance:     (*run).requireBalance,
	ledger.RequireUnchanged:   (*run).requireUnchanged,
	ledger.RequireInstance:    (*run).requireInstance,
	ledger.HoldFungible:       (*run).holdFungible,
	ledger.SettleHold:         (*run).settleHold,
	ledger.ReleaseHold:        (*run).releaseHold,
	ledger.SplitStack:         (*run).splitStack,
}

// instance finds the instance that argument i names, by id or as one minted
// earlier in the same transaction.
func (r *run) instance(op *ledger.Op, i int) (int64, *instance) {
	id := op.Args[i]
	if op.Ref&(1<<i) != 0 {
		id = r.minted[id]
	}
	found := r.m.instances[id]
	r.check(!r.permit.Limited() || found != nil && r.reaches(id), ledger.Forbidden, detail{op.Kind.Args()[i].Name, id})
	r.check(found != nil, ledger.InstanceNotFound, detail{op.Kind.Args()[i].Name, id})
	return id, found
}

// touch sets the updated_seq of containers to the current commit.
func (r *run) touch(cs ...*container) {
	for _, c := range cs {
		c.updated = r.seq
	}
}

// moved records the quantity that a merge or consolidation moved.
func (r *run) moved(quantity int64) {
	r.decisions = append(r.decisions, ledger.Decision{Op: int32(r.index), Quantity: quantity})
}

func (r *run) createContainer(op *ledger.Op) {
	c := &container{kind: ledger.ContainerKind(op.Args[ledger.CreateKind]), owner: op.Get(ledger.CreateOwner, 0), created: r.seq}
	c.name = op.Text(ledger.CreateName)
	there := r.m.containers[op.Args[ledger.CreateContainerID]]
	asked := detail{"container_id", op.Args[ledger.CreateContainerID]}
	if !op.Given(ledger.CreateContainerID) {
		there, asked = nil, detail{"name", c.name}
	}
	r.check(r.ours(c.owner) && (there == nil || r.ours(there.owner)), ledger.Forbidden, asked)
	r.check(there == nil, ledger.ContainerAlreadyExists, asked)
	r.freeName(c.name, nil)
	switch c.kind {
	case ledger.Standard:
		c.stacks = map[ledger.StackKey]int64{}
	case ledger.Slots:
		c.slotCount = op.Get(ledger.CreateSlotCount, 64)
		c.slots = map[int64]int64{}
	case ledger.Grid:
		c.width = op.Get(ledger.CreateGridWidth, 16)
		c.height = op.Get(ledger.CreateGridHeight, 16)
		c.stacks = map[ledger.StackKey]int64{}
	}
	if !op.Given(ledger.CreateContainerID) {
		r.assign(op, 0, func(id int64) bool { return r.m.containers[id] != nil })
	}
	id, seq := op.Args[ledger.CreateContainerID], r.seq
	r.m.containers[id] = c
	r.touch(c)
	r.takenBack(newOp(ledger.RemoveContainer).add(0, id), func(m *Model) bool {
		return m.containers[id] != nil && m.containers[id].created == seq
	})
}

func (r *run) removeContainer(op *ledger.Op) {
	c := r.container(op, ledger.CreateContainerID)
	id := op.Args[ledger.CreateContainerID]
	r.check(len(c.stacks) == 0 && len(c.slots) == 0 && len(c.things) == 0, ledger.ContainerNotEmpty, detail{"container_id", id})
	delete(r.m.containers, id)
	r.final()
}

func (r *run) registerClass(op *ledger.Op) {
	id, code := op.Args[ledger.ClassID], op.Text(ledger.ClassCode)
	asked := detail{"class_id", id}
	if !op.Given(ledger.ClassID) {
		asked = detail{"code", code}
	}
	r.mayRegister(asked)
	r.check(!op.Given(ledger.ClassID) || r.m.classes[id] == nil, ledger.ClassAlreadyExists, asked)
	r.freeCode(code, nil)
	if !op.Given(ledger.ClassID) {
		r.assign(op, 1, func(id int64) bool { return r.m.classes[id] != nil })
	}
	r.m.classes[op.Args[ledger.ClassID]] = &class{
		code:       code,
		name:       op.Text(ledger.ClassName),
		fungible:   op.Get(ledger.ClassFungible, 1) == 1,
		decimals:   int(op.Get(ledger.ClassDecimals, 0)),
		registered: r.seq,
		byKey:      map[int64]size{},
		added:      new(big.Int),
		removed:    new(big.Int),
	}
	r.final()
}

func (r *run) registerClassShape(op *ledger.Op) {
	_, asked := r.classID(op, ledger.ShapeClass)
	r.mayRegister(asked)
	cl := r.class(op, ledger.ShapeClass)
	id := op.Args[ledger.ShapeClass]
	shape := size{op.Args[ledger.ShapeWidth], op.Args[ledger.ShapeHeight]}
	r.final()
	if !op.Given(ledger.ShapeKey) {
		r.check(cl.anyKey == nil, ledger.ShapeAlreadyExists, detail{"class_id", id})
		cl.anyKey = &shape
		return
	}
	key := op.Args[ledger.ShapeKey]
	_, exists := cl.byKey[key]
	r.check(!exists, ledger.ShapeAlreadyExists, detail{"class_id", id}, detail{"key", key})
	cl.byKey[key] = shape
}
