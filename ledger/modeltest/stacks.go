package modeltest

import (
	"math"
	"math/big"

	"assetledger/ledger"
)

// total returns the quantity of a class in all containers together.
func (m *Model) total(classID int64) *big.Int {
	sum := new(big.Int)
	for _, c := range m.containers {
		for stack, quantity := range c.stacks {
			if stack.ClassID == classID {
				sum.Add(sum, big.NewInt(quantity))
			}
		}
	}
	return sum
}

// put adds a quantity to a stack. If the stack does not exist, put creates it at the
// given place.
func (r *run) put(c *container, stack ledger.StackKey, quantity int64, at *thing) {
	if at != nil {
		c.things = append(c.things, *at)
	}
	c.stacks[stack] += quantity
}

// take removes a quantity from a stack. If nothing is left, it removes the stack and
// returns the place that it had in a Grid.
func (r *run) take(c *container, stack ledger.StackKey, quantity int64) *thing {
	c.stacks[stack] -= quantity
	if c.stacks[stack] != 0 {
		return nil
	}
	delete(c.stacks, stack)
	for i, t := range c.things {
		if t.instance == 0 && t.stack == stack {
			c.things = append(c.things[:i:i], c.things[i+1:]...)
			return &t
		}
	}
	return nil
}

// holdsStacks checks that c can hold stacks, and that a place is given only if c is a Grid.
func (r *run) holdsStacks(c *container, p place) {
	r.check(c.kind != ledger.Slots, ledger.WrongContainerKind)
	r.check(c.kind == ledger.Grid || !p.given(), ledger.WrongContainerKind)
}

// stackPlace finds the place for a stack that is to grow or to be created. It returns nil if the stack needs none.
func (r *run) stackPlace(c *container, cl *class, stack ledger.StackKey, p place) *thing {
	if c.kind != ledger.Grid {
		return nil
	}
	for _, t := range c.things {
		if t.instance == 0 && t.stack == stack {
			r.check(p.fits(t), ledger.AlreadyPlaced)
			return nil
		}
	}
	t := r.findPlace(c, cl, stack.Key, p)
	t.stack = stack
	return &t
}

func (r *run) addFungible(op *ledger.Op) {
	quantity := op.Args[ledger.FungibleQuantity]
	p := placeOf(op, ledger.AddX, ledger.AddY, ledger.AddRotation)

	c := r.container(op, ledger.FungibleContainer)
	cl := r.class(op, ledger.FungibleClass)
	stack := ledger.StackKey{ClassID: op.Args[ledger.FungibleClass], Key: op.Args[ledger.FungibleKey]}
	r.holdsStacks(c, p)
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", stack.ClassID})
	at := r.stackPlace(c, cl, stack, p)
	r.check(quantity > 0, ledger.InvalidQuantity)
	after := r.m.total(stack.ClassID)
	after.Add(after, big.NewInt(quantity))
	r.check(after.Cmp(big.NewInt(math.MaxInt64)) <= 0, ledger.InvalidOperation)

	r.put(c, stack, quantity, at)
	cl.added.Add(cl.added, big.NewInt(quantity))
	r.touch(c)
	r.takenBack(newOp(ledger.RemoveFungible).with(op.Args[:4]...), nil)
}

// enough checks a quantity that is to be taken from a stack.
func (r *run) enough(c *container, id int64, stack ledger.StackKey, quantity int64) {
	r.check(quantity > 0, ledger.InvalidQuantity)
	held := r.m.held(id, stack)
	available := c.stacks[stack] - held
	details := []detail{{"container_id", id}, {"class_id", stack.ClassID}, {"key", stack.Key}, {"available", available}, {"requested", quantity}}
	if held > 0 {
		details = append(details, detail{"held", held})
	}
	r.check(quantity <= available, ledger.InsufficientBalance, details...)
}

// hasStack checks that a stack exists.
func (r *run) hasStack(c *container, stack ledger.StackKey) {
	_, ok := c.stacks[stack]
	r.check(ok, ledger.StackNotFound, detail{"class_id", stack.ClassID}, detail{"key", stack.Key})
}

func (r *run) removeFungible(op *ledger.Op) {
	quantity := op.Args[ledger.FungibleQuantity]

	c := r.container(op, ledger.FungibleContainer)
	cl := r.class(op, ledger.FungibleClass)
	id, stack := op.Args[ledger.FungibleContainer], ledger.StackKey{ClassID: op.Args[ledger.FungibleClass], Key: op.Args[ledger.FungibleKey]}
	r.holdsStacks(c, place{})
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", stack.ClassID})
	r.hasStack(c, stack)
	r.enough(c, id, stack, quantity)

	gone := r.take(c, stack, quantity)
	cl.removed.Add(cl.removed, big.NewInt(quantity))
	r.touch(c)
	r.takenBack(newOp(ledger.AddFungible).with(op.Args[:4]...).at(ledger.AddX, gone), nil)
}

func (r *run) transferFungible(op *ledger.Op) {
	quantity := op.Args[ledger.TransferQuantity]
	p := placeOf(op, ledger.TransferX, ledger.TransferY, ledger.TransferRotation)

	r.check(!r.sameContainer(op, ledger.TransferFrom, ledger.TransferTo), ledger.InvalidOperation)
	source := r.container(op, ledger.TransferFrom)
	target := r.container(op, ledger.TransferTo)
	cl := r.class(op, ledger.TransferClass)
	from, to := op.Args[ledger.TransferFrom], op.Args[ledger.TransferTo]
	stack := ledger.StackKey{ClassID: op.Args[ledger.TransferClass], Key: op.Args[ledger.TransferKey]}
	r.holdsStacks(source, place{})
	r.holdsStacks(target, p)
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", stack.ClassID})
	r.hasStack(source, stack)
	at := r.stackPlace(target, cl, stack, p)
	r.enough(source, from, stack, quantity)

	gone := r.take(source, stack, quantity)
	r.put(target, stack, quantity, at)
	r.touch(source, target)
	r.takenBack(newOp(op.Kind).with(to, from, stack.ClassID, stack.Key, quantity).at(ledger.TransferX, gone), nil)
}

func (r *run) mergeStacks(op *ledger.Op) {
	fromKey, toKey := op.Args[ledger.MergeFromKey], op.Args[ledger.MergeToKey]

	r.check(fromKey != toKey, ledger.InvalidOperation)
	c := r.container(op, ledger.MergeContainer)
	cl := r.class(op, ledger.MergeClass)
	id, classID := op.Args[ledger.MergeContainer], op.Args[ledger.MergeClass]
	from, to := ledger.StackKey{ClassID: classID, Key: fromKey}, ledger.StackKey{ClassID: classID, Key: toKey}
	r.holdsStacks(c, place{})
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", classID})
	r.hasStack(c, from)
	r.hasStack(c, to)
	r.notHeld(id, from)

	quantity := c.stacks[from]
	gone := r.take(c, from, quantity)
	r.put(c, to, quantity, nil)
	r.moved(quantity)
	r.touch(c)
	r.takenBack(newOp(ledger.SplitStack).with(id, classID, toKey, fromKey, quantity).at(ledger.SplitX, gone), nil)
}

func (r *run) consolidateStacks(op *ledger.Op) {
	c := r.container(op, ledger.ConsolidateContainer)
	cl := r.class(op, ledger.ConsolidateClass)
	classID := op.Args[ledger.ConsolidateClass]
	r.holdsStacks(c, place{})
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", classID})
	var all []ledger.StackKey
	for _, stack := range c.sortedStacks() {
		if stack.ClassID == classID {
			all = append(all, stack)
		}
	}
	r.check(len(all) > 0, ledger.StackNotFound, detail{"class_id", classID})
	target := all[0]
	if op.Given(ledger.ConsolidateKey) {
		target.Key = op.Args[ledger.ConsolidateKey]
	}
	r.hasStack(c, target)
	for _, stack := range all {
		if stack != target {
			r.notHeld(op.Args[ledger.ConsolidateContainer], stack)
		}
	}

	sum := int64(0)
	for _, stack := range all {
		if stack != target {
			quantity := c.stacks[stack]
			r.take(c, stack, quantity)
			r.put(c, target, quantity, nil)
			sum += quantity
		}
	}
	r.moved(sum)
	r.touch(c)
	r.final()
}

func (r *run) splitStack(op *ledger.Op) {
	fromKey, toKey, quantity := op.Args[ledger.SplitFromKey], op.Args[ledger.SplitToKey], op.Args[ledger.SplitQuantity]
	p := placeOf(op, ledger.SplitX, ledger.SplitX+1, ledger.SplitX+2)

	r.check(fromKey != toKey, ledger.InvalidOperation)
	c := r.container(op, ledger.SplitContainer)
	cl := r.class(op, ledger.SplitClass)
	id, classID := op.Args[ledger.SplitContainer], op.Args[ledger.SplitClass]
	from, to := ledger.StackKey{ClassID: classID, Key: fromKey}, ledger.StackKey{ClassID: classID, Key: toKey}
	r.holdsStacks(c, p)
	r.check(cl.fungible, ledger.WrongClassKind, detail{"class_id", classID})
	r.hasStack(c, from)
	at := r.stackPlace(c, cl, to, p)
	r.enough(c, id, from, quantity)

	gone := r.take(c, from, quantity)
	r.put(c, to, quantity, at)
	r.touch(c)
	r.takenBack(newOp(op.Kind).with(id, classID, toKey, fromKey, quantity).at(ledger.SplitX, gone), nil)
}
