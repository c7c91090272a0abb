package ledger

import "math"

// Trees keep records in order, mostly the order in which reads list them. They are
// treaps: binary search trees by rank, and heaps by priority, where the priority is a
// hash of the rank under the process's secret. So the shape depends only on the
// ranks and the secret, not on the order of insertion, and the expected depth is
// logarithmic whatever ranks clients choose. A tree is a root and the links
// inside its records. (Seidel and Aragon, Randomized Search Trees, 1996)

// links are the two children of a node, 0 where there is none.
type links struct{ left, right uint32 }

// A rank is a record's position in a tree; no two nodes of a tree share one.
type rank struct{ major, minor int64 }

// lowest is below every rank in use.
var lowest = rank{math.MinInt64, math.MinInt64}

func (r rank) less(o rank) bool {
	return r.major < o.major || r.major == o.major && r.minor < o.minor
}

// priority decides how near to the root a node is. With equal priorities, the lower
// rank is nearer.
func (r rank) priority() uint64 { return place2Words(uint64(r.minor), uint64(r.major)) }

// above reports whether the node with rank r belongs nearer to the root than the node
// with rank o.
func (r rank) above(o rank) bool {
	p, q := r.priority(), o.priority()
	return p > q || p == q && r.less(o)
}

// nodes gives a tree access to its records.
type nodes interface {
	links(ref uint32) *links
	rank(ref uint32) rank
}

// side returns the link to the right child, whose ranks are higher, or the left child,
// whose ranks are lower.
func (l *links) side(right bool) *uint32 {
	if right {
		return &l.right
	}
	return &l.left
}

// treeInsert adds ref, whose rank is not yet in the tree.
func treeInsert(t nodes, root *uint32, ref uint32) {
	r := t.rank(ref)
	at := root
	for *at != 0 {
		other := t.rank(*at)
		if r.above(other) {
			break
		}
		at = t.links(*at).side(other.less(r))
	}
	l := t.links(ref)
	l.left, l.right = treeSplit(t, *at, r)
	*at = ref
}

// treeSplit splits a tree into the nodes with ranks up to r, and those with higher ranks.
func treeSplit(t nodes, root uint32, r rank) (low, high uint32) {
	lows, highs := &low, &high
	for root != 0 {
		if l := t.links(root); r.less(t.rank(root)) {
			*highs, highs = root, &l.left
			root = *highs
		} else {
			*lows, lows = root, &l.right
			root = *lows
		}
	}
	*lows, *highs = 0, 0
	return low, high
}

// treeJoin joins two trees. All ranks in low are lower than those in high.
func treeJoin(t nodes, low, high uint32) (root uint32) {
	at := &root
	for low != 0 && high != 0 {
		if t.rank(low).above(t.rank(high)) {
			*at, at = low, &t.links(low).right
			low = *at
		} else {
			*at, at = high, &t.links(high).left
			high = *at
		}
	}
	*at = low | high
	return root
}

// treeCut removes the nodes with ranks higher than the argument after, up to and
// including the argument last, and returns the tree that they form.
func treeCut(t nodes, root *uint32, after, last rank) (piece uint32) {
	low, rest := treeSplit(t, *root, after)
	piece, high := treeSplit(t, rest, last)
	*root = treeJoin(t, low, high)
	return piece
}

// treeRemove removes ref, which is in the tree.
func treeRemove(t nodes, root *uint32, ref uint32) {
	r := t.rank(ref)
	at := root
	for *at != ref {
		if *at == 0 {
			panic("ledger: a record is missing from its tree")
		}
		at = t.links(*at).side(t.rank(*at).less(r))
	}
	l := t.links(ref)
	*at = treeJoin(t, l.left, l.right)
	*l = links{}
}

// treeFind returns the node of exactly that rank, or 0.
func treeFind(t nodes, root uint32, r rank) uint32 {
	for root != 0 {
		other := t.rank(root)
		if other == r {
			return root
		}
		root = *t.links(root).side(other.less(r))
	}
	return 0
}

// treeFloor returns the node with the highest rank that is not higher than r, or 0.
func treeFloor(t nodes, root uint32, r rank) uint32 {
	best := uint32(0)
	for root != 0 {
		below := !r.less(t.rank(root))
		if below {
			best = root
		}
		root = *t.links(root).side(below)
	}
	return best
}

// treeNext returns the node with the lowest rank that is higher than r, or 0.
func treeNext(t nodes, root uint32, r rank) uint32 {
	best := uint32(0)
	for root != 0 {
		above := r.less(t.rank(root))
		if above {
			best = root
		}
		root = *t.links(root).side(!above)
	}
	return best
}

// treeWalk visits the nodes with ranks higher than the argument after, in order, until
// visit returns false. Then the result is false too. The function visit must not change
// the tree.
func treeWalk(t nodes, root uint32, after rank, visit func(ref uint32) bool) bool {
	for root != 0 {
		l := *t.links(root)
		if after.less(t.rank(root)) {
			if !treeWalk(t, l.left, after, visit) || !visit(root) {
				return false
			}
		}
		root = l.right
	}
	return true
}
