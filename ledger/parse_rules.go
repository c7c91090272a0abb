package ledger

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Rules on which arguments may be combined. They need no state, so a transaction
// that breaks one is rejected before any of it runs.

// Sets of arguments by kind, as bits of Op.Has.
var (
	requiredArgs = argSet(func(a Arg) bool { return a.Required })
	xArg         = argSet(optional("x"))
	yArg         = argSet(optional("y"))
	slotArg      = argSet(optional("slot_index"))
	anyPlaceArg  = argSet(optional("x", "y", "slot_index", "rotation"))
)

func optional(names ...string) func(Arg) bool {
	return func(a Arg) bool { return !a.Required && slices.Contains(names, a.Name) }
}

// checkArguments checks the arguments of one operation together, after all are read.
func (p *requestParser) checkArguments(op *Op) bool {
	p.takeTexts(op)
	k := op.Kind
	if missing := op.neededArgs() &^ op.Has; missing != 0 {
		name := k.Args()[bits.TrailingZeros16(missing)].Name
		return p.invalid(name, "%s is missing: %s needs %s", name, k, listArguments(k))
	}
	if op.Has == requiredArgs[k] {
		if !opSpecs[k].some {
			return true
		}
		name := k.Args()[bits.OnesCount16(op.Has)].Name
		return p.invalid(name, "%s is missing: %s needs %s, and at least one of the optional ones", name, k, listArguments(k))
	}
	x, y, slot := op.Has&xArg[k] != 0, op.Has&yArg[k] != 0, op.Has&slotArg[k] != 0
	switch {
	case slot && (x || y):
		return p.invalid("slot_index", "slot_index and a place in a grid (x, y) can't be combined")
	case x && !y:
		return p.invalid("y", "y is missing: x and y must be given together")
	case y && !x:
		return p.invalid("x", "x is missing: x and y must be given together")
	case k == MintInstance && op.Has&anyPlaceArg[k] != 0 && !op.Given(MintContainer):
		return p.invalid("container_id", "container_id is missing: a place (slot_index, x, y, rotation) needs the container that it is in")
	case k == HoldFungible && op.Given(HoldExpiresIn) && op.Given(HoldExpiresAt):
		return p.invalid("expires_in", "expires_in and expires_at can't be combined")
	case k == CreateContainer:
		return p.checkSizes(op)
	}
	return true
}

// checkSizes checks a new container's size arguments against its kind.
func (p *requestParser) checkSizes(op *Op) bool {
	kind := ContainerKind(op.Args[CreateKind])
	for i := CreateSlotCount; i <= CreateGridHeight; i++ {
		of := Grid
		if i == CreateSlotCount {
			of = Slots
		}
		if op.Given(i) && kind != of {
			name := op.Kind.Args()[i].Name
			return p.invalid(name, "%s is for containers of kind %s, not %s", name, of, kind)
		}
	}
	return true
}

// listArguments lists the arguments of an operation, for errors.
func listArguments(k OpKind) string {
	var need, may []string
	for _, a := range k.Args() {
		if a.Required {
			need = append(need, a.Name)
		} else {
			may = append(may, a.Name)
		}
	}
	if len(may) == 0 {
		return strings.Join(need, ", ")
	}
	return fmt.Sprintf("%s (optional: %s)", strings.Join(need, ", "), strings.Join(may, ", "))
}
