package history

import (
	"encoding/binary"
	"slices"

	"assetledger/ledger"
)

// In a container with a long history, the last change of a stack may be a million
// entries ago. To let At find it without reading them all, a file carries along the
// last entry of each thing that a carrier selects. At intervals, a run of marked copies
// of these entries is inserted among the container's entries. After a run, At continues
// with the previous file.

// carryAfter is the number of entries before the first run. Tests lower it.
var carryAfter = 1024

// carryShare is the minimum number of entries between two runs, for each entry in
// the earlier run.
const carryShare = 4

// nextRun returns the number of entries between a run of n and the next one.
func nextRun(n int) int { return max(carryAfter, carryShare*n) }

// A carrier selects the entries of a run. It carries the last entry of a thing if
// the thing exists, or existed when the file began. In the second case an older
// file says that the thing exists, and the copy corrects that.
type carrier struct {
	entry  Entry
	fresh  bool // the mark of entry, within a run
	things map[thing]*carried
	list   []candidate // newest first
}

// carried describes a thing.
type carried struct {
	newest int  // index in list of its newest entry
	there  bool // the thing exists after that entry
	fresh  bool // the thing did not exist when the file began
	inRun  bool // fresh comes from the previous run
	stuck  bool // an entry of another thing may imply that this one exists
}

type candidate struct {
	bytes []byte
	kept  bool
	fresh bool // every thing that has its newest entry here is fresh
}

// run returns the entries to carry, oldest first, as copies to insert before an entry
// of commit seq. The function newest must call its argument with the entries of the
// container, newest first: either all since the file began, or the previous run and all
// entries after it.
func (c *carrier) run(seq uint64, newest func(fn func(entry []byte) bool)) [][]byte {
	c.things, c.list = map[thing]*carried{}, c.list[:0]
	inRun := false
	newest(func(entry []byte) bool {
		marked := isCarried(entry)
		if inRun && !marked {
			return false
		}
		inRun = marked
		at, _ := marks(entry)
		c.fresh = inRun && entry[at+1]&flagFresh != 0
		if c.entry.decode(entry, 0) != nil { // a defect, which At also finds
			clear(c.things)
			return false
		}
		return c.take(entry, inRun)
	})
	for i := range c.list {
		c.list[i].fresh = true
	}
	for _, t := range c.things {
		e := &c.list[t.newest]
		fresh := t.fresh && !t.stuck
		e.kept = e.kept || t.there || !fresh
		e.fresh = e.fresh && fresh
	}
	var run [][]byte
	for _, e := range slices.Backward(c.list) {
		if e.kept {
			run = append(run, carriedCopy(e.bytes, seq, e.fresh))
		}
	}
	return run
}

// take adds an entry. It returns false if earlier entries don't matter.
func (c *carrier) take(entry []byte, inRun bool) bool {
	e := &c.entry
	c.list = append(c.list, candidate{bytes: entry})
	switch e.Kind {
	case ledger.StackChanged:
		c.note(thing{ledger.StackChanged, e.ClassID, e.Key}, e.Quantity > 0, e.Quantity == e.Delta, inRun)
	case ledger.HeldChanged:
		stack := thing{ledger.StackChanged, e.ClassID, e.Key}
		c.note(stack, e.Quantity > 0, false, inRun)
		c.things[stack].stuck = true
		c.note(thing{ledger.HeldChanged, e.Hold.ID, 0}, e.Hold.Quantity > 0, e.Hold.Quantity == e.Delta, inRun)
	case ledger.InstanceIn, ledger.InstanceOut, ledger.InstanceMoved:
		c.note(thing{ledger.InstanceIn, e.InstanceID, 0}, e.Kind != ledger.InstanceOut, e.Kind == ledger.InstanceIn, inRun)
	case ledger.ContainerCreated:
		c.list[len(c.list)-1].kept = true
		return false
	case ledger.ContainerRemoved:
		return false
	}
	return true
}

// note adds an entry of a thing. The parameter there says whether the thing exists
// after the entry, and the parameter came says whether the entry created it. The mark
// of an entry in a run says whether the thing existed when the file began.
func (c *carrier) note(of thing, there, came, inRun bool) {
	t := c.things[of]
	if t == nil {
		t = &carried{newest: len(c.list) - 1, there: there}
		c.things[of] = t
	}
	switch marked := c.fresh; {
	case !inRun:
		t.fresh = came
	case !t.inRun:
		t.fresh, t.inRun = marked, true
	default:
		t.fresh = t.fresh && marked
	}
}

// carriedCopy returns the copy of an entry for a run before an entry of commit seq.
func carriedCopy(entry []byte, seq uint64, fresh bool) []byte {
	_, n := binary.Uvarint(entry)
	at, _ := marks(entry)
	b := binary.AppendUvarint(make([]byte, 0, len(entry)+binary.MaxVarintLen64), seq)
	at += len(b) - n
	b = append(b, entry[n:]...)
	b[at] |= flagCarried
	if b[at+1] &^= flagFresh; fresh {
		b[at+1] |= flagFresh
	}
	return b
}

// marks returns the position of the two bytes with flags in an entry, which follow
// its first two numbers.
func marks(entry []byte) (at int, ok bool) {
	for range 2 {
		for at < len(entry) && entry[at] >= 0x80 {
			at++
		}
		at++
	}
	return at, at+1 < len(entry)
}

// isCarried reports whether an entry is a copy in a run.
func isCarried(entry []byte) bool {
	at, ok := marks(entry)
	return ok && entry[at]&flagCarried != 0
}
