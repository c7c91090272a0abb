package modeltest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"assetledger/ledger"
)

// Knobs configure a generator. Ids come from small pools, so that operations
// often meet the same records. Each pool has one id at the top of its range.
type Knobs struct {
	Containers, Classes, Keys int     // sizes of the pools of ids; the pool of keys has one more, the highest
	MaxOps                    int     // operations in the longest transactions; most are shorter
	MaxSide, MaxSlots         int64   // of new grids and slot containers
	MaxShape                  int64   // longest side of most shapes; some have the maximum size
	Wild                      float64 // fraction of the choices that ignore the state
	Refused                   float64 // fraction of the rejected operations that are kept
	Keyed                     float64 // fraction of the transactions with an idempotency key
	Repeated                  float64 // fraction of the transactions that repeat an earlier request with an idempotency key; at most about half of them are changed
	Permits                   float64 // fraction of the transactions whose sender is chosen at random; it may have a name and limited permissions
	Bulky                     float64 // fraction of the transactions with metadata near the maximum size
	Names                     float64 // fraction of the containers and classes that are created with names, and of the arguments that use names
	Reversals                 float64 // fraction of the transactions that reverse an earlier commit; in addition, imported reversals are about an eighth as frequent
}

// DefaultKnobs returns knobs that reach every operation and every code of StateCodes
// within ten thousand transactions, except Forbidden, for which Permits must be above 0.
func DefaultKnobs() Knobs {
	return Knobs{Containers: 14, Classes: 9, Keys: 4, MaxOps: 12, MaxSide: 7, MaxSlots: 5, MaxShape: 4,
		Wild: 0.12, Refused: 0.2, Keyed: 0.3, Repeated: 0.1, Bulky: 0.01, Names: 0.3, Reversals: 0.08}
}

// A Gen generates random transactions, most of which suit the current state of a model. All
// of them are well-formed, so the ledger itself must detect what is wrong with
// them.
type Gen struct {
	rng   *rand.Rand
	knobs Knobs
	model *Model
	keys  int                  // number of idempotency keys used so far
	sent  []ledger.Transaction // the latest requests with idempotency keys

	scratch *run // the transaction being generated, applied to a copy of the model
}

// NewGen returns a generator. Equal seeds, knobs and models lead to equal
// transactions.
func NewGen(seed uint64, m *Model, k Knobs) *Gen {
	return &Gen{rng: rand.New(rand.NewPCG(seed, 0x6c6564676572)), knobs: k, model: m}
}

// keptRequests is how many of the latest requests with an idempotency key are kept, so
// that they can be repeated.
const keptRequests = 64

// Next returns a transaction. Its operations, idempotency key and metadata share no
// memory with those of any other transaction that Next returns.
func (g *Gen) Next() ledger.Transaction {
	if len(g.sent) > 0 && g.chance(g.knobs.Repeated) {
		return g.repeat()
	}
	name, permit := g.sender()
	var tx ledger.Transaction
	switch {
	case g.model.seq > 0 && g.chance(g.knobs.Reversals):
		tx.Endpoint, tx.Reverses = ledger.EndpointReverse, g.commit()
	default:
		tx.Ops = g.ops(permit)
		tx.Endpoint = g.endpoint(tx.Ops)
		if tx.Endpoint == ledger.EndpointCommit && g.chance(g.knobs.Reversals/8) {
			tx.Reverses = uint64(1 + g.rng.Int64N(int64(g.model.seq)+2))
		}
	}
	if g.chance(0.3) {
		tx.Metadata = []byte(metadataSamples[g.rng.IntN(len(metadataSamples))])
	}
	if g.chance(g.knobs.Bulky) {
		const around = len(`{"filler":""}`)
		n := ledger.MaxMetadata - around - g.rng.IntN(3)
		tx.Metadata = fmt.Appendf(nil, `{"filler":"%s"}`, strings.Repeat("f", n))
	}
	if g.chance(g.knobs.Keyed) {
		g.keys++
		tx.Key = fmt.Appendf(nil, "key-%d", g.keys)
	}
	tx.SetSender(name, permit)
	if len(tx.Key) > 0 {
		g.sent = append(g.sent, tx)
		if len(g.sent) > keptRequests {
			g.sent = g.sent[1:]
		}
	}
	return tx
}

var metadataSamples = []string{
	`{}`, `{"a":1,"b":[null,true]}`, `{"name":"\u00e9"}`, `{"a":1.0}`, `{"a":1e0}`,
	`{"deep":{"deep":{"n":-0.5e-7}}}`, `{"big":18446744073709551616}`,
}

// sameMetadata maps some samples to another spelling of the same value.
var sameMetadata = map[string]string{
	``:                        `{}`,
	`{}`:                      ``,
	`{"a":1,"b":[null,true]}`: `{"b":[null,true],"a":1}`,
	`{"name":"\u00e9"}`:       `{"name":"é"}`,
}

// repeat returns an earlier request with an idempotency key, sometimes changed.
func (g *Gen) repeat() ledger.Transaction {
	old := g.sent[g.rng.IntN(len(g.sent))]
	tx := old
	tx.Ops = append([]ledger.Op(nil), old.Ops...)
	tx.Key = append([]byte(nil), old.Key...)
	tx.Metadata = append([]byte(nil), old.Metadata...)
	ways := 8
	if g.knobs.Permits > 0 {
		ways++
	}
	way := g.rng.IntN(ways)
	if tx.Endpoint == ledger.EndpointReverse && (way == 0 || way == 2 || way == 3) {
		tx.Reverses = g.commit() // usually a different one
		way = -1
	}
	switch way {
	case 0:
		i := g.rng.IntN(len(tx.Ops))
		next := g.ops(tx.Permit())[0]
		for next.Kind.IsCondition() {
			next = g.ops(tx.Permit())[0] // the first of its transaction: it refers to nothing that was minted
		}
		tx.Ops = append(tx.Ops[:i], next) // later operations are dropped: they might refer to an instance that is no longer minted
		tx.Endpoint = ledger.EndpointCommit
	case 1:
		tx.Metadata = []byte(metadataSamples[g.rng.IntN(len(metadataSamples))])
	case 2, 3:
		if tx.Reverses == 0 {
			tx.Endpoint = g.endpoint(tx.Ops)
		}
	case 4, 5:
		for i := range tx.Ops {
			tx.Ops[i] = respell(tx.Ops[i])
		}
		if other, ok := sameMetadata[string(tx.Metadata)]; ok {
			tx.Metadata = []byte(other)
		}
	case 8:
		tx.SetSender(g.sender())
	}
	return tx
}

// commit chooses a commit to reverse, often one of the latest.
func (g *Gen) commit() uint64 {
	last := int64(g.model.seq)
	if g.chance(0.6) {
		return uint64(last - g.rng.Int64N(min(last, 8)))
	}
	return uint64(1 + g.rng.Int64N(last))
}

// endpoint chooses an endpoint that accepts the operations.
func (g *Gen) endpoint(ops []ledger.Op) ledger.Endpoint {
	if len(ops) > 1 || g.chance(0.3) {
		return ledger.EndpointCommit
	}
	switch ops[0].Kind {
	case ledger.RegisterClass:
		return ledger.EndpointRegisterClass
	case ledger.RegisterClassShape:
		return ledger.EndpointRegisterShape
	}
	return ledger.EndpointCommit
}

// respell turns an absent owner or shape key into null, and null into absent.
func respell(op ledger.Op) ledger.Op {
	for i, arg := range op.Kind.Args() {
		if arg.Type != ledger.ArgOwner && arg.Type != ledger.ArgShapeKey || op.Given(i) {
			continue
		}
		op.Has ^= 1 << i
		op.Null ^= 1 << i
	}
	return op
}

// ops generates the operations of one transaction. Each is tried on a copy of the
// model, so that later ones fit what earlier ones did.
func (g *Gen) ops(permit *ledger.Permit) []ledger.Op {
	n := 1
	switch p := g.rng.Float64(); {
	case p < 0.1:
		n = 1 + g.rng.IntN(g.knobs.MaxOps)
	case p < 0.5:
		n = 1 + g.rng.IntN(min(4, g.knobs.MaxOps))
	}
	copied := g.model.Copy()
	g.scratch = &run{m: copied, seq: copied.seq + 1, permit: permit}
	var ops []ledger.Op
	for len(ops) < n {
		op := g.op()
		g.scratch.index = len(ops)
		refusal := g.scratch.try(&op)
		if refusal != nil && !g.chance(g.knobs.Refused) {
			continue
		}
		ops = append(ops, op)
		if refusal != nil {
			break // operations after it are never reached
		}
	}
	if !slices.ContainsFunc(ops, func(op ledger.Op) bool { return !op.Kind.IsCondition() }) {
		ops = append(ops, g.change())
	}
	return ops
}

// change generates an operation that is not a condition.
func (g *Gen) change() ledger.Op {
	for {
		if op := g.op(); !op.Kind.IsCondition() {
			return op
		}
	}
}

func (g *Gen) chance(p float64) bool { return g.rng.Float64() < p }

// wild reports whether the next choice ignores the state.
func (g *Gen) wild() bool { return g.chance(g.knobs.Wild) }

// id chooses from a pool of n ids: 1, 2, 3 …, and the highest.
func (g *Gen) id(n int) int64 {
	if i := g.rng.IntN(n); i > 0 {
		return int64(i)
	}
	return math.MaxInt64
}

// key chooses a key from its pool: 0, 1, 2 …, and the highest.
func (g *Gen) key() int64 {
	if i := g.rng.IntN(g.knobs.Keys + 1); i < g.knobs.Keys {
		return int64(i)
	}
	return math.MaxInt64
}

func pick[T any](g *Gen, list []T) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	return list[g.rng.IntN(len(list))], true
}

// container chooses a container of one of the kinds, if there is one.
func (g *Gen) container(kinds ...ledger.ContainerKind) (int64, *container) {
	var fit []int64
	for _, id := range g.scratch.m.ContainerIDs() {
		for _, k := range kinds {
			if g.scratch.m.containers[id].kind == k {
				fit = append(fit, id)
			}
		}
	}
	id, ok := pick(g, fit)
	if !ok || g.wild() {
		id = g.id(g.knobs.Containers)
	}
	return id, g.scratch.m.containers[id]
}

// classID chooses a class that is fungible, or one that is not, as requested, if there
// is one.
func (g *Gen) classID(fungible bool) int64 {
	var fit []int64
	for _, id := range g.scratch.m.ClassIDs() {
		if g.scratch.m.classes[id].fungible == fungible {
			fit = append(fit, id)
		}
	}
	if id, ok := pick(g, fit); ok && !g.wild() {
		return id
	}
	return g.id(g.knobs.Classes)
}

// stack chooses a stack of c, or invents one.
func (g *Gen) stack(c *container) ledger.StackKey {
	if c != nil && !g.wild() {
		if s, ok := pick(g, c.sortedStacks()); ok {
			return s
		}
	}
	return ledger.StackKey{ClassID: g.classID(true), Key: g.key()}
}

// quantity chooses an amount to take. available is the largest amount for which that
// succeeds.
func (g *Gen) quantity(available int64) int64 {
	switch g.rng.IntN(24) {
	case 0:
		return 0
	case 1:
		return -g.rng.Int64N(math.MaxInt64)
	case 2:
		return math.MaxInt64 - g.rng.Int64N(3)
	case 3:
		return math.MaxInt64/2 + g.rng.Int64N(3)
	case 4:
		return math.MinInt64
	case 5, 6, 7:
		return available
	case 8:
		if available < math.MaxInt64 {
			return available + 1
		}
	case 9, 10, 11, 12:
		if available > 0 {
			return 1 + g.rng.Int64N(available)
		}
	}
	return 1 + g.rng.Int64N(1000)
}

// addition chooses an amount to add to a class. Now and then it is the maximum
// for which there is room, or one unit more.
func (g *Gen) addition(classID int64) int64 {
	if g.chance(0.04) {
		room := math.MaxInt64 - g.scratch.m.total(classID).Int64()
		if room < math.MaxInt64 {
			return room + g.rng.Int64N(2)
		}
		return room
	}
	return g.quantity(0)
}

// coordinate chooses an index, usually from 0 … n-1.
func (g *Gen) coordinate(n int64) int64 {
	switch g.rng.IntN(40) {
	case 0:
		return math.MaxInt64 - g.rng.Int64N(2)
	case 1:
		return n
	case 2:
		return 1<<32 + g.rng.Int64N(2)
	}
	return g.rng.Int64N(max(n, 1))
}
