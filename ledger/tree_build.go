package ledger

// A treeBuilder builds a tree of nodes that come in the order of their ranks, in
// time linear in their number. It keeps the right spine of the tree so far: each new
// node becomes the right child of the deepest node on the spine whose priority is not
// lower, and takes that node's previous right child as its left child. If there is no
// such node, the new node becomes the root, and the previous root its left child.
// (Cartesian trees; Vuillemin 1980)
type treeBuilder struct {
	t      nodes
	spine  []spineNode
	newest uint32
}

type spineNode struct {
	ref      uint32
	priority uint64
}

// push adds a node whose rank is higher than those of all nodes of the tree so far.
func (b *treeBuilder) push(ref uint32) {
	p := b.t.rank(ref).priority()
	left, n := uint32(0), len(b.spine)
	for ; n > 0 && p > b.spine[n-1].priority; n-- {
		left = b.spine[n-1].ref
	}
	*b.t.links(ref) = links{left: left}
	if n > 0 {
		b.t.links(b.spine[n-1].ref).right = ref
	}
	b.spine = append(b.spine[:n], spineNode{ref, p})
	b.newest = ref
}

// last returns the last node pushed, or 0 if the tree is empty.
func (b *treeBuilder) last() uint32 { return b.newest }

// root returns the tree, and begins another.
func (b *treeBuilder) root() (root uint32) {
	if len(b.spine) > 0 {
		root = b.spine[0].ref
	}
	b.spine, b.newest = b.spine[:0], 0
	return root
}

// buildTree builds a tree from lists of nodes. Each list is in the order of the ranks,
// and all its ranks are higher than those of the lists before it.
func buildTree(t nodes, lists ...[]uint32) uint32 {
	b := treeBuilder{t: t}
	for _, list := range lists {
		for _, ref := range list {
			b.push(ref)
		}
	}
	return b.root()
}
