package history

import (
	"assetledger/ledger"
)

// thing identifies the subject of an entry within a container.
type thing struct {
	kind      ledger.ChangeKind // StackChanged, HeldChanged, InstanceIn
	id, other int64
}

// A past collects the last change of each thing, beginning with the newest entry.
type past struct {
	made   *ledger.Past
	seen   map[thing]struct{}
	unheld map[thing]int64 // for a stack, the quantity held by holds that have not been found yet; missing means 0

	v        *View
	seq      uint64
	info     *ledger.ContainerInfo
	entry    Entry
	updated  uint64
	left     int // number of stacks and instances that have not been made yet
	part     int // number of the file or generation of the previous entry
	inRun    bool
	things   int // number of things seen or made since the function more was last called
	examined int
	more     func(bytes int64) error
	err      error
}

const (
	// moreAfter is the number of entries after which At calls the function more.
	moreAfter = 4096
	seenBytes = 96 // bytes that a thing takes in seen
)

// At returns a state that contains only the container, as of commit seq. After
// every few thousand entries it calls the function more with the number of bytes
// allocated since the last call. If that function returns an error, At stops and returns
// the error. If there is much to find, At also calls the function, with 0, before it
// allocates the state.
func (v *View) At(seq uint64, more func(bytes int64) error) (*ledger.State, error) {
	info, err := v.infoAt(seq)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return ledger.EmptyPast(seq), nil
	}
	p := past{v: v, seq: seq, info: info, seen: make(map[thing]struct{}), unheld: make(map[thing]int64), more: more, updated: info.UpdatedSeq}
	err = v.newestIn(uint64(v.container), seq, true, p.collect)
	if err = firstError(err, p.err); err != nil {
		return nil, err
	}
	if p.made == nil {
		p.made = v.x.newPast(seq, *info)
	}
	return p.made.State(p.updated), nil
}

// collect processes an entry of the container. The first entry says how much there
// is to find. After a run of carried entries, no older entry of the same file is
// needed.
func (p *past) collect(part int, b []byte) step {
	carried := isCarried(b)
	if p.inRun && part == p.part && !carried {
		p.inRun = false
		return before
	}
	p.inRun, p.part = carried, part
	e := &p.entry
	if p.err = e.decode(b, p.v.container); p.err != nil { // the checksum of its block is right, so this is a defect
		return stop
	}
	if p.examined == 0 {
		p.left, p.updated = e.Stacks+e.Instances, e.Seq
		if p.left >= moreAfter { // a read that waits for a turn must not hold a state
			if p.err = p.more(0); p.err != nil {
				return stop
			}
		}
		p.made = p.v.x.newPast(p.seq, *p.info)
	}
	if e.Kind == ledger.ContainerCreated {
		p.examined++
		return stop
	}
	if p.take(e) && (p.left > 0 || len(p.unheld) > 0) {
		return goOn
	}
	return stop
}

// BareAt returns a state that contains only the form of the container and its counts,
// as of commit seq, and not its contents.
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

// Reclaim takes back a state returned by At or BareAt that is no longer used, so
// that the next one can reuse its memory.
func (x *Index) Reclaim(s *ledger.State) { x.pasts.Put(s) }

// infoAt returns the form of the container as of commit seq, or nil if it did not
// exist.
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

// take records an entry, unless a newer one of the same thing was recorded. It
// returns false to end the search.
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
			p.left--
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
			p.left--
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
