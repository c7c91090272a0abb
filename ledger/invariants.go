package ledger

import (
	"errors"
	"fmt"
	"math"
)

// Invariants checks all relations between the records from scratch. The error names
// those that do not hold, up to a limit. Invariants is slow, and meant for tests.
func (s *State) Invariants() error {
	v := verifier{s: s, totals: map[uint32]classCounts{}}
	v.containers()
	v.classes()
	v.instances()
	v.heldStacks()
	v.names(containerNames, v.named)
	v.names(classCodes, v.coded)
	v.indexes()
	if got := v.digest + mix4Words(tagLedger, s.seq, uint64(s.nextInstance), 0, 0); got != s.Digest() {
		v.failf("the maintained digest is %016x, but computed from scratch it is %016x", s.Digest(), got)
	}
	return errors.Join(v.errs...)
}

// A verifier adds up, container by container, what classes and indexes must contain.
type verifier struct {
	s      *State
	errs   []error
	totals map[uint32]classCounts // by class
	digest uint64

	stacks, placed, slotted, attached, live, holdings, shapes int
	named, coded                                              int // containers and classes that are marked as named
}

// classCounts are the counts of a class according to the containers.
type classCounts struct {
	quantity           Uint128
	stacks, containers int64
}

func (v *verifier) failf(format string, args ...any) {
	const enough = 20
	if len(v.errs) < enough {
		v.errs = append(v.errs, fmt.Errorf("ledger: "+format, args...))
	}
}

// tree checks order and priorities, and returns the nodes in order.
func (v *verifier) tree(name string, t nodes, root uint32) (refs []uint32) {
	treeWalk(t, root, lowest, func(ref uint32) bool {
		if n := len(refs); n > 0 && !t.rank(refs[n-1]).less(t.rank(ref)) {
			v.failf("%s: %v comes before %v", name, t.rank(refs[n-1]), t.rank(ref))
		}
		l := t.links(ref)
		for _, child := range [...]uint32{l.left, l.right} {
			if child != 0 && t.rank(child).above(t.rank(ref)) {
				v.failf("%s: %v is below %v, which has a lower priority", name, t.rank(child), t.rank(ref))
			}
		}
		refs = append(refs, ref)
		return true
	})
	return refs
}

func (v *verifier) containers() {
	s := v.s
	all := v.tree("containers", containersByID{s}, s.byID)
	kinds := v.tree("containers by kind", containersByKind{s}, s.byKind)
	owners := v.tree("containers by owner", containersByOwner{s}, s.byOwner)
	owned := 0
	for _, ref := range all {
		c := s.containers.at(ref)
		if s.findContainer(c.id) != ref {
			v.failf("container %d is not found by its id", c.id)
		}
		if c.owner != 0 {
			owned++
		}
		if c.named {
			v.named++
		}
		if c.created > c.updated || c.updated > s.seq {
			v.failf("container %d was created at %d and updated at %d, but the ledger is at %d", c.id, c.created, c.updated, s.seq)
		}
		v.digest += containerItem(c) + updatedItem(c) + s.containerCountItems(c)
		v.containerStacks(ref, c)
		switch c.kind {
		case Standard:
			if c.instances != 0 || c.things != 0 {
				v.failf("container %d of kind Standard holds instances", c.id)
			}
		case Slots:
			v.slots(ref, c)
		case Grid:
			v.grid(ref, c)
		}
	}
	if len(all) != s.containerIndex.len() || len(all) != len(kinds) || owned != len(owners) {
		v.failf("%d containers by id, %d in the index, %d by kind; %d of %d by owner",
			len(all), s.containerIndex.len(), len(kinds), len(owners), owned)
	}
}

func (v *verifier) containerStacks(cref uint32, c *container) {
	s := v.s
	refs := v.tree("stacks", stacksByClass{s}, c.stackTree)
	if len(refs) != int(c.stacks) || c.kind == Slots && len(refs) > 0 {
		v.failf("container %d counts %d stacks, but has %d", c.id, c.stacks, len(refs))
	}
	v.stacks += len(refs)
	last := uint32(0)
	for _, ref := range refs {
		r := s.stacks.at(ref)
		if r.container != cref || r.quantity <= 0 || r.key < 0 || s.findStack(cref, r.class, r.key) != ref {
			v.failf("stack %+v of container %d names another container, has an invalid quantity or key, or is not found by its key", *r, c.id)
		}
		if (r.place != 0) != (c.kind == Grid) {
			v.failf("stack %+v of container %d of kind %s has place %d", *r, c.id, c.kind, r.place)
		}
		if !s.classes.at(r.class).fungible {
			v.failf("container %d has a stack of class %d, which is not fungible", c.id, s.classes.at(r.class).id)
		}
		v.digest += stackItem(s.stackIdentity(r), r.quantity)
		t := v.totals[r.class]
		t.quantity = t.quantity.Add(uint64(r.quantity))
		t.stacks++
		if r.class != last {
			t.containers++
		}
		v.totals[r.class], last = t, r.class
	}
}

// holds checks the counts of instances directly in a container.
func (v *verifier) holds(cref uint32, c *container, refs []uint32) {
	s := v.s
	counts := map[uint32]uint32{}
	for _, ref := range refs {
		counts[s.instances.at(ref).class]++
	}
	if len(refs) != int(c.instances) {
		v.failf("container %d counts %d instances, but has %d", c.id, c.instances, len(refs))
	}
	v.holdings += len(counts)
	for kref, n := range counts {
		if h := s.findHolding(cref, kref); h == 0 || s.holdings.at(h).count != n {
			v.failf("container %d holds %d instances of class %d, but counts a different number", c.id, n, s.classes.at(kref).id)
		}
		t := v.totals[kref]
		t.containers++
		v.totals[kref] = t
	}
}

func (v *verifier) slots(cref uint32, c *container) {
	refs := v.tree("slots", slotsByIndex{v.s}, c.things)
	v.slotted += len(refs)
	for _, ref := range refs {
		r := v.s.instances.at(ref)
		if r.where != InSlot || r.host != cref || r.spot >= c.slotCount {
			v.failf("instance %d in a slot of container %d has the record %+v", r.id, c.id, *r)
		}
	}
	v.holds(cref, c, refs)
}

func (v *verifier) classes() {
	s := v.s
	refs := v.tree("classes", classesByID{s}, s.classTree)
	if len(refs) != s.classIndex.len() {
		v.failf("%d classes by id, %d in the index", len(refs), s.classIndex.len())
	}
	for _, ref := range refs {
		k := s.classes.at(ref)
		if s.findClass(k.id) != ref {
			v.failf("class %d is not found by its id", k.id)
		}
		if k.coded {
			v.coded++
		}
		v.digest += classItem(k) + addedItem(k) + removedItem(k) + mintItems(k) + classCountItems(k)
		t := v.totals[ref]
		if k.removed.Add(t.quantity.Lo) != k.added || t.quantity.Hi != 0 || t.quantity.Lo > math.MaxInt64 {
			v.failf("class %d: %v added less %v removed is not the %v in its stacks", k.id, k.added, k.removed, t.quantity)
		}
		if t.stacks != k.stacks || t.containers != k.containers {
			v.failf("class %d counts %d stacks in %d containers, but has %d in %d", k.id, k.stacks, k.containers, t.stacks, t.containers)
		}
		if k.minted < k.burned || k.fungible && k.minted != 0 {
			v.failf("class %d (fungible: %t) has minted %d and burned %d", k.id, k.fungible, k.minted, k.burned)
		}
		v.live += int(k.minted - k.burned)
		for _, sref := range v.tree("shapes", shapesByKey{s}, k.shapes) {
			v.shapes++
			v.digest += s.shapeItem(s.shapes.at(sref))
		}
	}
}

// instances visits all instances, and climbs from each to the root of its tree.
func (v *verifier) instances() {
	s := v.s
	found, settled := 0, 0
	for ref := uint32(1); ref < s.instances.next; ref++ {
		r := s.instances.at(ref)
		if r.id == 0 || s.findInstance(r.id) != ref { // released, or burned by the last transaction
			continue
		}
		found++
		if r.id >= s.nextInstance || r.minted > s.seq {
			v.failf("instance %d was minted at %d, but the ledger is at %d, and the next instance is %d", r.id, r.minted, s.seq, s.nextInstance)
		}
		v.digest += s.instanceItem(r) + s.locationItem(r)
		switch r.where {
		case InSlot, InGrid:
			settled++
		case Attached:
			v.attached++
		}
		for _, child := range v.tree("children", childrenByID{s}, r.children) {
			if c := s.instances.at(child); c.where != Attached || c.host != ref {
				v.failf("instance %d is listed under %d, but has the record %+v", c.id, r.id, *c)
			}
			v.attached--
		}
		v.climb(ref)
	}
	if found != s.instanceIndex.len() || found != v.live {
		v.failf("%d instances are found, %d in the index, %d live according to the classes", found, s.instanceIndex.len(), v.live)
	}
	if v.attached != 0 {
		v.failf("children listed and instances attached differ by %d", v.attached)
	}
	if inGrids := v.placed - v.gridStacks(); settled != v.slotted+inGrids {
		v.failf("%d instances are marked as placed, but %d are in slots and %d in grids", settled, v.slotted, inGrids)
	}
}

// climb follows the parents to the root, and compares it with the root that the paths
// lead to.
func (v *verifier) climb(ref uint32) {
	s := v.s
	top := ref
	for steps := 0; s.instances.at(top).where == Attached; steps++ {
		if steps > s.instanceIndex.len() {
			v.failf("instance %d is in a cycle", s.instances.at(ref).id)
			return
		}
		top = s.instances.at(top).host
	}
	if found := s.topmostUnmoved(ref); found != top {
		v.failf("the root above instance %d is %d, but its path leads to %d", s.instances.at(ref).id, s.instances.at(top).id, s.instances.at(found).id)
	}
}

// gridStacks counts the stacks in Grids, each of which has one placement.
func (v *verifier) gridStacks() (n int) {
	treeWalk(containersByKind{v.s}, v.s.byKind, rank{int64(Grid), 0}, func(ref uint32) bool {
		n += int(v.s.containers.at(ref).stacks)
		return true
	})
	return n
}

func (v *verifier) indexes() {
	if n := v.s.stackIndex.len(); n != v.stacks {
		v.failf("%d stacks in containers, %d in the index", v.stacks, n)
	}
	if n := v.s.holdingIndex.len(); n != v.holdings {
		v.failf("%d pairs of a container and a class of instances, %d in the index", v.holdings, n)
	}
	v.slabs()
}

// slabs looks for records that are neither linked nor released. Records that the
// last transaction dropped are released when the next one begins.
func (v *verifier) slabs() {
	s := v.s
	var dropped [undoKinds]int
	var unnamed [nameTables]int
	for _, e := range s.undo.entries {
		dropped[e.kind]++
		if e.kind == undoUnnamed {
			unnamed[e.old]++
		}
	}
	for _, c := range [...]struct {
		name         string
		linked, live int
	}{
		{"container", s.containerIndex.len() + dropped[undoContainerDropped], s.containers.live()},
		{"class", s.classIndex.len(), s.classes.live()},
		{"stack", v.stacks + dropped[undoStackDropped] + dropped[undoGathered], s.stacks.live()},
		{"instance", s.instanceIndex.len() + dropped[undoBurned], s.instances.live()},
		{"placement", v.placed + dropped[undoUnplaced], s.placements.live()},
		{"holding", v.holdings, s.holdings.live()},
		{"shape", v.shapes, s.shapes.live()},
		{"hold", s.holdIndex.len() + dropped[undoHoldDropped], s.holds.live()},
		{"container name", v.named + unnamed[containerNames], s.names[containerNames].labels.live()},
		{"class code", v.coded + unnamed[classCodes], s.names[classCodes].labels.live()},
	} {
		if c.linked != c.live {
			v.failf("%d %s records are linked or dropped, %d in use", c.linked, c.name, c.live)
		}
	}
}
