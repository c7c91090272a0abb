// Package modeltest is a second, slow ledger for tests to compare the real one
// with, a generator of random transactions, and a checker of histories.
//
// The model is written for being seen to be right: plain maps and slices, one
// fact in one place, everything else found by searching. A grid is painted
// cell by cell whenever it is looked at, an instance's place is looked for in
// every container, totals are big integers, and the whole ledger is copied
// before a transaction so that a refusal can put it back.
//
// Programs never import this package; a test sees to it.
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
	seq          uint64 // global_seq of the last commit
	nextInstance int64  // the id that the next mint gets
	containers   map[int64]*container
	classes      map[int64]*class
	instances    map[int64]*instance
	memory       []Remembered // of idempotency keys, the oldest first
	memorySize   int
}

// container is one container; only the fields of its kind are used.
type container struct {
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
	name           string
	fungible       bool
	decimals       int
	registered     uint64
	anyKey         *size          // the shape for keys without their own
	byKey          map[int64]size // the shapes for one key
	added, removed *big.Int
	minted, burned int64
}

type size struct{ w, h int64 }

// instance says what an instance is. Its place is found by looking in every
// container; only an attachment is kept here.
type instance struct {
	class, key int64
	minted     uint64
	parent     int64 // 0: not attached
}

// New makes an empty ledger that remembers the last keys keyed commits.
func New(keys int) *Model {
	return &Model{nextInstance: 1, memorySize: keys,
		containers: map[int64]*container{}, classes: map[int64]*class{}, instances: map[int64]*instance{}}
}

// Seq is the global_seq of the last commit, 0 at first.
func (m *Model) Seq() uint64 { return m.seq }

// Copy makes a ledger that shares nothing with m.
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
	c.memory = slices.Clone(m.memory)
	return &c
}

// A Refusal says why a transaction was not accepted.
type Refusal struct {
	Code    ledger.Code
	Op      int              // index of the operation at fault
	Details map[string]int64 // those that the error must have at least; nil if none
}

// Error gives all fields in one line.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s at operation %d %v", r.Code, r.Op, r.Details)
}

// Apply checks and applies tx as commit Seq()+1. A refused transaction changes
// nothing. The transaction must be one that the request parser lets through.
func (m *Model) Apply(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	before := m.Copy()
	out, refusal := m.applyHere(tx)
	if refusal != nil {
		*m = *before
	}
	return out, refusal
}

// applyHere is Apply without the copy: after a refusal the model is of no use.
func (m *Model) applyHere(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	r := &run{m: m, seq: m.seq + 1, permit: tx.Permit()}
	for i := range tx.Ops {
		r.index = i
		if refusal := r.try(&tx.Ops[i]); refusal != nil {
			return ledger.Outcome{}, refusal
		}
	}
	if refusal := r.finish(); refusal != nil {
		return ledger.Outcome{}, refusal
	}
	m.seq++
	out := ledger.Outcome{Minted: len(r.minted), Decisions: r.decisions}
	if len(r.minted) > 0 {
		out.FirstMinted = r.minted[0]
	}
	return out, nil
}

// Preflight says what Apply would, and changes nothing.
func (m *Model) Preflight(tx *ledger.Transaction) (ledger.Outcome, *Refusal) {
	return m.Copy().Apply(tx)
}

// run is one transaction under way.
type run struct {
	m         *Model
	seq       uint64 // the commit that it will be
	index     int    // of the current operation
	minted    []int64
	decisions []ledger.Decision
	permit    *ledger.Permit
	freed     map[int64]int // instances left nowhere, and by which operation
}

// try runs one operation. The operations are lists of checks in the order in
// which the interface judges, so a check that fails leaves by panic.
func (r *run) try(op *ledger.Op) (refusal *Refusal) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Refusal:
			refusal = p
		default:
			panic(p)
		}
	}()
	r.mayDo(op.Kind)
	r.operation(op)
	return nil
}

// detail is one value that an error must name.
type detail struct {
	name  string
	value int64
}

// check refuses the transaction with code unless ok.
func (r *run) check(ok bool, code ledger.Code, details ...detail) {
	if ok {
		return
	}
	refusal := &Refusal{Code: code, Op: r.index}
	for _, d := range details {
		if refusal.Details == nil {
			refusal.Details = map[string]int64{}
		}
		refusal.Details[d.name] = d.value
	}
	panic(refusal)
}

func (r *run) operation(op *ledger.Op) {
	switch op.Kind {
	case ledger.CreateContainer:
		r.createContainer(op)
	case ledger.RemoveContainer:
		r.removeContainer(op)
	case ledger.AddFungible:
		r.addFungible(op)
	case ledger.RemoveFungible:
		r.removeFungible(op)
	case ledger.TransferFungible:
		r.transferFungible(op)
	case ledger.MergeStacks:
		r.mergeStacks(op)
	case ledger.ConsolidateStacks:
		r.consolidateStacks(op)
	case ledger.MintInstance:
		r.mintInstance(op)
	case ledger.BurnInstance:
		r.burnInstance(op)
	case ledger.Attach:
		r.attach(op)
	case ledger.Detach:
		r.detach(op)
	case ledger.PlaceInSlot:
		r.placeInSlot(op)
	case ledger.RemoveFromSlot:
		r.removeFromSlot(op)
	case ledger.SwapSlots:
		r.swapSlots(op)
	case ledger.PlaceInGrid:
		r.placeInGrid(op)
	case ledger.RemoveFromGrid:
		r.removeFromGrid(op)
	case ledger.MoveInGrid:
		r.moveInGrid(op)
	case ledger.RegisterClass:
		r.registerClass(op)
	case ledger.RegisterClassShape:
		r.registerClassShape(op)
	default:
		panic(fmt.Sprintf("modeltest: operation of kind %d", op.Kind))
	}
}

// container finds a container that the operation names.
func (r *run) container(id int64) *container {
	c := r.m.containers[id]
	r.check(!r.permit.Limited() || c != nil && r.ours(c.owner), ledger.Forbidden, detail{"container_id", id})
	r.check(c != nil, ledger.ContainerNotFound, detail{"container_id", id})
	return c
}

// class finds a class that the operation names.
func (r *run) class(id int64) *class {
	c := r.m.classes[id]
	r.check(c != nil, ledger.ClassNotFound, detail{"class_id", id})
	return c
}

// instance finds the instance that argument i names, by id or as minted before
// in the same transaction.
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

// touch moves updated_seq of the containers that the operation names or changes.
func (r *run) touch(cs ...*container) {
	for _, c := range cs {
		c.updated = r.seq
	}
}

// moved notes what a merge or consolidation moved.
func (r *run) moved(quantity int64) {
	r.decisions = append(r.decisions, ledger.Decision{Op: int32(r.index), Quantity: quantity})
}

func (r *run) createContainer(op *ledger.Op) {
	id := op.Args[ledger.CreateContainerID]
	there := r.m.containers[id]
	r.check(r.ours(op.Get(ledger.CreateOwner, 0)) && (there == nil || r.ours(there.owner)), ledger.Forbidden, detail{"container_id", id})
	r.check(r.m.containers[id] == nil, ledger.ContainerAlreadyExists, detail{"container_id", id})
	c := &container{kind: ledger.ContainerKind(op.Args[ledger.CreateKind]), owner: op.Get(ledger.CreateOwner, 0), created: r.seq}
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
	r.m.containers[id] = c
	r.touch(c)
}

func (r *run) removeContainer(op *ledger.Op) {
	id := op.Args[ledger.CreateContainerID]
	c := r.container(id)
	r.check(len(c.stacks) == 0 && len(c.slots) == 0 && len(c.things) == 0, ledger.ContainerNotEmpty, detail{"container_id", id})
	delete(r.m.containers, id)
}

func (r *run) registerClass(op *ledger.Op) {
	id := op.Args[ledger.ClassID]
	r.mayRegister(id)
	r.check(r.m.classes[id] == nil, ledger.ClassAlreadyExists, detail{"class_id", id})
	r.m.classes[id] = &class{
		name:       op.Name,
		fungible:   op.Get(ledger.ClassFungible, 1) == 1,
		decimals:   int(op.Get(ledger.ClassDecimals, 0)),
		registered: r.seq,
		byKey:      map[int64]size{},
		added:      new(big.Int),
		removed:    new(big.Int),
	}
}

func (r *run) registerClassShape(op *ledger.Op) {
	id := op.Args[ledger.ShapeClass]
	r.mayRegister(id)
	cl := r.class(id)
	shape := size{op.Args[ledger.ShapeWidth], op.Args[ledger.ShapeHeight]}
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

// StateCodes lists the codes with which the state of a ledger refuses
// operations, and the memory of keys requests.
func StateCodes() []ledger.Code {
	return []ledger.Code{
		ledger.Forbidden,
		ledger.InvalidRequest, // MintInstance into slots without a slot
		ledger.ContainerNotFound, ledger.ClassNotFound, ledger.InstanceNotFound,
		ledger.ContainerAlreadyExists, ledger.ClassAlreadyExists, ledger.ShapeAlreadyExists, ledger.IdempotencyConflict,
		ledger.AlreadyAttached, ledger.AlreadyPlaced, ledger.SlotOccupied, ledger.CellOccupied,
		ledger.WrongContainerKind, ledger.WrongClassKind, ledger.InvalidQuantity, ledger.InsufficientBalance,
		ledger.InvalidOperation, ledger.UnregisteredClassShape, ledger.ContainerNotEmpty, ledger.SlotOutOfRange,
		ledger.SlotEmpty, ledger.OutOfBounds, ledger.CellEmpty, ledger.GridFull, ledger.StackNotFound,
		ledger.NotAttached, ledger.NotPlaced, ledger.HasChildren, ledger.WouldCreateCycle,
	}
}
