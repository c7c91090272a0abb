package ledger

import (
	"math"
)

// A checkpointLoader builds a state from items. The items are sorted, so the large
// trees are built in one pass without searching. The large indexes are built when the
// number of their entries is known. For any items, the result is either a consistent
// state or a fault. The digest then shows whether it is the right state.
type checkpointLoader struct {
	d     *checkpointReader
	s     *State
	phase byte // kind of the section: class, container, instance, key, hold, reversal

	classes, shapes, byID, stacks treeBuilder
	kinds                         [Grid + 1][]uint32 // containers by kind, each list by id

	class     uint32 // the last class
	classID   int64  // class of the previous stack of the container
	classRef  uint32
	key       int64
	container uint32
	instance  int64
	keySeq    uint64
	hold      int64
	reversed  uint64
	keys      uint64

	held     []Uint128 // quantity in stacks, by class
	live     []int64   // instances, by class
	attached []attachment
}

// An attachment is applied after all instances have been loaded.
type attachment struct {
	child  uint32
	parent int64
}

func newCheckpointLoader(d *checkpointReader, c Config) *checkpointLoader {
	s := NewState(c)
	s.seq, s.nextInstance = d.head.Seq, d.head.NextInstance
	l := &checkpointLoader{d: d, s: s, phase: itemClass}
	l.classes.t, l.shapes.t, l.byID.t, l.stacks.t = classesByID{s}, shapesByKey{s}, containersByID{s}, stacksByClass{s}
	return l
}

// item reads one item of the given kind.
func (l *checkpointLoader) item(kind byte) {
	if kind > itemKey && l.d.head.version < checkpointVersion2 {
		l.d.fault("an item of kind %d in a checkpoint of version %d", kind, l.d.head.version)
		return
	}
	switch kind {
	case itemClass:
		l.enter(itemClass)
		l.readClass()
	case itemShape:
		l.enter(itemClass)
		l.readShape()
	case itemContainer:
		l.enter(itemContainer)
		l.readContainer()
	case itemStack, itemNextStack:
		l.enter(itemContainer)
		l.readStack(kind == itemNextStack)
	case itemInstance:
		l.enter(itemInstance)
		l.readInstance()
	case itemKey:
		l.enter(itemKey)
		l.readKey(false)
	case itemLongKey:
		l.enter(itemKey)
		l.readKey(true)
	case itemHold:
		l.enter(itemHold)
		l.readHold()
	case itemName:
		l.readName()
	case itemAssigned:
		l.readAssigned()
	case itemReversal:
		l.enter(itemReversal)
		l.readReversal()
	default:
		l.d.fault("an item of unknown kind %d", kind)
	}
}

// enter begins a later section, and finishes the sections before it.
func (l *checkpointLoader) enter(section byte) {
	if section < l.phase {
		l.d.fault("an item of section %d is in section %d", section, l.phase)
	}
	if l.d.err != nil || section == l.phase {
		return
	}
	if l.phase < itemContainer {
		l.endClasses()
	}
	if l.phase < itemInstance && section >= itemInstance {
		l.endContainers()
	}
	if l.phase < itemKey && section >= itemKey {
		l.endInstances()
	}
	l.phase = section
}

// finish ends the last section and checks the whole state.
func (l *checkpointLoader) finish() {
	l.enter(itemReversal)
	if l.d.err == nil && l.keys != l.d.head.Keys {
		l.d.fault("%d idempotency keys, but the header says %d", l.keys, l.d.head.Keys)
	}
	if l.d.err == nil {
		l.checkClasses()
	}
	if l.d.err == nil {
		l.s.digest = l.s.digestFromRecords()
		l.d.sumsTo(l.s)
	}
}

func (l *checkpointLoader) readClass() {
	d, s := l.d, l.s
	k := class{id: d.id(), registered: d.between(1, s.seq)}
	form := d.number(MaxDecimals<<1 | 1)
	k.decimals, k.fungible = uint8(form>>1), form&1 != 0
	name := d.text(MaxNameLength * 4)
	k.added.Hi, k.added.Lo = d.number(math.MaxUint64), d.number(math.MaxUint64)
	k.removed.Hi, k.removed.Lo = d.number(math.MaxUint64), d.number(math.MaxUint64)
	k.minted, k.burned = d.amount(), d.amount()
	if d.err == nil && (!validName(name) || l.class != 0 && s.classes.at(l.class).id >= k.id) {
		d.fault("class %d has the invalid name %q, or is out of order", k.id, name)
	}
	if d.err != nil {
		return
	}
	l.endShapes()
	k.name = string(name)
	ref, r := s.classes.alloc()
	*r = k
	l.class = ref
	l.classes.push(ref)
}

func (l *checkpointLoader) endShapes() {
	if l.class != 0 {
		l.s.classes.at(l.class).shapes = l.shapes.root()
	}
}

func (l *checkpointLoader) readShape() {
	d, s := l.d, l.s
	r := shape{class: l.class}
	r.key = int64(d.number(math.MaxInt64+1)) - 1
	r.width, r.height = uint16(d.between(1, MaxSide)), uint16(d.between(1, MaxSide))
	if d.err == nil && l.class == 0 {
		d.fault("a shape before the first class")
	}
	if last := l.shapes.last(); d.err == nil && last != 0 && s.shapes.at(last).key >= r.key {
		d.fault("the shape of key %d is out of order", r.key)
	}
	if d.err != nil {
		return
	}
	ref, p := s.shapes.alloc()
	*p = r
	l.shapes.push(ref)
}

func (l *checkpointLoader) endClasses() {
	s := l.s
	l.endShapes()
	s.classTree = l.classes.root()
	s.classIndex.fill(s.classes.next, func(ref uint32) uint64 { return classHash(s.classes.at(ref).id) })
	l.endNames(classCodes)
	n := max(s.classes.next, 1)
	l.held, l.live = make([]Uint128, n), make([]int64, n)
}

func (l *checkpointLoader) readContainer() {
	d, s := l.d, l.s
	c := container{id: d.id(), owner: d.amount(), created: d.between(1, s.seq)}
	c.updated = d.between(c.created, s.seq)
	c.kind = ContainerKind(d.between(uint64(Standard), uint64(Grid)))
	switch c.kind {
	case Slots:
		c.slotCount = uint32(d.between(1, MaxSlotCount))
	case Grid:
		c.gridWidth, c.gridHeight = uint16(d.between(1, MaxSide)), uint16(d.between(1, MaxSide))
	}
	if d.err == nil && l.container != 0 && s.containers.at(l.container).id >= c.id {
		d.fault("container %d is out of order", c.id)
	}
	if d.err != nil {
		return
	}
	l.endStacks()
	ref, r := s.containers.alloc()
	*r = c
	if c.kind == Grid {
		r.grid, _ = s.grids.alloc()
	}
	l.container, l.classRef = ref, 0
	l.byID.push(ref)
	l.kinds[c.kind] = append(l.kinds[c.kind], ref)
}

func (l *checkpointLoader) endStacks() {
	if l.container != 0 {
		l.s.containers.at(l.container).stackTree = l.stacks.root()
	}
}

// stackClass reads the class of a stack, unless it is the same as that of the previous
// stack. It reports whether the stack is the first of its class in the container.
func (l *checkpointLoader) stackClass(same bool) (fresh bool) {
	d, s := l.d, l.s
	if same {
		if l.classRef == 0 {
			d.fault("a stack of the same class as the previous one, but it is the first")
		}
		return false
	}
	id := d.id()
	if l.classRef != 0 && id <= l.classID {
		d.fault("stacks of class %d are out of order", id)
	}
	if l.classID != id || l.classRef == 0 {
		l.classID, l.classRef = id, s.findClass(id)
	}
	if d.err == nil && (l.classRef == 0 || !s.classes.at(l.classRef).fungible) {
		d.fault("a stack of class %d, which does not exist or is not fungible", id)
	}
	return true
}

func (l *checkpointLoader) readStack(same bool) {
	d, s := l.d, l.s
	fresh := l.stackClass(same)
	key, quantity := d.amount(), d.id()
	if d.err == nil && !fresh && key <= l.key {
		d.fault("the stack of class %d and key %d is out of order", l.classID, key)
	}
	if d.err == nil && (l.container == 0 || s.containers.at(l.container).kind == Slots) {
		d.fault("a stack outside the containers that may hold one")
	}
	if d.err != nil {
		return
	}
	c, k := s.containers.at(l.container), s.classes.at(l.classRef)
	ref, r := s.stacks.alloc()
	r.container, r.class, r.key, r.quantity = l.container, l.classRef, key, quantity
	l.key = key
	l.stacks.push(ref)
	c.stacks++
	k.stacks++
	if fresh {
		k.containers++
	}
	l.held[l.classRef] = l.held[l.classRef].Add(uint64(quantity))
	if c.kind == Grid {
		l.readPlace(l.container, ref, false)
	}
}

// readPlace reads the place of a stack or instance in a Grid, and puts the stack or
// instance there.
func (l *checkpointLoader) readPlace(cref, thing uint32, isInstance bool) {
	d, s := l.d, l.s
	p := placement{container: cref, thing: thing, isInstance: isInstance}
	p.x, p.y, p.width = uint16(d.number(MaxSide-1)), uint16(d.number(MaxSide-1)), uint16(d.between(1, MaxSide))
	height := d.between(2, MaxSide<<1|1)
	p.height, p.turned = uint16(height>>1), height&1 != 0
	c := s.containers.at(cref)
	if d.err != nil {
		return
	}
	if p.x+p.width > c.gridWidth || p.y+p.height > c.gridHeight || !s.isFree(c, p.area(), 0) {
		d.fault("a rectangle %+v that extends beyond container %d, or overlaps another", p.area(), c.id)
		return
	}
	ref, r := s.placements.alloc()
	*r = p
	s.linkPlacement(ref)
}

func (l *checkpointLoader) endContainers() {
	s := l.s
	l.endStacks()
	s.byID = l.byID.root()
	s.containerIndex.fill(s.containers.next, func(ref uint32) uint64 { return containerHash(s.containers.at(ref).id) })
	s.stackIndex.fill(s.stacks.next, func(ref uint32) uint64 {
		r := s.stacks.at(ref)
		return stackHash(r.container, r.class, r.key)
	})
	s.byKind = buildTree(containersByKind{s}, l.kinds[Standard], l.kinds[Slots], l.kinds[Grid])
	s.byOwner = buildTree(containersByOwner{s}, s.ownedContainers())
	l.endNames(containerNames)
}
