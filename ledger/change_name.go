package ledger

// Changes to names and codes, and the ids that the ledger assigns to containers and
// classes that are created with a name or code but without an id.

// The tables in State.names.
const (
	containerNames = iota
	classCodes
	nameTables
)

// markNamed records in a container or class whether it has a name, so that
// those without one need no lookup.
func (s *State) markNamed(table int, owner uint32, named bool) {
	if table == containerNames {
		s.containers.at(owner).named = named
	} else {
		s.classes.at(owner).coded = named
	}
}

func (s *State) linkName(table int, ref uint32) {
	t := &s.names[table]
	t.link(ref)
	owner := t.labels.at(ref).owner
	s.markNamed(table, owner, true)
	if table != containerNames {
		return
	}
	var buf nameBuffer
	text := t.text(ref, &buf)
	s.byName.insert(ref, t.at(text))
	if o := s.containers.at(owner).owner; o != 0 {
		s.byOwnerName.insert(ref, s.ownedAt(o, text))
	}
}

func (s *State) unlinkName(table int, ref uint32) {
	t := &s.names[table]
	t.unlink(ref)
	owner := t.labels.at(ref).owner
	s.markNamed(table, owner, false)
	if table != containerNames {
		return
	}
	var buf nameBuffer
	text := t.text(ref, &buf)
	s.byName.remove(t.at(text))
	if o := s.containers.at(owner).owner; o != 0 {
		s.byOwnerName.remove(s.ownedAt(o, text))
	}
}

// nameItem returns the digest item of a name.
func (s *State) nameItem(table int, ref uint32) uint64 {
	var buf nameBuffer
	t := &s.names[table]
	text, owner := mixBytes(t.text(ref, &buf)), t.labels.at(ref).owner
	if table == containerNames {
		return mix4Words(tagContainerName, uint64(s.containers.at(owner).id), text, 0, 0)
	}
	return mix4Words(tagClassCode, uint64(s.classes.at(owner).id), text, 0, 0)
}

// giveName names a container or class that has no name. The new name must not be in use.
func (s *State) giveName(table int, owner uint32, text string) {
	ref := s.names[table].make(owner, []byte(text))
	s.linkName(table, ref)
	s.digest += s.nameItem(table, ref)
	s.undo.push(undoNamed, ref, uint64(table))
	s.part2 = true
}

// takeName removes the name of a container or class.
func (s *State) takeName(table int, owner uint32) {
	ref := s.names[table].of(owner)
	s.digest -= s.nameItem(table, ref)
	s.unlinkName(table, ref)
	s.undo.push(undoUnnamed, ref, uint64(table))
	s.undo.dropped = true
}

// rename replaces the name of a container or class, and returns the previous
// name. "" means no name.
func (s *State) rename(table int, owner uint32, text string) (was string) {
	was = s.nameOf(table, owner)
	if was == text {
		return was
	}
	if was != "" {
		s.takeName(table, owner)
	}
	if text != "" {
		s.giveName(table, owner, text)
	}
	return was
}

// nameOf returns the name of a container or class, or "" if it has none.
func (s *State) nameOf(table int, owner uint32) string {
	if table == containerNames && !s.containers.at(owner).named || table == classCodes && !s.classes.at(owner).coded {
		return ""
	}
	var buf nameBuffer
	t := &s.names[table]
	return string(t.text(t.of(owner), &buf))
}

// findNamed returns the container or class with that name, or 0.
func (s *State) findNamed(table int, text string) uint32 {
	var buf nameBuffer
	t := &s.names[table]
	if ref := t.find(buf[:copy(buf[:], text)]); ref != 0 {
		return t.labels.at(ref).owner
	}
	return 0
}

// setClassName changes the display name of a class.
func (s *State) setClassName(kref uint32, name string) {
	k := s.classes.at(kref)
	s.undo.push(undoClassName, kref, uint64(len(s.undo.names)))
	s.undo.names = append(s.undo.names, k.name)
	before := classItem(k)
	k.name = name
	s.digest += classItem(k) - before
}

// assignID returns the next id for a container or class that is created without
// one. The caller creates it, and records the id with decideID.
func (s *State) assignID(table int) int64 {
	return s.free[table].next(s.undo.assigned[table], s.assigned[table], func(id int64) bool {
		if table == containerNames {
			return s.findContainer(id) != 0
		}
		return s.findClass(id) != 0
	})
}

// decideID records the id assigned to the container or class that the operation
// creates.
func (s *State) decideID(table int, op *Op, id int64) {
	s.assigned[table] = id + 1
	op.setAssigned(id)
	s.doing.out.Decisions = append(s.doing.out.Decisions, Decision{Op: s.doing.op, ID: id})
}
