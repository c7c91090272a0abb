package ledger

// The digest is the sum modulo 2^64 of one hash for each item that reads of the
// state can show. So it does not depend on order, and a change costs only the items it
// touches. It detects bugs and damage; it does not protect against someone who
// can choose the state. It excludes the idempotency memory and the next ids to
// assign to containers and classes: each assigned id is in the record of its commit,
// and replay checks that it assigns the same id.

// Tags of the items. Never change or reuse one: the log contains digests.
const (
	tagLedger uint64 = iota + 1
	tagContainer
	tagContainerUpdated
	tagContainerStacks
	tagContainerInstances
	tagContainerCells
	tagStack
	tagStackPlacement
	tagInstancePlacement
	tagInstance
	tagLocation
	tagClass
	tagClassAdded
	tagClassRemoved
	tagClassStacks
	tagClassContainers
	tagClassMinted
	tagClassBurned
	tagShape
	tagHold
	tagHoldTerms
	tagContainerName
	tagClassCode
	tagReversal
)

// Digest returns a digest of everything that reads of the state can show. It is the
// same for equal logs, on any machine.
func (s *State) Digest() uint64 {
	return s.digest + mix4Words(tagLedger, s.seq, uint64(s.nextInstance), 0, 0)
}

// stackItem returns the item of a stack's quantity. identity is the result of
// stackIdentity.
func stackItem(identity uint64, quantity int64) uint64 {
	return fold(identity, uint64(quantity)^mix1)
}

func stackIdentity(container, class, key int64) uint64 {
	return mix4Words(tagStack, uint64(container), uint64(class), uint64(key), 0)
}

func (s *State) stackIdentity(r *stack) uint64 {
	return stackIdentity(s.containers.at(r.container).id, s.classes.at(r.class).id, r.key)
}

func containerItem(c *container) uint64 {
	form := uint64(c.kind)<<56 | uint64(c.slotCount)<<32 | uint64(c.gridWidth)<<16 | uint64(c.gridHeight)
	return mix4Words(tagContainer, uint64(c.id), uint64(c.owner), c.created, form)
}

func updatedItem(c *container) uint64 {
	return mix4Words(tagContainerUpdated, uint64(c.id), c.updated, 0, 0)
}

// countItems returns the items that hold the counts of a container and a class. They
// change together when a stack or instance enters or leaves the container.
func (s *State) countItems(cref, kref uint32) uint64 {
	c, k := s.containers.at(cref), s.classes.at(kref)
	return s.containerCountItems(c) + classCountItems(k)
}

func (s *State) containerCountItems(c *container) uint64 {
	id := uint64(c.id)
	sum := mix4Words(tagContainerStacks, id, uint64(c.stacks), 0, 0) +
		mix4Words(tagContainerInstances, id, uint64(c.instances), 0, 0)
	if c.kind == Grid {
		sum += mix4Words(tagContainerCells, id, uint64(s.grids.at(c.grid).occupied), 0, 0)
	}
	return sum
}

func classCountItems(k *class) uint64 {
	id := uint64(k.id)
	return mix4Words(tagClassStacks, id, uint64(k.stacks), 0, 0) +
		mix4Words(tagClassContainers, id, uint64(k.containers), 0, 0)
}

func classItem(k *class) uint64 {
	form := uint64(k.decimals) << 1
	if k.fungible {
		form |= 1
	}
	return mix4Words(tagClass, uint64(k.id), k.registered, mixBytes([]byte(k.name)), form)
}

func addedItem(k *class) uint64 {
	return mix4Words(tagClassAdded, uint64(k.id), k.added.Hi, k.added.Lo, 0)
}

func removedItem(k *class) uint64 {
	return mix4Words(tagClassRemoved, uint64(k.id), k.removed.Hi, k.removed.Lo, 0)
}

// mintItems returns the items that hold the numbers of minted and burned instances.
// The number of live instances is their difference.
func mintItems(k *class) uint64 {
	id := uint64(k.id)
	return mix4Words(tagClassMinted, id, uint64(k.minted), 0, 0) + mix4Words(tagClassBurned, id, uint64(k.burned), 0, 0)
}

func (s *State) shapeItem(r *shape) uint64 {
	size := uint64(r.width)<<16 | uint64(r.height)
	return mix4Words(tagShape, uint64(s.classes.at(r.class).id), uint64(r.key), size, 0)
}

func (s *State) instanceItem(r *instance) uint64 {
	return mix4Words(tagInstance, uint64(r.id), uint64(s.classes.at(r.class).id), uint64(r.key), r.minted)
}

// locationItem returns the item of an instance's location. The rectangle of an instance
// in a Grid also has an item of its own, placementItem.
func (s *State) locationItem(r *instance) uint64 {
	var host, spot uint64
	switch r.where {
	case InSlot:
		host, spot = uint64(s.containers.at(r.host).id), uint64(r.spot)
	case InGrid:
		p := s.placements.at(r.spot)
		host, spot = uint64(s.containers.at(r.host).id), p.anchorWord()
	case Attached:
		host = uint64(s.instances.at(r.host).id)
	}
	return mix4Words(tagLocation, uint64(r.id), uint64(r.where), host, spot)
}

// anchorWord packs anchor, size and rotation: y(16) x(16) zero(11) height-1(10)
// width-1(10) turned(1).
func (r *placement) anchorWord() uint64 {
	w := uint64(r.y)<<48 | uint64(r.x)<<32 | uint64(r.height-1)<<11 | uint64(r.width-1)<<1
	if r.turned {
		w |= 1
	}
	return w
}

func (s *State) placementItem(r *placement) uint64 {
	c := uint64(s.containers.at(r.container).id)
	if r.isInstance {
		return mix4Words(tagInstancePlacement, c, r.anchorWord(), uint64(s.instances.at(r.thing).id), 0)
	}
	st := s.stacks.at(r.thing)
	return mix4Words(tagStackPlacement, c, r.anchorWord(), uint64(s.classes.at(st.class).id), uint64(st.key))
}

// holdItem returns the items of a hold: its quantity, when it began and when it
// expires.
func (s *State) holdItem(h *hold) uint64 {
	id := uint64(h.id)
	return mix4Words(tagHold, id, s.stackIdentity(s.stacks.at(h.stack)), uint64(h.quantity), 0) +
		mix4Words(tagHoldTerms, id, h.seq, uint64(h.expires), 0)
}
