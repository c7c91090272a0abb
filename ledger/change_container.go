package ledger

// Changes to containers, classes and shapes. The link and unlink functions only add
// a record to its index and trees and to the ids in use, or remove it from them; undo
// uses them too. The functions that make a change also update the digest and, except for
// changeUpdated, record how to undo the change.

func containerHash(id int64) uint64 { return place2Words(uint64(id), 0) }

// findContainer returns the container with that id, or 0.
func (s *State) findContainer(id int64) uint32 {
	for p := s.containerIndex.probe(containerHash(id)); ; {
		ref := p.next()
		if ref == 0 || s.containers.at(ref).id == id {
			return ref
		}
	}
}

func (s *State) linkContainer(ref uint32) {
	c := s.containers.at(ref)
	s.containerIndex.add(containerHash(c.id), ref)
	s.free[containerNames].used(c.id)
	treeInsert(containersByID{s}, &s.byID, ref)
	treeInsert(containersByKind{s}, &s.byKind, ref)
	if c.owner != 0 {
		treeInsert(containersByOwner{s}, &s.byOwner, ref)
	}
}

func (s *State) unlinkContainer(ref uint32) {
	c := s.containers.at(ref)
	s.containerIndex.remove(containerHash(c.id), ref)
	s.free[containerNames].freed(c.id)
	treeRemove(containersByID{s}, &s.byID, ref)
	treeRemove(containersByKind{s}, &s.byKind, ref)
	if c.owner != 0 {
		treeRemove(containersByOwner{s}, &s.byOwner, ref)
	}
}

// releaseContainer frees the records of an unlinked container.
func (s *State) releaseContainer(ref uint32) {
	if g := s.containers.at(ref).grid; g != 0 {
		if s.fit.of == g {
			s.fit.of = 0
		}
		s.grids.release(g)
	}
	s.containers.release(ref)
}

// makeContainer creates an empty container; name may be "". Neither the id nor the
// name may be in use.
func (s *State) makeContainer(made container, name string) {
	ref, c := s.containers.alloc()
	made.created, made.updated = s.seq, s.seq
	*c = made
	if c.kind == Grid {
		c.grid, _ = s.grids.alloc()
	}
	s.linkContainer(ref)
	s.digest += containerItem(c) + updatedItem(c) + s.containerCountItems(c)
	s.undo.push(undoContainerMade, ref, 0)
	if name != "" {
		s.giveName(containerNames, ref, name)
	}
}

// dropContainer removes an empty container.
func (s *State) dropContainer(ref uint32) {
	c := s.containers.at(ref)
	if c.named {
		s.takeName(containerNames, ref)
	}
	s.digest -= containerItem(c) + updatedItem(c) + s.containerCountItems(c)
	s.unlinkContainer(ref)
	s.undo.drop(undoContainerDropped, ref)
}

// touch sets the container's updated_seq to the commit being applied.
func (s *State) touch(ref uint32) {
	c := s.containers.at(ref)
	if c.updated == s.seq {
		return
	}
	s.undo.push(undoUpdated, ref, c.updated)
	s.changeUpdated(c)
}

// changeUpdated is like touch, but does not record how to undo the change.
func (s *State) changeUpdated(c *container) {
	before := updatedItem(c)
	c.updated = s.seq
	s.digest += updatedItem(c) - before
}

func classHash(id int64) uint64 { return place2Words(uint64(id), 1) }

// findClass returns the class with that id, or 0.
func (s *State) findClass(id int64) uint32 {
	for p := s.classIndex.probe(classHash(id)); ; {
		ref := p.next()
		if ref == 0 || s.classes.at(ref).id == id {
			return ref
		}
	}
}

func (s *State) linkClass(ref uint32) {
	id := s.classes.at(ref).id
	s.classIndex.add(classHash(id), ref)
	s.free[classCodes].used(id)
	treeInsert(classesByID{s}, &s.classTree, ref)
}

func (s *State) unlinkClass(ref uint32) {
	id := s.classes.at(ref).id
	s.classIndex.remove(classHash(id), ref)
	s.free[classCodes].freed(id)
	treeRemove(classesByID{s}, &s.classTree, ref)
}

// makeClass registers a class; code may be "". Neither the id nor the code may be in use.
func (s *State) makeClass(made class, code string) {
	ref, k := s.classes.alloc()
	*k = made
	k.registered = s.seq
	s.linkClass(ref)
	s.digest += classItem(k) + addedItem(k) + removedItem(k) + mintItems(k) + classCountItems(k)
	s.undo.push(undoClassMade, ref, 0)
	if code != "" {
		s.giveName(classCodes, ref, code)
	}
}

// addTotal adds a quantity that entered the ledger to the class's total_added.
func (s *State) addTotal(kref uint32, quantity int64) {
	k := s.classes.at(kref)
	before := addedItem(k)
	k.added = k.added.Add(uint64(quantity))
	s.digest += addedItem(k) - before
	s.undo.push(undoAdded, kref, uint64(quantity))
}

// removeTotal adds a quantity that left the ledger to the class's total_removed.
func (s *State) removeTotal(kref uint32, quantity int64) {
	k := s.classes.at(kref)
	before := removedItem(k)
	k.removed = k.removed.Add(uint64(quantity))
	s.digest += removedItem(k) - before
	s.undo.push(undoRemoved, kref, uint64(quantity))
}

// findShape returns the shape for a class and key: the one registered for the
// key, else the one for all keys, else 0.
func (s *State) findShape(kref uint32, key int64) uint32 {
	root := s.classes.at(kref).shapes
	if ref := treeFind(shapesByKey{s}, root, rank{major: key}); ref != 0 {
		return ref
	}
	return treeFind(shapesByKey{s}, root, rank{major: anyKey})
}

func (s *State) linkShape(ref uint32) {
	treeInsert(shapesByKey{s}, &s.classes.at(s.shapes.at(ref).class).shapes, ref)
}

func (s *State) unlinkShape(ref uint32) {
	treeRemove(shapesByKey{s}, &s.classes.at(s.shapes.at(ref).class).shapes, ref)
}

// makeShape registers a shape. None may exist yet for its class and key.
func (s *State) makeShape(made shape) {
	ref, r := s.shapes.alloc()
	*r = made
	s.linkShape(ref)
	s.digest += s.shapeItem(r)
	s.undo.push(undoShapeMade, ref, 0)
}
