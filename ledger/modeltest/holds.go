package modeltest

import (
	"cmp"
	"maps"
	"slices"

	"assetledger/ledger"
)

// hold is a reserved quantity of a stack.
type hold struct {
	container int64
	stack     ledger.StackKey
	quantity  int64
	seq       uint64
	expires   int64 // Unix seconds; 0: never
}

// held returns the sum of the holds of a stack.
func (m *Model) held(container int64, stack ledger.StackKey) int64 {
	sum := int64(0)
	for _, h := range m.holds {
		if h.container == container && h.stack == stack {
			sum += h.quantity
		}
	}
	return sum
}

// hold finds the hold that the operation names.
func (r *run) hold(op *ledger.Op) (int64, *hold) {
	id := op.Args[ledger.HoldID]
	h := r.m.holds[id]
	r.check(!r.permit.Limited() || h != nil && r.ours(r.m.containers[h.container].owner), ledger.Forbidden, detail{"hold_id", id})
	r.check(h != nil, ledger.HoldNotFound, detail{"hold_id", id})
	return id, h
}

func (r *run) holdFungible(op *ledger.Op) {
	id, quantity := op.Args[ledger.HoldID], op.Args[ledger.HoldQuantity]

	c := r.container(op, ledger.HoldContainer)
	cl := r.class(op, ledger.HoldClass)
	container, stack := op.Args[ledger.HoldContainer], ledger.StackKey{ClassID: op.Args[ledger.HoldClass], Key: op.Args[ledger.HoldKey]}
	r.holdsStacks(c, place{})
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", stack.ClassID})
	r.check(r.m.holds[id] == nil, ledger.HoldAlreadyExists, detail{"hold_id", id})
	r.hasStack(c, stack)
	r.enough(c, container, stack, quantity)

	if op.Given(ledger.HoldExpiresIn) {
		until := r.m.Now/1e9 + op.Args[ledger.HoldExpiresIn]
		if r.m.Now%1e9 != 0 {
			until++
		}
		op.Has &^= 1 << ledger.HoldExpiresIn
		op.Has |= 1 << ledger.HoldExpiresAt
		op.Args[ledger.HoldExpiresIn], op.Args[ledger.HoldExpiresAt] = 0, until
	}
	seq := r.seq
	r.m.holds[id] = &hold{container: container, stack: stack, quantity: quantity, seq: seq, expires: op.Get(ledger.HoldExpiresAt, 0)}
	r.touch(c)
	r.takenBack(newOp(ledger.ReleaseHold).add(ledger.HoldID, id), func(m *Model) bool {
		h := m.holds[id]
		return h != nil && h.seq == seq && h.quantity == quantity
	})
}

func (r *run) settleHold(op *ledger.Op) {
	p := placeOf(op, ledger.SettleX, ledger.SettleX+1, ledger.SettleX+2)

	id, h := r.hold(op)
	r.check(r.known(op, ledger.SettleTo) != h.container, ledger.InvalidOperation)
	target := r.container(op, ledger.SettleTo)
	r.holdsStacks(target, p)
	at := r.stackPlace(target, r.m.classes[h.stack.ClassID], h.stack, p)
	quantity := op.Get(ledger.SettleQuantity, h.quantity)
	r.check(quantity > 0, ledger.InvalidQuantity)
	r.check(quantity <= h.quantity, ledger.InsufficientBalance, detail{"hold_id", id}, detail{"held", h.quantity}, detail{"requested", quantity})

	source := r.m.containers[h.container]
	h.quantity -= quantity
	if h.quantity == 0 || op.Get(ledger.SettleKeep, 0) == 0 {
		delete(r.m.holds, id)
	}
	r.take(source, h.stack, quantity)
	r.put(target, h.stack, quantity, at)
	r.touch(source, target)
	r.final()
}

func (r *run) releaseHold(op *ledger.Op) {
	id, h := r.hold(op)
	delete(r.m.holds, id)
	r.touch(r.m.containers[h.container])
	r.final()
}

// notHeld checks that a stack to be removed has no holds.
func (r *run) notHeld(container int64, stack ledger.StackKey) {
	held := r.m.held(container, stack)
	r.check(held == 0, ledger.StackHeld,
		detail{"container_id", container}, detail{"class_id", stack.ClassID}, detail{"key", stack.Key}, detail{"held", held})
}

// Expired returns the ids of the holds that have expired by Now, ordered by expiry, then id.
func (m *Model) Expired() []int64 {
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(m.holds)), func(id int64) bool {
		h := m.holds[id]
		return h.expires == 0 || h.expires > m.Now/1e9
	})
	slices.SortStableFunc(ids, func(a, b int64) int { return cmp.Compare(m.holds[a].expires, m.holds[b].expires) })
	return ids
}

// NextExpiry returns the Unix second at which the next hold expires, or 0 if none does.
func (m *Model) NextExpiry() int64 {
	next := int64(0)
	for _, h := range m.holds {
		if h.expires != 0 && (next == 0 || h.expires < next) {
			next = h.expires
		}
	}
	return next
}

// Hold returns what a read of one hold shows.
func (m *Model) Hold(id int64) (ledger.HoldInfo, ledger.Code) {
	h := m.holds[id]
	if h == nil {
		return ledger.HoldInfo{}, ledger.HoldNotFound
	}
	return ledger.HoldInfo{ID: id, ContainerID: h.container, ClassID: h.stack.ClassID, Key: h.stack.Key,
		Quantity: h.quantity, HeldSeq: h.seq, ExpiresAt: h.expires}, ""
}

// Holds returns the holds of a container, ordered by id.
func (m *Model) Holds(container, after int64, limit int) ([]ledger.HoldInfo, bool, ledger.Code) {
	c := m.containers[container]
	if c == nil {
		return nil, false, ledger.ContainerNotFound
	}
	if c.kind == ledger.Slots {
		return nil, false, ledger.WrongContainerKind
	}
	var list []ledger.HoldInfo
	for _, id := range slices.Sorted(maps.Keys(m.holds)) {
		if info, _ := m.Hold(id); info.ContainerID == container && id > after {
			list = append(list, info)
		}
	}
	list, more := page(list, limit)
	return list, more, ""
}

// HoldIDs returns the ids of all holds, ascending.
func (m *Model) HoldIDs() []int64 { return slices.Sorted(maps.Keys(m.holds)) }

// MayReadHold reports whether a client limited to owners may read a hold.
func (m *Model) MayReadHold(id int64, owners []int64) bool {
	return m.holds[id] != nil && m.MayReadContainer(m.holds[id].container, owners)
}
