package modeltest

import "assetledger/ledger"

// locate searches every container for an instance. If none has it, locate finds what
// the instance is attached to. It sets only the location fields of the result.
func (m *Model) locate(id int64) ledger.InstanceInfo {
	for cid, c := range m.containers {
		for slot, held := range c.slots {
			if held == id {
				return ledger.InstanceInfo{Location: ledger.InSlot, ContainerID: cid, SlotIndex: int(slot)}
			}
		}
		for _, t := range c.things {
			if t.instance == id {
				return ledger.InstanceInfo{Location: ledger.InGrid, ContainerID: cid, X: int(t.x), Y: int(t.y), Rotation: rotation(t.turned)}
			}
		}
	}
	if parent := m.instances[id].parent; parent != 0 {
		return ledger.InstanceInfo{Location: ledger.Attached, ParentID: parent}
	}
	return ledger.InstanceInfo{}
}

func rotation(turned bool) int {
	if turned {
		return 90
	}
	return 0
}

// drop removes an instance from a container, wherever in the container it is.
func (c *container) drop(id int64) {
	for slot, held := range c.slots {
		if held == id {
			delete(c.slots, slot)
		}
	}
	var kept []thing
	for _, t := range c.things {
		if t.instance != id {
			kept = append(kept, t)
		}
	}
	c.things = kept
}

// nowhere checks that an instance is in no container and attached to nothing.
func (r *run) nowhere(id int64) {
	at := r.m.locate(id).Location
	r.check(at != ledger.Attached, ledger.AlreadyAttached, detail{"instance_id", id})
	r.check(at == ledger.Nowhere, ledger.AlreadyPlaced, detail{"instance_id", id})
}

// hasChildren reports whether anything is attached to an instance.
func (m *Model) hasChildren(id int64) bool {
	for _, in := range m.instances {
		if in.parent == id {
			return true
		}
	}
	return false
}

func (r *run) mintInstance(op *ledger.Op) {
	key := op.Get(ledger.MintKey, 0)
	p := placeOf(op, ledger.MintX, ledger.MintY, ledger.MintRotation)
	slot := op.Args[ledger.MintSlot]

	var c *container
	if op.Given(ledger.MintContainer) {
		c = r.container(op, ledger.MintContainer)
	}
	cl := r.class(op, ledger.MintClass)
	classID := op.Args[ledger.MintClass]
	if c != nil {
		switch c.kind {
		case ledger.Standard:
			r.check(false, ledger.WrongContainerKind)
		case ledger.Slots:
			r.check(!p.given(), ledger.WrongContainerKind)
			r.check(op.Given(ledger.MintSlot), ledger.InvalidRequest)
		case ledger.Grid:
			r.check(!op.Given(ledger.MintSlot), ledger.WrongContainerKind)
		}
	}
	r.check(!cl.fungible, ledger.WrongClassKind, detail{"class_id", classID})

	id := r.m.nextInstance
	if c != nil && c.kind == ledger.Slots {
		r.freeSlot(c, slot)
		c.slots[slot] = id
	}
	if c != nil && c.kind == ledger.Grid {
		t := r.findPlace(c, cl, key, p)
		t.instance = id
		c.things = append(c.things, t)
	}
	r.m.nextInstance++
	r.m.instances[id] = &instance{class: classID, key: key, minted: r.seq}
	r.minted = append(r.minted, id)
	cl.minted++
	if c != nil {
		r.touch(c)
	} else {
		r.free(id)
	}
	r.takenBack(newOp(ledger.BurnInstance).add(ledger.InstanceArg, id), nil)
}

func (r *run) burnInstance(op *ledger.Op) {
	id, in := r.instance(op, ledger.InstanceArg)
	r.check(!r.m.hasChildren(id), ledger.HasChildren, detail{"instance_id", id})

	at := r.m.locate(id)
	if at.Location == ledger.InSlot || at.Location == ledger.InGrid {
		c := r.m.containers[at.ContainerID]
		c.drop(id)
		r.touch(c)
	}
	delete(r.m.instances, id)
	r.m.classes[in.class].burned++
	r.final()
}

func (r *run) attach(op *ledger.Op) {
	id, child := r.instance(op, ledger.InstanceArg)
	parent, _ := r.instance(op, ledger.ParentArg)
	r.nowhere(id)
	for up := parent; up != 0; up = r.m.instances[up].parent {
		r.check(up != id, ledger.WouldCreateCycle)
	}

	child.parent = parent
	r.takenBack(newOp(ledger.Detach).add(ledger.InstanceArg, id), func(m *Model) bool {
		return m.instances[id] != nil && m.instances[id].parent == parent
	})
}

func (r *run) detach(op *ledger.Op) {
	id, in := r.instance(op, ledger.InstanceArg)
	r.check(in.parent != 0, ledger.NotAttached, detail{"instance_id", id})

	r.takenBack(newOp(ledger.Attach).with(id, in.parent), nil)
	in.parent = 0
	r.free(id)
}

// slotInRange checks the index of a slot.
func (r *run) slotInRange(c *container, slot int64) {
	r.check(slot >= 0 && slot < c.slotCount, ledger.SlotOutOfRange, detail{"slot_index", slot})
}

// freeSlot checks that a slot exists and is empty.
func (r *run) freeSlot(c *container, slot int64) {
	r.slotInRange(c, slot)
	r.check(c.slots[slot] == 0, ledger.SlotOccupied, detail{"slot_index", slot})
}

func (r *run) placeInSlot(op *ledger.Op) {
	slot := op.Args[ledger.SlotIndex]

	c := r.container(op, ledger.SlotContainer)
	r.check(c.kind == ledger.Slots, ledger.WrongContainerKind)
	id, _ := r.instance(op, ledger.SlotInstance)
	r.nowhere(id)
	r.freeSlot(c, slot)

	c.slots[slot] = id
	r.touch(c)
	container := op.Args[ledger.SlotContainer]
	r.takenBack(newOp(ledger.RemoveFromSlot).with(container, slot), slotHolds(container, slot, id))
}

// slotHolds returns a function that reports whether a slot still holds the given instance, 0 for none.
func slotHolds(container, slot, id int64) func(m *Model) bool {
	return func(m *Model) bool {
		c := m.containers[container]
		return c != nil && c.kind == ledger.Slots && c.slots[slot] == id
	}
}

func (r *run) removeFromSlot(op *ledger.Op) {
	slot := op.Args[ledger.SlotIndex]

	c := r.container(op, ledger.SlotContainer)
	r.check(c.kind == ledger.Slots, ledger.WrongContainerKind)
	r.slotInRange(c, slot)
	r.check(c.slots[slot] != 0, ledger.SlotEmpty, detail{"slot_index", slot})

	r.takenBack(newOp(ledger.PlaceInSlot).with(op.Args[ledger.SlotContainer], slot, c.slots[slot]), nil)
	r.free(c.slots[slot])
	delete(c.slots, slot)
	r.touch(c)
}

func (r *run) swapSlots(op *ledger.Op) {
	slotA, slotB := op.Args[ledger.SwapA], op.Args[ledger.SwapB]

	a := r.container(op, ledger.SwapContainer)
	b, idA := a, op.Args[ledger.SwapContainer]
	idB := idA
	if op.Given(ledger.SwapOther) {
		b = r.container(op, ledger.SwapOther)
		idB = op.Args[ledger.SwapOther]
	}
	r.check(a.kind == ledger.Slots && b.kind == ledger.Slots, ledger.WrongContainerKind)
	r.slotInRange(a, slotA)
	r.slotInRange(b, slotB)

	inA, inB := a.slots[slotA], b.slots[slotB]
	delete(a.slots, slotA)
	delete(b.slots, slotB)
	if inB != 0 {
		a.slots[slotA] = inB
	}
	if inA != 0 {
		b.slots[slotB] = inA
	}
	r.touch(a, b)
	sameA, sameB := slotHolds(idA, slotA, a.slots[slotA]), slotHolds(idB, slotB, b.slots[slotB])
	back := draft(meant(*op))
	r.takenBack(&back, func(m *Model) bool { return sameA(m) && sameB(m) })
}
