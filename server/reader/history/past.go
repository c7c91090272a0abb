package history

import (
	"assetledger/ledger"
)

// thing names what an entry is of, within a container.
type thing struct {
	kind      ledger.ChangeKind // StackChanged, HeldChanged, InstanceIn
	id, other int64
}

// past collects the last change of each thing, from the newest entry back.
type past struct {
	seen      map[thing]struct{}
	stacks    []ledger.Change
	holds     []ledger.Change
	instances []ledger.Change
	unheld    map[thing]int64 // of a stack: what is held of it by holds not found yet; none: nothing
}

// At makes the state of the container alone as it was after commit seq.
func (v *View) At(seq uint64) (*ledger.State, error) {
	info, err := v.infoAt(seq)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return ledger.EmptyPast(seq), nil
	}
	p := past{seen: make(map[thing]struct{}), unheld: make(map[thing]int64)}
	var last *Entry
	err = v.Newest(seq, func(e *Entry) bool {
		if last == nil {
			newest := *e
			last = &newest
			info.UpdatedSeq = e.Seq
		}
		if e.Kind == ledger.ContainerCreated {
			return false
		}
		p.take(e)
		return len(p.stacks) < last.Stacks || len(p.instances) < last.Instances || len(p.unheld) > 0
	})
	if err != nil {
		return nil, err
	}
	return ledger.NewPast(seq, *info, p.stacks, p.holds, p.instances), nil
}

// infoAt is the form of the container after commit seq, nil if there was none.
func (v *View) infoAt(seq uint64) (info *ledger.ContainerInfo, err error) {
	err = v.Lives(seq, func(e *Entry) bool {
		if e.Kind != ledger.ContainerRemoved {
			form := e.Info
			info = &form
		}
		return false
	})
	return info, err
}

// take takes an entry, if nothing newer of the same thing was taken.
func (p *past) take(e *Entry) {
	c := &e.Change
	switch c.Kind {
	case ledger.StackChanged, ledger.HeldChanged:
		stack := thing{ledger.StackChanged, c.ClassID, c.Key}
		if p.first(stack) && c.Quantity > 0 {
			p.stacks = append(p.stacks, *c)
			if c.Held > 0 {
				p.unheld[stack] = c.Held
			}
		}
		if c.Kind == ledger.HeldChanged && p.first(thing{ledger.HeldChanged, c.Hold.ID, 0}) && c.Hold.Quantity > 0 {
			p.holds = append(p.holds, *c)
			if p.unheld[stack] -= c.Hold.Quantity; p.unheld[stack] == 0 {
				delete(p.unheld, stack)
			}
		}
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		if p.first(thing{ledger.InstanceIn, c.InstanceID, 0}) && c.Kind != ledger.InstanceOut {
			p.instances = append(p.instances, *c)
		}
	}
}

func (p *past) first(t thing) bool {
	if _, known := p.seen[t]; known {
		return false
	}
	p.seen[t] = struct{}{}
	return true
}
