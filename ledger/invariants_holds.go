package ledger

// heldStacks checks the holds, their sums by stack and class, and the reversals.
func (v *verifier) heldStacks() {
	s := v.s
	all := v.tree("holds", holdsByContainer{s}, s.holdTree)
	due := v.tree("holds by expiry", holdsByExpiry{s}, s.dueTree)
	sums, classes := map[uint32]heldSum{}, map[uint32]int64{}
	ending := 0
	for _, ref := range all {
		h := s.holds.at(ref)
		if s.findHold(h.id) != ref || h.quantity <= 0 || h.seq == 0 || h.seq > s.seq {
			v.failf("hold %+v has an invalid quantity or commit, or is not found by its id", *h)
		}
		if h.expires != never {
			ending++
		}
		r := s.stacks.at(h.stack)
		if s.findStack(r.container, r.class, r.key) != h.stack {
			v.failf("hold %d belongs to a stack that no longer exists", h.id)
		}
		sum := sums[h.stack]
		sum.quantity += h.quantity
		sum.holds++
		sums[h.stack] = sum
		classes[r.class] += h.quantity
		v.digest += s.holdItem(h)
	}
	if len(all) != s.holdIndex.len() || len(due) != ending || len(sums) != s.heldSums.live() {
		v.failf("%d holds in %d stacks; %d in the index, %d of %d expire, %d sums",
			len(all), len(sums), s.holdIndex.len(), len(due), ending, s.heldSums.live())
	}
	for ref := uint32(1); ref < s.stacks.next; ref++ {
		r := s.stacks.at(ref)
		want, held := sums[ref]
		if held != (r.held != 0) || held && *s.heldSums.at(r.held) != want {
			v.failf("the sum of the holds on stack %+v is not %+v", *r, want)
		}
		if want.quantity > r.quantity {
			v.failf("%d units of a stack of %d are held", want.quantity, r.quantity)
		}
	}
	links := v.tree("reversals", reversalsByCommit{s}, s.reversalTree)
	for _, ref := range links {
		r := s.reversals.at(ref)
		if r.of >= r.by || r.by > s.seq {
			v.failf("commit %d is reversed by commit %d; the ledger is at %d", r.of, r.by, s.seq)
		}
		v.digest += r.item()
	}
	if len(links) != s.reversals.live() {
		v.failf("%d reversals in the tree, %d in use", len(links), s.reversals.live())
	}
	treeWalk(classesByID{s}, s.classTree, lowest, func(ref uint32) bool {
		if k := s.classes.at(ref); k.held != classes[ref] {
			v.failf("class %d counts %d units as held, but %d are", k.id, k.held, classes[ref])
		}
		return true
	})
}
