package ledger

// Link-cut trees determine whether an attachment would close a cycle. A query
// takes amortized time logarithmic in the size of the forest, so that no chain
// of instances, however long, can stall the ledger. The trees are stored in the
// instances, next to the parent and the children that reads use. (Sleator and
// Tarjan, A Data Structure for Dynamic Trees, 1983; Self-Adjusting Binary
// Search Trees, 1985)
//
// The forest is cut into paths that run upward. Each path is a splay tree
// ordered by depth, with the top of the path leftmost. In the root of a splay
// tree, up refers to the parent of the top of the path, but that parent's left and
// right do not refer back. The shapes of the splay trees depend on history and are
// never visible.
type pathNode struct{ left, right, up uint32 }

func (s *State) path(ref uint32) *pathNode { return &s.instances.at(ref).path }

// heads reports whether ref is the root of its splay tree.
func (s *State) heads(ref uint32) bool {
	up := s.path(ref).up
	if up == 0 {
		return true
	}
	p := s.path(up)
	return p.left != ref && p.right != ref
}

// rotate lifts ref above its parent in the splay tree.
func (s *State) rotate(ref uint32) {
	n := s.path(ref)
	upRef := n.up
	up := s.path(upRef)
	if !s.heads(upRef) {
		if over := s.path(up.up); over.left == upRef {
			over.left = ref
		} else {
			over.right = ref
		}
	}
	var moved uint32
	if up.left == ref {
		moved, up.left, n.right = n.right, n.right, upRef
	} else {
		moved, up.right, n.left = n.left, n.left, upRef
	}
	if moved != 0 {
		s.path(moved).up = upRef
	}
	n.up, up.up = up.up, ref
}

// splay makes ref the root of its splay tree.
func (s *State) splay(ref uint32) {
	for !s.heads(ref) {
		up := s.path(ref).up
		if !s.heads(up) {
			over := s.path(s.path(up).up)
			if (over.left == up) == (s.path(up).left == ref) {
				s.rotate(up)
			} else {
				s.rotate(ref)
			}
		}
		s.rotate(ref)
	}
}

// expose makes ref and all its ancestors a single path. ref becomes the lower
// end of the path and the root of its splay tree.
func (s *State) expose(ref uint32) {
	s.splay(ref)
	s.path(ref).right = 0
	for up := s.path(ref).up; up != 0; up = s.path(ref).up {
		s.splay(up)
		s.path(up).right = ref
		s.splay(ref)
	}
}

// topmost returns the root of the tree that ref is in: ref itself if it is not
// attached.
func (s *State) topmost(ref uint32) uint32 {
	s.expose(ref)
	for s.path(ref).left != 0 {
		ref = s.path(ref).left
	}
	s.splay(ref) // the amortized bound requires this after a walk
	return ref
}

// joinPath attaches child, which is the root of its tree, to parent.
func (s *State) joinPath(child, parent uint32) {
	s.expose(child)
	s.path(child).up = parent
}

// cutPath detaches child, with the tree below it, from its parent.
func (s *State) cutPath(child uint32) {
	s.expose(child)
	n := s.path(child)
	s.path(n.left).up = 0
	n.left = 0
}

// farSteps is the maximum number of steps that a read takes to the root of a tree.
const farSteps = 1000

// IsFar reports whether MayReadInstance would need too many steps for an
// instance, so that Approach must be called first. It gives up after farSteps+1 steps.
func (s *State) IsFar(id int64) bool {
	ref := s.findInstance(id)
	if ref == 0 {
		return false
	}
	steps := 0
	for up := s.path(ref).up; up != 0 && steps <= farSteps; up = s.path(up).up {
		ref = up
		steps++
	}
	for left := s.path(ref).left; left != 0 && steps <= farSteps; left = s.path(left).left {
		steps++
	}
	return steps > farSteps
}

// Approach shortens the path from an instance to the root of its tree, for later
// reads. It changes nothing visible, but like a change it needs exclusive access
// to the state. Its amortized cost is covered by the attachments that made the
// path long.
func (s *State) Approach(id int64) {
	if ref := s.findInstance(id); ref != 0 {
		s.topmost(ref)
		s.expose(ref)
	}
}

// topmostUnmoved returns the root of the tree that ref is in, as topmost does, but is
// slower and modifies nothing. Reads and Invariants use it.
func (s *State) topmostUnmoved(ref uint32) uint32 {
	for {
		for !s.heads(ref) {
			ref = s.path(ref).up
		}
		next := s.path(ref).up
		if next == 0 {
			break
		}
		ref = next
	}
	for s.path(ref).left != 0 {
		ref = s.path(ref).left
	}
	return ref
}
