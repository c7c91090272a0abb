package modeltest

import (
	"slices"
	"strings"

	"assetledger/ledger"
)

// Pools of strings. They are small, so that names are often in use already, and
// include some at the limits of what is valid.
var (
	containerNames = []string{"a", "users/42/wallet", "users/42", "7f3a-11", "shelf:A.3", "users/with+a/rather.long@name_of/more-than/31",
		"Z" + strings.Repeat("9", ledger.MaxContainerName-1)}
	classCodes = []string{"EUR", "sword/iron", "0-9", "a", "C" + strings.Repeat("0", ledger.MaxClassCode-1)}
	names      = []string{"gold", "Ω", "a \"quoted\" \\ name", "<&>", "\u2028", "𝄞 music", "x"}
)

// Names returns all names of containers and codes of classes that a generator uses.
func Names() []string { return append(slices.Clone(containerNames), classCodes...) }

func (g *Gen) text(pool []string) string { return pool[g.rng.IntN(len(pool))] }

// newID sets argument 0, the id, of an operation that creates a container (sort 0) or
// class (sort 1). It may also mark the name or code (the argument at index naming) as
// given. If it does, it may omit the id.
func (g *Gen) newID(d *draft, sort, pool, naming int) {
	named := g.chance(g.knobs.Names)
	if named {
		d.add(naming, 0) // Gen.named chooses the text
	}
	switch {
	case named && g.chance(0.5): // the ledger assigns one
	case named && g.chance(0.1):
		d.add(0, g.scratch.m.nextAssigned[sort]+g.rng.Int64N(3))
	default:
		d.add(0, g.id(pool))
	}
}

// named sets the strings of an operation: those of the string arguments that are given,
// and sometimes names in place of integers.
func (g *Gen) named(d *draft) ledger.Op {
	var texts []string
	for i, arg := range d.Kind.Args() {
		if op := ledger.Op(*d); !op.Given(i) {
			continue
		}
		text := ""
		switch arg.Type {
		case ledger.ArgName:
			text = g.text(names)
		case ledger.ArgContainerName, ledger.ArgContainerNameOrNull:
			text = g.text(containerNames)
		case ledger.ArgClassCode, ledger.ArgClassCodeOrNull:
			text = g.text(classCodes)
		case ledger.ArgContainer:
			if c := g.scratch.m.containers[d.Args[i]]; c != nil {
				text = c.name
			}
			text = g.instead(d, i, text, containerNames)
		case ledger.ArgClass:
			if c := g.scratch.m.classes[d.Args[i]]; c != nil {
				text = c.code
			}
			text = g.instead(d, i, text, classCodes)
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	d.Name = strings.Join(texts, "\n")
	return ledger.Op(*d)
}

// instead may replace argument i, an integer, with a name, usually the right one. It
// returns that name, or "" if it replaces nothing.
func (g *Gen) instead(d *draft, i int, name string, pool []string) string {
	if g.chance(g.knobs.Names * g.knobs.Wild / 2) {
		name = g.text(pool)
	}
	if name == "" || !g.chance(g.knobs.Names) {
		return ""
	}
	d.Ref |= 1 << i
	d.Args[i] = 0
	return name
}

func (g *Gen) makeRename(d *draft) *draft {
	if d.Kind == ledger.RenameContainer {
		id, _ := g.container(ledger.Standard, ledger.Slots, ledger.Grid)
		d.add(ledger.RenameContainerID, id)
		if g.chance(0.3) {
			return d.null(ledger.RenameContainerName)
		}
		return d.add(ledger.RenameContainerName, 0)
	}
	d.add(ledger.RenameClassID, g.classID(g.chance(0.7)))
	how := g.rng.IntN(5)
	if how < 3 {
		d.add(ledger.RenameClassName, 0)
	}
	switch how {
	case 0, 3:
		d.add(ledger.RenameClassCode, 0)
	case 1, 4:
		d.null(ledger.RenameClassCode)
	}
	return d
}

func (g *Gen) makeCondition(d *draft) *draft {
	switch d.Kind {
	case ledger.RequireBalance:
		id, c := g.container(ledger.Standard, ledger.Grid)
		stack := g.stack(c)
		quantity := int64(0)
		if c != nil {
			quantity = c.stacks[stack]
		}
		d.with(id, stack.ClassID, stack.Key)
		how := g.rng.IntN(3)
		if how != 0 {
			d.add(ledger.BalanceAtLeast, g.near(quantity-g.scratch.m.held(id, stack)))
		}
		if how != 1 {
			d.add(ledger.BalanceAtMost, g.near(quantity))
		}
		return d
	case ledger.RequireUnchanged:
		id, c := g.container(ledger.Standard, ledger.Slots, ledger.Grid)
		since := uint64(0)
		if c != nil {
			since = c.updated
		}
		return d.with(id, g.near(int64(since)))
	}
	g.instance(d, ledger.StandsInstance)
	at := ledger.InstanceInfo{}
	if d.Ref == 0 && g.scratch.m.instances[d.Args[0]] != nil {
		at = g.scratch.m.locate(d.Args[0])
	}
	if at.ContainerID == 0 || g.wild() {
		at.ContainerID, _ = g.container(ledger.Slots, ledger.Grid)
	}
	d.add(ledger.StandsContainer, at.ContainerID)
	if at.Location == ledger.InSlot && g.chance(0.6) || g.wild() {
		d.add(ledger.StandsSlot, g.near(int64(at.SlotIndex)))
	}
	return d
}

// near returns v or, less often, a number next to it; never below 0.
func (g *Gen) near(v int64) int64 {
	switch g.rng.IntN(8) {
	case 0:
		return max(v-1, 0)
	case 1:
		return max(v, v+1)
	}
	return v
}

func (g *Gen) makeHold(d *draft) *draft {
	holds := g.scratch.m.HoldIDs()
	if d.Kind != ledger.HoldFungible {
		id, ok := pick(g, holds)
		if !ok || g.wild() {
			id = g.id(20)
		}
		d.add(ledger.HoldID, id)
		if d.Kind == ledger.ReleaseHold {
			return d
		}
		return g.settle(d, g.scratch.m.holds[id])
	}
	id, c := g.container(ledger.Standard, ledger.Grid)
	stack := g.stack(c)
	available := int64(0)
	if c != nil {
		available = c.stacks[stack] - g.scratch.m.held(id, stack)
	}
	d.with(g.id(20), id, stack.ClassID, stack.Key, g.quantity(available))
	now := max(g.model.Now/1e9, 3)
	switch g.rng.IntN(8) {
	case 0, 1, 2:
		d.add(ledger.HoldExpiresIn, 1+g.rng.Int64N(20))
	case 3, 4:
		d.add(ledger.HoldExpiresAt, now-2+g.rng.Int64N(20))
	case 5:
		d.add(ledger.HoldExpiresIn, ledger.MaxPeriod)
	case 6:
		d.add(ledger.HoldExpiresAt, ledger.MaxTime)
	}
	return d
}

func (g *Gen) settle(d *draft, h *hold) *draft {
	to, target := g.container(ledger.Standard, ledger.Grid)
	if h != nil && g.chance(0.05) {
		to, target = h.container, g.scratch.m.containers[h.container]
	}
	d.add(ledger.SettleTo, to)
	if g.chance(0.6) {
		held := int64(0)
		if h != nil {
			held = h.quantity
		}
		d.add(ledger.SettleQuantity, g.quantity(held))
	}
	if g.chance(0.5) {
		d.add(ledger.SettleKeep, g.rng.Int64N(2))
	}
	return g.place(d, target, ledger.SettleX, ledger.SettleX+1, ledger.SettleX+2)
}
