package modeltest

import (
	"assetledger/ledger"
)

// draft is an operation under construction.
type draft ledger.Op

func newOp(k ledger.OpKind) *draft { return &draft{Kind: k} }

// add sets argument i.
func (d *draft) add(i int, v int64) *draft {
	d.Has |= 1 << i
	d.Args[i] = v
	return d
}

// with sets the first arguments.
func (d *draft) with(values ...int64) *draft {
	for i, v := range values {
		d.add(i, v)
	}
	return d
}

// at sets x, y and rotation, the first of which is argument i. If t is nil, it sets
// nothing.
func (d *draft) at(i int, t *thing) *draft {
	if t == nil {
		return d
	}
	return d.add(i, t.x).add(i+1, t.y).add(i+2, int64(rotation(t.turned)))
}

// text sets argument i to a string. Strings must be set in the order of the arguments.
func (d *draft) text(i int, s string) *draft {
	if d.Name != "" {
		d.Name += "\n"
	}
	d.Name += s
	return d.add(i, 0)
}

// textOrNull sets argument i to a string, or to null for "".
func (d *draft) textOrNull(i int, s string) *draft {
	if s == "" {
		return d.null(i)
	}
	return d.text(i, s)
}

// null sets argument i to null.
func (d *draft) null(i int) *draft {
	d.Has |= 1 << i
	d.Null |= 1 << i
	return d
}

// weights determine how often each operation is tried.
var weights = []struct {
	kind   ledger.OpKind
	weight int
}{
	{ledger.CreateContainer, 6}, {ledger.RemoveContainer, 3}, {ledger.AddFungible, 20}, {ledger.RemoveFungible, 9},
	{ledger.TransferFungible, 16}, {ledger.MergeStacks, 5}, {ledger.ConsolidateStacks, 4}, {ledger.MintInstance, 10},
	{ledger.BurnInstance, 5}, {ledger.Attach, 7}, {ledger.Detach, 3}, {ledger.PlaceInSlot, 7}, {ledger.RemoveFromSlot, 4},
	{ledger.SwapSlots, 6}, {ledger.PlaceInGrid, 7}, {ledger.RemoveFromGrid, 4}, {ledger.MoveInGrid, 9},
	{ledger.RegisterClass, 3}, {ledger.RegisterClassShape, 4}, {ledger.RenameContainer, 3}, {ledger.RenameClass, 3},
	{ledger.RequireBalance, 5}, {ledger.RequireUnchanged, 3}, {ledger.RequireInstance, 4},
	{ledger.HoldFungible, 12}, {ledger.SettleHold, 8}, {ledger.ReleaseHold, 4}, {ledger.SplitStack, 7},
}

// Kinds lists the operations that the model implements.
func Kinds() (kinds []ledger.OpKind) {
	for _, w := range weights {
		kinds = append(kinds, w.kind)
	}
	return kinds
}

// op returns an operation that often, but not always, suits the scratch state.
func (g *Gen) op() ledger.Op {
	sum := 0
	for _, w := range weights {
		sum += w.weight
	}
	at := g.rng.IntN(sum)
	for _, w := range weights {
		if at -= w.weight; at < 0 {
			return g.named(g.make(newOp(w.kind)))
		}
	}
	panic("modeltest: weights do not add up")
}

func (g *Gen) make(d *draft) *draft {
	switch d.Kind {
	case ledger.CreateContainer:
		return g.makeContainer(d)
	case ledger.RemoveContainer:
		id, _ := g.container(ledger.Standard, ledger.Slots, ledger.Grid)
		return d.add(0, id)
	case ledger.AddFungible, ledger.RemoveFungible, ledger.TransferFungible, ledger.MergeStacks, ledger.ConsolidateStacks, ledger.SplitStack:
		return g.makeFungible(d)
	case ledger.HoldFungible, ledger.SettleHold, ledger.ReleaseHold:
		return g.makeHold(d)
	case ledger.RequireBalance, ledger.RequireUnchanged, ledger.RequireInstance:
		return g.makeCondition(d)
	case ledger.RenameContainer, ledger.RenameClass:
		return g.makeRename(d)
	case ledger.MintInstance:
		return g.makeMint(d)
	case ledger.BurnInstance, ledger.Detach:
		return g.instance(d, ledger.InstanceArg)
	case ledger.Attach:
		return g.instance(g.instance(d, ledger.InstanceArg), ledger.ParentArg)
	case ledger.PlaceInSlot, ledger.RemoveFromSlot, ledger.SwapSlots:
		return g.makeSlots(d)
	case ledger.PlaceInGrid, ledger.RemoveFromGrid, ledger.MoveInGrid:
		return g.makeGrid(d)
	default:
		return g.makeRegistration(d)
	}
}

func (g *Gen) makeContainer(d *draft) *draft {
	kind := ledger.ContainerKind(1 + g.rng.IntN(3))
	g.newID(d, 0, g.knobs.Containers, ledger.CreateName)
	d.add(ledger.CreateKind, int64(kind))
	switch g.rng.IntN(4) {
	case 0:
		d.null(ledger.CreateOwner)
	case 1:
		d.add(ledger.CreateOwner, g.id(3))
	}
	if kind == ledger.Slots && !g.wild() {
		d.add(ledger.CreateSlotCount, 1+g.rng.Int64N(g.knobs.MaxSlots))
	}
	if kind == ledger.Grid && !g.wild() {
		d.add(ledger.CreateGridWidth, 1+g.rng.Int64N(g.knobs.MaxSide))
	}
	if kind == ledger.Grid && !g.wild() {
		d.add(ledger.CreateGridHeight, 1+g.rng.Int64N(g.knobs.MaxSide))
	}
	return d
}

func (g *Gen) makeFungible(d *draft) *draft {
	id, c := g.container(ledger.Standard, ledger.Grid)
	stack := g.stack(c)
	if d.Kind == ledger.AddFungible && g.chance(0.6) {
		stack = ledger.StackKey{ClassID: g.classID(true), Key: g.key()}
	}
	available := int64(0)
	if c != nil {
		available = c.stacks[stack]
	}
	if c != nil {
		available -= g.scratch.m.held(id, stack)
	}
	if d.Kind == ledger.TransferFungible {
		to, target := g.container(ledger.Standard, ledger.Grid)
		d.add(ledger.TransferFrom, id).add(ledger.TransferTo, to).add(ledger.TransferClass, stack.ClassID)
		d.add(ledger.TransferKey, stack.Key).add(ledger.TransferQuantity, g.quantity(available))
		return g.place(d, target, ledger.TransferX, ledger.TransferY, ledger.TransferRotation)
	}
	d.add(ledger.FungibleContainer, id).add(ledger.FungibleClass, stack.ClassID)
	switch d.Kind {
	case ledger.AddFungible:
		d.add(ledger.FungibleKey, stack.Key).add(ledger.FungibleQuantity, g.addition(stack.ClassID))
		return g.place(d, c, ledger.AddX, ledger.AddY, ledger.AddRotation)
	case ledger.RemoveFungible:
		d.add(ledger.FungibleKey, stack.Key).add(ledger.FungibleQuantity, g.quantity(available))
	case ledger.MergeStacks:
		d.add(ledger.MergeFromKey, stack.Key).add(ledger.MergeToKey, g.key())
	case ledger.SplitStack:
		d.add(ledger.SplitFromKey, stack.Key).add(ledger.SplitToKey, g.key()).add(ledger.SplitQuantity, g.quantity(available))
		return g.place(d, c, ledger.SplitX, ledger.SplitX+1, ledger.SplitX+2)
	case ledger.ConsolidateStacks:
		if g.chance(0.5) {
			d.add(ledger.ConsolidateKey, g.key())
		}
	}
	return d
}

// place may set x, y and rotation: x and y either both or not at all.
func (g *Gen) place(d *draft, c *container, x, y, rotation int) *draft {
	if (c == nil || c.kind != ledger.Grid) && !g.wild() {
		return d
	}
	if g.chance(0.5) {
		width, height := int64(3), int64(3)
		if c != nil {
			width, height = c.width, c.height
		}
		if c != nil && len(c.things) > 0 && g.chance(0.2) {
			t, _ := pick(g, c.things)
			d.add(x, t.x).add(y, t.y)
		} else {
			d.add(x, g.coordinate(width)).add(y, g.coordinate(height))
		}
	}
	if g.chance(0.3) {
		d.add(rotation, 90*g.rng.Int64N(2))
	}
	return d
}

func (g *Gen) makeMint(d *draft) *draft {
	d.add(ledger.MintClass, g.classID(false))
	if g.chance(0.5) {
		d.add(ledger.MintKey, g.key())
	}
	if g.chance(0.4) {
		return d
	}
	id, c := g.container(ledger.Slots, ledger.Grid)
	d.add(ledger.MintContainer, id)
	if c != nil && c.kind == ledger.Slots && !g.wild() || g.chance(0.03) {
		slots := int64(2)
		if c != nil {
			slots = c.slotCount
		}
		d.add(ledger.MintSlot, g.coordinate(slots))
		if g.wild() {
			d.add(ledger.MintRotation, 0)
		}
		return d
	}
	return g.place(d, c, ledger.MintX, ledger.MintY, ledger.MintRotation)
}

// instance sets argument i to a living instance, one minted earlier in the transaction, or any id.
func (g *Gen) instance(d *draft, i int) *draft {
	if n := len(g.scratch.minted); n > 0 && g.chance(0.4) {
		d.Ref |= 1 << i
		return d.add(i, g.rng.Int64N(int64(n)))
	}
	living := g.scratch.m.InstanceIDs()
	if id, ok := pick(g, living); ok && !g.wild() {
		return d.add(i, id)
	}
	return d.add(i, 1+g.rng.Int64N(g.scratch.m.nextInstance+1))
}

func (g *Gen) makeSlots(d *draft) *draft {
	id, c := g.container(ledger.Slots)
	slots := int64(2)
	if c != nil {
		slots = c.slotCount
	}
	d.add(ledger.SlotContainer, id).add(ledger.SlotIndex, g.coordinate(slots))
	switch d.Kind {
	case ledger.PlaceInSlot:
		return g.instance(d, ledger.SlotInstance)
	case ledger.SwapSlots:
		if g.chance(0.5) {
			other, oc := g.container(ledger.Slots)
			d.add(ledger.SwapOther, other)
			if oc != nil {
				slots = oc.slotCount
			}
		}
		return d.add(ledger.SwapB, g.coordinate(slots))
	}
	return d
}

func (g *Gen) makeGrid(d *draft) *draft {
	id, c := g.container(ledger.Grid)
	d.add(ledger.GridContainer, id)
	switch d.Kind {
	case ledger.PlaceInGrid:
		return g.place(g.instance(d, ledger.GridInstance), c, ledger.GridX, ledger.GridY, ledger.GridRotation)
	case ledger.RemoveFromGrid:
		if c != nil && !g.wild() {
			for _, t := range c.things {
				if t.instance != 0 && g.chance(0.5) {
					return d.add(ledger.GridInstance, t.instance)
				}
			}
		}
		return g.instance(d, ledger.GridInstance)
	}
	width, height := int64(3), int64(3)
	if c != nil {
		width, height = c.width, c.height
	}
	d.add(ledger.MoveX, g.coordinate(width)).add(ledger.MoveY, g.coordinate(height))
	if c != nil && !g.wild() {
		if t, ok := pick(g, c.things); ok {
			d.add(ledger.MoveX, t.x+g.rng.Int64N(t.w)).add(ledger.MoveY, t.y+g.rng.Int64N(t.h))
		}
	}
	d.add(ledger.MoveToX, g.coordinate(width)).add(ledger.MoveToY, g.coordinate(height))
	if g.chance(0.3) {
		d.add(ledger.MoveRotation, 90*g.rng.Int64N(2))
	}
	return d
}

func (g *Gen) makeRegistration(d *draft) *draft {
	if d.Kind == ledger.RegisterClass {
		g.newID(d, 1, g.knobs.Classes, ledger.ClassCode)
		d.add(ledger.ClassName, 0)
		if g.chance(0.6) {
			d.add(ledger.ClassFungible, g.rng.Int64N(2))
		}
		if g.chance(0.3) {
			d.add(ledger.ClassDecimals, g.rng.Int64N(ledger.MaxDecimals+1))
		}
		return d
	}
	d.add(ledger.ShapeClass, g.classID(g.chance(0.5)))
	switch g.rng.IntN(6) {
	case 0:
		d.null(ledger.ShapeKey)
	case 1, 2, 3, 4:
		d.add(ledger.ShapeKey, g.key())
	}
	side := func() int64 {
		if g.chance(0.05) {
			return ledger.MaxSide - g.rng.Int64N(2)
		}
		return 1 + g.rng.Int64N(g.knobs.MaxShape)
	}
	return d.add(ledger.ShapeWidth, side()).add(ledger.ShapeHeight, side())
}
