package ledger

import "math"

// The records of the state. Each is in a slab and refers to others by their
// numbers there; 0 is none. Numbers depend on history and are never visible.
//
//	container ─stacks─→ tree of stack (class_id, key)      Standard, Grid
//	          ─things─→ tree of instance (slot_index)      Slots
//	          ─things─→ tree of placement (y, x)           Grid, with a grid record
//	class     ─shapes─→ tree of shape (key)
//	instance  ─children─→ tree of instance (instance_id)

type container struct {
	// The fields that a transfer reads and changes, and those that its observer gets,
	// come first. They take 32 of 96 bytes, so they are on one cache line.
	id                int64
	updated           uint64
	kind              ContainerKind
	named             bool   // it has a label, see nameTable
	steady            uint8  // how many times in a row Prefetch found recent again, up to steadyAfter
	recent            uint32 // the stack that Prefetch found in it last; it may no longer exist
	stacks, instances uint32 // counts; instances are those directly in it

	gridWidth, gridHeight uint16
	grid                  uint32
	slotCount             uint32
	owner                 int64
	created               uint64
	byID, byOwner, byKind links
	stackTree, things     uint32
}

// A stack is found by (container, class, key).
type stack struct {
	key, quantity    int64
	container, class uint32
	held             uint32 // its heldSum, if any of it is held
	place            uint32 // its placement, in a Grid
	tree             links
}

type class struct {
	id                 int64
	registered         uint64
	name               string
	added, removed     Uint128
	stacks, containers int64
	minted, burned     int64
	tree               links
	shapes             uint32
	held               int64 // by holds
	fungible           bool
	coded              bool // it has a label, see nameTable
	decimals           uint8
}

// anyKey is the key of the shape for all keys without one of their own. It sorts first.
const anyKey = -1

type shape struct {
	key           int64
	class         uint32
	tree          links
	width, height uint16
}

type instance struct {
	id, key  int64
	minted   uint64
	class    uint32
	host     uint32 // InSlot, InGrid: the container; Attached: the parent
	spot     uint32 // InSlot: slot_index; InGrid: the placement
	tree     links  // InSlot: among the slots; Attached: among the siblings
	children uint32
	path     pathNode // see ancestry.go
	where    LocationKind
}

// A placement is a rectangle of a grid, occupied by a stack or an instance.
type placement struct {
	container           uint32
	thing               uint32 // a stack, or an instance
	tree                links
	x, y, width, height uint16
	turned, isInstance  bool
}

// A holding counts the instances of a class directly in a container.
type holding struct{ container, class, count uint32 }

// A hold is a reserved quantity of a stack.
type hold struct {
	id, quantity int64
	expires      int64 // Unix seconds, or never
	seq          uint64
	stack        uint32
	byContainer  links // among all holds, by container and id
	due          links // among those that expire
}

// never is the expiry of a hold that does not expire.
const never = math.MaxInt64

// A heldSum is the sum of the holds on a stack.
type heldSum struct {
	quantity int64
	holds    uint32
}

func (r *container) freeLink() *uint32 { return &r.byID.left }
func (r *stack) freeLink() *uint32     { return &r.tree.left }
func (r *class) freeLink() *uint32     { return &r.tree.left }
func (r *shape) freeLink() *uint32     { return &r.tree.left }
func (r *instance) freeLink() *uint32  { return &r.tree.left }
func (r *placement) freeLink() *uint32 { return &r.tree.left }
func (r *holding) freeLink() *uint32   { return &r.count }
func (r *grid) freeLink() *uint32      { return &r.count }
func (r *hold) freeLink() *uint32      { return &r.stack }
func (r *heldSum) freeLink() *uint32   { return &r.holds }

// total returns the quantity of the class in the whole ledger: 0 .. 2^63-1.
func (r *class) total() int64 { return int64(r.added.Lo - r.removed.Lo) }

func (r *placement) area() area {
	return area{int(r.x), int(r.y), int(r.width), int(r.height)}
}

// The orders of the trees.
type (
	containersByID    struct{ s *State }
	containersByOwner struct{ s *State }
	containersByKind  struct{ s *State }
	classesByID       struct{ s *State }
	shapesByKey       struct{ s *State }
	stacksByClass     struct{ s *State }
	slotsByIndex      struct{ s *State }
	childrenByID      struct{ s *State }
	placementsByRow   struct{ s *State }
	holdsByContainer  struct{ s *State }
	holdsByExpiry     struct{ s *State }
)

func (t containersByID) links(ref uint32) *links    { return &t.s.containers.at(ref).byID }
func (t containersByOwner) links(ref uint32) *links { return &t.s.containers.at(ref).byOwner }
func (t containersByKind) links(ref uint32) *links  { return &t.s.containers.at(ref).byKind }
func (t classesByID) links(ref uint32) *links       { return &t.s.classes.at(ref).tree }
func (t shapesByKey) links(ref uint32) *links       { return &t.s.shapes.at(ref).tree }
func (t stacksByClass) links(ref uint32) *links     { return &t.s.stacks.at(ref).tree }
func (t slotsByIndex) links(ref uint32) *links      { return &t.s.instances.at(ref).tree }
func (t childrenByID) links(ref uint32) *links      { return &t.s.instances.at(ref).tree }
func (t placementsByRow) links(ref uint32) *links   { return &t.s.placements.at(ref).tree }
func (t holdsByContainer) links(ref uint32) *links  { return &t.s.holds.at(ref).byContainer }
func (t holdsByExpiry) links(ref uint32) *links     { return &t.s.holds.at(ref).due }

func (t containersByID) rank(ref uint32) rank { return rank{major: t.s.containers.at(ref).id} }
func (t containersByOwner) rank(ref uint32) rank {
	c := t.s.containers.at(ref)
	return rank{c.owner, c.id}
}
func (t containersByKind) rank(ref uint32) rank {
	c := t.s.containers.at(ref)
	return rank{int64(c.kind), c.id}
}
func (t classesByID) rank(ref uint32) rank { return rank{major: t.s.classes.at(ref).id} }
func (t shapesByKey) rank(ref uint32) rank { return rank{major: t.s.shapes.at(ref).key} }
func (t stacksByClass) rank(ref uint32) rank {
	r := t.s.stacks.at(ref)
	return rank{t.s.classes.at(r.class).id, r.key}
}
func (t slotsByIndex) rank(ref uint32) rank { return rank{major: int64(t.s.instances.at(ref).spot)} }
func (t childrenByID) rank(ref uint32) rank { return rank{major: t.s.instances.at(ref).id} }
func (t placementsByRow) rank(ref uint32) rank {
	p := t.s.placements.at(ref)
	return rank{int64(p.y), int64(p.x)}
}
func (t holdsByContainer) rank(ref uint32) rank {
	h := t.s.holds.at(ref)
	return rank{t.s.containers.at(t.s.stacks.at(h.stack).container).id, h.id}
}
func (t holdsByExpiry) rank(ref uint32) rank {
	h := t.s.holds.at(ref)
	return rank{h.expires, h.id}
}
