package ledger

// names checks the names of one table. There must be n of them.
func (v *verifier) names(table, n int) {
	s := v.s
	t := &s.names[table]
	if t.byText.len() != n || t.byOwner.len() != n {
		v.failf("%d have a name; %d names are in the index by text, %d in the index by owner", n, t.byText.len(), t.byOwner.len())
	}
	if table == classCodes {
		for _, kref := range v.tree("classes", classesByID{s}, s.classTree) {
			if k := s.classes.at(kref); k.coded {
				v.name(table, kref, k.id)
			}
		}
		return
	}
	owned := 0
	for _, cref := range v.tree("containers", containersByID{s}, s.byID) {
		c := s.containers.at(cref)
		if !c.named {
			continue
		}
		v.name(table, cref, c.id)
		if c.owner != 0 {
			owned++
		}
	}
	var buf, other nameBuffer
	v.order("names", &s.byName, n, func(a, b uint32) bool { return t.at(t.text(a, &other))(b) > 0 })
	v.order("names by owner", &s.byOwnerName, owned, func(a, b uint32) bool {
		return s.ownedAt(s.containers.at(t.labels.at(a).owner).owner, t.text(a, &buf))(b) > 0
	})
}

// name checks the name of one container or class.
func (v *verifier) name(table int, owner uint32, id int64) {
	var buf nameBuffer
	t := &v.s.names[table]
	ref := t.of(owner)
	if ref == 0 {
		v.failf("the name of container or class %d is not found", id)
		return
	}
	if text := t.text(ref, &buf); t.find(text) != ref || !ValidContainerName(text) {
		v.failf("container or class %d has the name %q, which is invalid or does not lead to it", id, text)
	}
	v.digest += v.s.nameItem(table, ref)
}

// order checks that n records are in order, in pages that are neither empty nor too long.
func (v *verifier) order(name string, o *ordered, n int, less func(a, b uint32) bool) {
	last, count := uint32(0), 0
	for _, page := range o.pages {
		if len(page) == 0 || len(page) > pageLen {
			v.failf("%s: a page has %d entries", name, len(page))
		}
		for _, ref := range page {
			if count++; last != 0 && !less(last, ref) {
				v.failf("%s: label %d comes before %d", name, last, ref)
			}
			last = ref
		}
	}
	if count != n {
		v.failf("%s: %d are in order, %d have a name", name, count, n)
	}
}
