package modeltest

import (
	"math"

	"assetledger/ledger"
)

// A Query names one read of the ledger without filters, as data, so that it can
// be recorded, repeated, and asked of something other than the model.
type Query struct {
	What What
	ID   int64 // id of the container, class, instance or hold; 0 if the read has none
}

// A What is the name of a kind of read.
type What string

// The reads. A read of a list returns the whole list.
const (
	ReadContainer  What = "container"
	ReadBalances   What = "balances"
	ReadSlots      What = "slots"
	ReadGrid       What = "grid"
	ReadClass      What = "class"
	ReadClasses    What = "classes"
	ReadShapes     What = "shapes"
	ReadStats      What = "stats"
	ReadInstance   What = "instance"
	ReadContainers What = "containers"
	ReadHold       What = "hold"
	ReadHolds      What = "holds"
)

// A Reply is the result of a read: a value of package ledger, a slice of such
// values (nil if empty), or an error code.
type Reply struct {
	Value any
	Code  ledger.Code
}

// Ask answers a query.
func (m *Model) Ask(q Query) Reply {
	const all = math.MaxInt
	switch q.What {
	case ReadContainer:
		return reply(m.Container(q.ID))
	case ReadBalances:
		list, _, code := m.Balances(q.ID, ledger.BalanceFilter{}, nil, all)
		return reply(list, code)
	case ReadSlots:
		list, _, code := m.SlotEntries(q.ID, -1, all)
		return reply(list, code)
	case ReadGrid:
		list, _, code := m.Placements(q.ID, nil, nil, all)
		return reply(list, code)
	case ReadClass:
		return reply(m.Class(q.ID))
	case ReadClasses:
		list, _ := m.Classes(0, all)
		return reply(list, "")
	case ReadShapes:
		return reply(m.Shapes(q.ID))
	case ReadStats:
		return reply(m.Stats(q.ID))
	case ReadInstance:
		return reply(m.Instance(q.ID))
	case ReadContainers:
		list, _ := m.Containers(ledger.ContainerFilter{}, 0, all)
		return reply(list, "")
	case ReadHold:
		return reply(m.Hold(q.ID))
	case ReadHolds:
		list, _, code := m.Holds(q.ID, 0, all)
		return reply(list, code)
	}
	panic("modeltest: unknown read " + string(q.What))
}

func reply[T any](value T, code ledger.Code) Reply {
	if code != "" {
		return Reply{Code: code}
	}
	return Reply{Value: value}
}

// AllQueries returns every read of everything that exists, and, for each kind, the
// reads of one id that does not exist.
func AllQueries(m *Model) []Query {
	qs := []Query{{ReadClasses, 0}, {ReadContainers, 0}}
	for _, id := range append(m.ContainerIDs(), absent) {
		qs = append(qs, Query{ReadContainer, id}, Query{ReadBalances, id}, Query{ReadSlots, id}, Query{ReadGrid, id}, Query{ReadHolds, id})
	}
	for _, id := range append(m.ClassIDs(), absent) {
		qs = append(qs, Query{ReadClass, id}, Query{ReadShapes, id}, Query{ReadStats, id})
	}
	for _, id := range append(m.InstanceIDs(), m.nextInstance) {
		qs = append(qs, Query{ReadInstance, id})
	}
	for _, id := range append(m.HoldIDs(), absent) {
		qs = append(qs, Query{ReadHold, id})
	}
	return qs
}

// absent is an id that no generator uses.
const absent = 1 << 61
