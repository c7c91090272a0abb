package history

import (
	"assetledger/ledger"
)

// thing names what an entry is of, within a container.
type thing struct {
	kind      ledger.ChangeKind // StackChanged, HeldChanged, InstanceIn
	id, other int64
}

// A past collects the last change of each thing, from the newest entry back.
type past struct {
	made   *ledger.Past
	seen   map[thing]struct{}
	unheld map[thing]int64 // of a stack: what is held of it by holds not found yet; none: nothing

	stacks, instances int // made
	things            int // seen or made since more was called
	examined          int
	more              func(bytes int64) error
	err               error
}

const (
	// moreAfter is how many entries At examines before it asks for more.
	moreAfter = 4096
	seenBytes = 96 // that a thing takes in seen
)

// At makes the state of the container alone as it was after commit seq. After
// every few thousand entries it calls more with the bytes of memory that it has
// taken since, and ends with the error that more returns.
func (v *View) At(seq uint64, more func(bytes int64) error) (*ledger.State, error) {
	info, err := v.infoAt(seq)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return ledger.EmptyPast(seq), nil
	}
	p := past{made: v.x.newPast(seq, *info), seen: make(map[thing]struct{}), unheld: make(map[thing]int64), more: more}
	var stacks, instances int
	var updated uint64
	err = v.Newest(seq, func(e *Entry) bool {
		if p.examined == 0 {
			stacks, instances, updated = e.Stacks, e.Instances, e.Seq
		}
		if e.Kind == ledger.ContainerCreated {
			p.examined++
			return false
		}
		return p.take(e) && (p.stacks < stacks || p.instances < instances || len(p.unheld) > 0)
	})
	if err = firstError(p.err, err); err != nil {
		return nil, err
	}
	if p.examined == 0 {
		updated = info.UpdatedSeq
	}
	return p.made.State(updated), nil
}

// BareAt is At without what is in the container: its form and its counts.
func (v *View) BareAt(seq uint64) (*ledger.State, error) {
	info, err := v.infoAt(seq)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return ledger.EmptyPast(seq), nil
	}
	stacks, instances, updated := 0, 0, info.UpdatedSeq
	err = v.Newest(seq, func(e *Entry) bool {
		stacks, instances, updated = e.Stacks, e.Instances, e.Seq
		return false
	})
	return v.x.newPast(seq, *info).Bare(updated, stacks, instances), err
}

func (x *Index) newPast(seq uint64, info ledger.ContainerInfo) *ledger.Past {
	used, _ := x.pasts.Get().(*ledger.State)
	return ledger.NewPast(seq, info, used)
}

// Reclaim takes a state of At or BareAt back, which nobody reads any more: the
// next one uses its memory.
func (x *Index) Reclaim(s *ledger.State) { x.pasts.Put(s) }

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

// take takes an entry, if nothing newer of the same thing was taken; false ends it.
func (p *past) take(e *Entry) bool {
	if p.examined++; p.examined%moreAfter == 0 {
		if p.err = p.more(int64(p.things) * (seenBytes + ledger.PastThing)); p.err != nil {
			return false
		}
		p.things = 0
	}
	c := &e.Change
	switch c.Kind {
	case ledger.StackChanged, ledger.HeldChanged:
		stack := thing{ledger.StackChanged, c.ClassID, c.Key}
		if p.first(stack) && c.Quantity > 0 {
			p.made.Stack(c)
			p.stacks++
			if c.Held > 0 {
				p.unheld[stack] = c.Held
			}
		}
		if c.Kind == ledger.HeldChanged && p.first(thing{ledger.HeldChanged, c.Hold.ID, 0}) && c.Hold.Quantity > 0 {
			p.made.Hold(&c.Hold)
			if p.unheld[stack] -= c.Hold.Quantity; p.unheld[stack] == 0 {
				delete(p.unheld, stack)
			}
		}
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		if p.first(thing{ledger.InstanceIn, c.InstanceID, 0}) && c.Kind != ledger.InstanceOut {
			p.made.Instance(c)
			p.instances++
		}
	}
	return true
}

func (p *past) first(t thing) bool {
	if _, known := p.seen[t]; known {
		return false
	}
	p.seen[t] = struct{}{}
	p.things++
	return true
}
