package ledger

import (
	"bytes"
	"cmp"
	"math"
	"slices"
)

// The names and codes of a checkpoint, and the next ids to assign.

// readAssigned reads the item of the next ids to assign, which must be the first item.
func (l *checkpointLoader) readAssigned() {
	d, s := l.d, l.s
	if l.phase != itemClass || l.class != 0 || s.part2 {
		d.fault("the next ids to assign are not the first item")
	}
	s.part2 = true
	for table := range s.assigned {
		s.assigned[table] = FirstAssigned + int64(d.number(math.MaxInt64-FirstAssigned))
	}
}

// readName reads an item with the name of the container or class before it.
func (l *checkpointLoader) readName() {
	d, s := l.d, l.s
	table, owner := containerNames, l.container
	late := owner != 0 && s.containers.at(owner).stacks != 0
	if l.phase == itemClass {
		table, owner, late = classCodes, l.class, l.shapes.last() != 0
	}
	name := d.text(MaxContainerName)
	valid := ValidContainerName(name)
	if table == classCodes {
		valid = ValidClassCode(name)
	}
	t := &s.names[table]
	again := t.labels.next > 1 && t.labels.at(t.labels.next-1).owner == owner
	if d.err == nil && (!valid || owner == 0 || late || again || l.phase > itemContainer || !s.part2) {
		d.fault("the name %q is invalid or out of place", name)
	}
	if d.err != nil {
		return
	}
	t.make(owner, name)
	s.markNamed(table, owner, true)
}

// endNames builds the indexes of the names in one table and, for the names of
// containers, the ordered lists.
func (l *checkpointLoader) endNames(table int) {
	s := l.s
	t := &s.names[table]
	var buf, other nameBuffer
	t.byText.fill(t.labels.next, func(ref uint32) uint64 { return placeBytes(t.text(ref, &buf)) })
	t.byOwner.fill(t.labels.next, func(ref uint32) uint64 { return ownerHash(t.labels.at(ref).owner) })
	refs := make([]uint32, 0, t.labels.next)
	for ref := uint32(1); ref < t.labels.next; ref++ {
		refs = append(refs, ref)
	}
	compare := func(a, b uint32) int { return bytes.Compare(t.text(a, &buf), t.text(b, &other)) }
	slices.SortFunc(refs, compare)
	for i := 1; i < len(refs); i++ {
		if compare(refs[i-1], refs[i]) == 0 {
			l.d.fault("the name %q occurs twice", t.text(refs[i], &buf))
			return
		}
	}
	if table != containerNames {
		return
	}
	s.byName.fill(refs)
	owner := func(ref uint32) int64 { return s.containers.at(t.labels.at(ref).owner).owner }
	refs = slices.DeleteFunc(refs, func(ref uint32) bool { return owner(ref) == 0 })
	slices.SortStableFunc(refs, func(a, b uint32) int { return cmp.Compare(owner(a), owner(b)) })
	s.byOwnerName.fill(refs)
}
