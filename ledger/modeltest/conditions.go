package modeltest

import "assetledger/ledger"

// Conditions change nothing, touch nothing, and have no inverse.

func (r *run) requireBalance(op *ledger.Op) {
	c := r.container(op, ledger.BalanceContainer)
	cl := r.class(op, ledger.BalanceClass)
	id, stack := op.Args[ledger.BalanceContainer], ledger.StackKey{ClassID: op.Args[ledger.BalanceClass], Key: op.Args[ledger.BalanceKey]}
	r.holdsStacks(c, place{})
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", stack.ClassID})

	quantity := c.stacks[stack]
	available := quantity - r.m.held(id, stack)
	details := []detail{{"container_id", id}, {"class_id", stack.ClassID}, {"key", stack.Key}, {"available", available}, {"quantity", quantity}}
	for i := ledger.BalanceAtLeast; i <= ledger.BalanceAtMost; i++ {
		if op.Given(i) {
			details = append(details, detail{op.Kind.Args()[i].Name, op.Args[i]})
		}
	}
	r.check(!op.Given(ledger.BalanceAtLeast) || available >= op.Args[ledger.BalanceAtLeast], ledger.RequirementFailed, details...)
	r.check(!op.Given(ledger.BalanceAtMost) || quantity <= op.Args[ledger.BalanceAtMost], ledger.RequirementFailed, details...)
}

func (r *run) requireUnchanged(op *ledger.Op) {
	c := r.container(op, ledger.UnchangedContainer)
	since := op.Args[ledger.UnchangedSince]
	r.check(c.updated <= uint64(since), ledger.RequirementFailed,
		detail{"container_id", op.Args[ledger.UnchangedContainer]}, detail{"since_seq", since}, detail{"updated_seq", int64(c.updated)})
}

func (r *run) requireInstance(op *ledger.Op) {
	slot := op.Args[ledger.StandsSlot]

	c := r.container(op, ledger.StandsContainer)
	container := op.Args[ledger.StandsContainer]
	r.check(c.kind != ledger.Standard, ledger.WrongContainerKind)
	r.check(c.kind == ledger.Slots || !op.Given(ledger.StandsSlot), ledger.WrongContainerKind)
	id, _ := r.instance(op, ledger.StandsInstance)
	if op.Given(ledger.StandsSlot) {
		r.slotInRange(c, slot)
	}
	at := r.m.locate(id)
	r.check((at.Location == ledger.InSlot || at.Location == ledger.InGrid) && at.ContainerID == container &&
		(!op.Given(ledger.StandsSlot) || int64(at.SlotIndex) == slot),
		ledger.RequirementFailed, detail{"instance_id", id}, detail{"container_id", container})
}
