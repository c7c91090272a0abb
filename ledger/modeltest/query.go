package modeltest

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"assetledger/ledger"
)

// The queries return what the reads of the API show. The Code of a query that
// succeeded is empty. A query with a limit returns at most that many entries after a
// position, and whether there are more.

func (c *container) sortedStacks() []ledger.StackKey {
	return slices.SortedFunc(maps.Keys(c.stacks), func(a, b ledger.StackKey) int {
		return cmp.Or(cmp.Compare(a.ClassID, b.ClassID), cmp.Compare(a.Key, b.Key))
	})
}

// instancesIn counts the instances directly in a container.
func (c *container) instancesIn() int {
	n := len(c.slots)
	for _, t := range c.things {
		if t.instance != 0 {
			n++
		}
	}
	return n
}

// page truncates a list to limit entries.
func page[T any](list []T, limit int) ([]T, bool) {
	if len(list) > limit {
		return list[:limit], true
	}
	return list, false
}

// Container returns what a read of one container shows.
func (m *Model) Container(id int64) (ledger.ContainerInfo, ledger.Code) {
	c := m.containers[id]
	if c == nil {
		return ledger.ContainerInfo{}, ledger.ContainerNotFound
	}
	info := ledger.ContainerInfo{ID: id, Name: c.name, Kind: c.kind, Owner: c.owner, CreatedSeq: c.created, UpdatedSeq: c.updated,
		SlotCount: int(c.slotCount), GridWidth: int(c.width), GridHeight: int(c.height),
		Stacks: len(c.stacks), Instances: c.instancesIn()}
	for _, row := range c.paint() {
		for _, t := range row {
			if t != nil {
				info.OccupiedCells++
			}
		}
	}
	return info, ""
}

// Balances returns the stacks of a container, ordered by class, then key.
func (m *Model) Balances(id int64, f ledger.BalanceFilter, after *ledger.StackKey, limit int) ([]ledger.Balance, bool, ledger.Code) {
	c := m.containers[id]
	if c == nil {
		return nil, false, ledger.ContainerNotFound
	}
	if c.kind == ledger.Slots {
		return nil, false, ledger.WrongContainerKind
	}
	var list []ledger.Balance
	for _, s := range c.sortedStacks() {
		if f.ClassID != nil && *f.ClassID != s.ClassID || f.Key != nil && *f.Key != s.Key {
			continue
		}
		if after != nil && (s.ClassID < after.ClassID || s.ClassID == after.ClassID && s.Key <= after.Key) {
			continue
		}
		list = append(list, ledger.Balance{ClassID: s.ClassID, Key: s.Key, Quantity: c.stacks[s], Held: m.held(id, s)})
	}
	list, more := page(list, limit)
	return list, more, ""
}

// SlotEntries returns the occupied slots of a container.
func (m *Model) SlotEntries(id int64, after int, limit int) ([]ledger.SlotEntry, bool, ledger.Code) {
	c := m.containers[id]
	if c == nil {
		return nil, false, ledger.ContainerNotFound
	}
	if c.kind != ledger.Slots {
		return nil, false, ledger.WrongContainerKind
	}
	var list []ledger.SlotEntry
	for _, slot := range slices.Sorted(maps.Keys(c.slots)) {
		if slot > int64(after) {
			in := c.slots[slot]
			list = append(list, ledger.SlotEntry{SlotIndex: int(slot), InstanceID: in, ClassID: m.instances[in].class, Key: m.instances[in].key})
		}
	}
	list, more := page(list, limit)
	return list, more, ""
}

// touches reports whether a cell is in the region; nil is the whole grid.
func touches(region *ledger.Rect, x, y int64) bool {
	if region == nil {
		return true
	}
	within := func(v, start, length int64) bool {
		end := new(big.Int).Add(big.NewInt(start), big.NewInt(length))
		return v >= start && big.NewInt(v).Cmp(end) < 0
	}
	return within(x, region.X, region.Width) && within(y, region.Y, region.Height)
}

// Placements returns the placements in a grid, ordered by the y, then the x, of their
// anchors.
func (m *Model) Placements(id int64, region *ledger.Rect, after *ledger.Cell, limit int) ([]ledger.Placement, bool, ledger.Code) {
	c := m.containers[id]
	if c == nil {
		return nil, false, ledger.ContainerNotFound
	}
	if c.kind != ledger.Grid {
		return nil, false, ledger.WrongContainerKind
	}
	inRegion := map[*thing]bool{}
	cells := c.paint()
	for y, row := range cells {
		for x, t := range row {
			if t != nil && touches(region, int64(x), int64(y)) {
				inRegion[t] = true
			}
		}
	}
	var list []ledger.Placement
	for y, row := range cells {
		for x, t := range row {
			if t == nil || t.x != int64(x) || t.y != int64(y) || !inRegion[t] {
				continue
			}
			if after != nil && (y < after.Y || y == after.Y && x <= after.X) {
				continue
			}
			p := ledger.Placement{X: x, Y: y, Width: int(t.w), Height: int(t.h), Rotation: rotation(t.turned)}
			if t.instance != 0 {
				p.InstanceID, p.ClassID, p.Key = t.instance, m.instances[t.instance].class, m.instances[t.instance].key
			} else {
				p.ClassID, p.Key, p.Quantity = t.stack.ClassID, t.stack.Key, c.stacks[t.stack]
			}
			list = append(list, p)
		}
	}
	list, more := page(list, limit)
	return list, more, ""
}

// Class returns what a read of one class shows.
func (m *Model) Class(id int64) (ledger.ClassInfo, ledger.Code) {
	c := m.classes[id]
	if c == nil {
		return ledger.ClassInfo{}, ledger.ClassNotFound
	}
	return ledger.ClassInfo{ID: id, Code: c.code, Name: c.name, Fungible: c.fungible, Decimals: c.decimals, RegisteredSeq: c.registered}, ""
}

// Classes returns the classes, ordered by id.
func (m *Model) Classes(after int64, limit int) ([]ledger.ClassInfo, bool) {
	var list []ledger.ClassInfo
	for _, id := range slices.Sorted(maps.Keys(m.classes)) {
		if id > after {
			info, _ := m.Class(id)
			list = append(list, info)
		}
	}
	return page(list, limit)
}

// Shapes returns the shapes of a class, the one for all keys first.
func (m *Model) Shapes(id int64) ([]ledger.ShapeInfo, ledger.Code) {
	c := m.classes[id]
	if c == nil {
		return nil, ledger.ClassNotFound
	}
	var list []ledger.ShapeInfo
	if c.anyKey != nil {
		list = append(list, ledger.ShapeInfo{AnyKey: true, Width: int(c.anyKey.w), Height: int(c.anyKey.h)})
	}
	for _, key := range slices.Sorted(maps.Keys(c.byKey)) {
		list = append(list, ledger.ShapeInfo{Key: key, Width: int(c.byKey[key].w), Height: int(c.byKey[key].h)})
	}
	return list, ""
}

// Stats returns the totals of a class. It finds them by counting, except the lifetime
// totals, which the class has.
func (m *Model) Stats(id int64) (ledger.ClassStats, ledger.Code) {
	cl := m.classes[id]
	if cl == nil {
		return ledger.ClassStats{}, ledger.ClassNotFound
	}
	total := m.total(id)
	if difference := new(big.Int).Sub(cl.added, cl.removed); difference.Cmp(total) != 0 {
		panic("modeltest: the total differs from what was added less what was removed")
	}
	s := ledger.ClassStats{ClassID: id, TotalQuantity: total.Int64(), TotalAdded: uint128(cl.added), TotalRemoved: uint128(cl.removed),
		InstancesMinted: cl.minted, InstancesBurned: cl.burned}
	for _, h := range m.holds {
		if h.stack.ClassID == id {
			s.TotalHeld += h.quantity
		}
	}
	for _, c := range m.containers {
		holds := false
		for stack := range c.stacks {
			if stack.ClassID == id {
				s.Stacks++
				holds = true
			}
		}
		for _, in := range c.slots {
			holds = holds || m.instances[in].class == id
		}
		for _, t := range c.things {
			holds = holds || t.instance != 0 && m.instances[t.instance].class == id
		}
		if holds {
			s.Containers++
		}
	}
	for _, in := range m.instances {
		if in.class == id {
			s.Alive++
		}
	}
	return s, ""
}

func uint128(v *big.Int) ledger.Uint128 {
	hi := new(big.Int).Rsh(v, 64)
	lo := new(big.Int).And(v, new(big.Int).SetUint64(1<<64-1))
	return ledger.Uint128{Hi: hi.Uint64(), Lo: lo.Uint64()}
}

// Instance returns what a read of one instance shows.
func (m *Model) Instance(id int64) (ledger.InstanceInfo, ledger.Code) {
	in := m.instances[id]
	if in == nil {
		return ledger.InstanceInfo{}, ledger.InstanceNotFound
	}
	info := m.locate(id)
	info.ID, info.ClassID, info.Key, info.MintedSeq = id, in.class, in.key, in.minted
	for _, child := range slices.Sorted(maps.Keys(m.instances)) {
		if m.instances[child].parent == id {
			info.Children = append(info.Children, child)
		}
	}
	return info, ""
}

// Containers returns the containers, ordered by id.
func (m *Model) Containers(f ledger.ContainerFilter, after int64, limit int) ([]ledger.ContainerInfo, bool) {
	var list []ledger.ContainerInfo
	for _, id := range slices.Sorted(maps.Keys(m.containers)) {
		info, _ := m.Container(id)
		if id > after && (f.Owner == 0 || f.Owner == info.Owner) && (f.Kind == 0 || f.Kind == info.Kind) {
			list = append(list, info)
		}
	}
	return page(list, limit)
}

// NamedContainers returns the containers whose names begin with prefix, ordered by name.
// It starts at the first name greater than the argument after. If owners is nil, it
// returns the containers of all owners.
func (m *Model) NamedContainers(prefix string, f ledger.ContainerFilter, owners []int64, after string, limit int) ([]ledger.ContainerInfo, bool) {
	all, _ := m.Containers(f, 0, len(m.containers))
	all = slices.DeleteFunc(all, func(c ledger.ContainerInfo) bool {
		return c.Name == "" || !strings.HasPrefix(c.Name, prefix) || c.Name <= after || owners != nil && !slices.Contains(owners, c.Owner)
	})
	slices.SortFunc(all, func(a, b ledger.ContainerInfo) int { return strings.Compare(a.Name, b.Name) })
	return page(all, limit)
}

// ContainerNamed returns the id of the container with the given name.
func (m *Model) ContainerNamed(name string) (int64, ledger.Code) {
	if id := m.containerNamed(name); id != 0 {
		return id, ""
	}
	return 0, ledger.ContainerNotFound
}

// ClassCoded returns the id of the class with the given code.
func (m *Model) ClassCoded(code string) (int64, ledger.Code) {
	if id := m.classCoded(code); id != 0 {
		return id, ""
	}
	return 0, ledger.ClassNotFound
}

// ContainerIDs returns the ids of the containers, ascending.
func (m *Model) ContainerIDs() []int64 { return slices.Sorted(maps.Keys(m.containers)) }

// ClassIDs returns the ids of the registered classes, ascending.
func (m *Model) ClassIDs() []int64 { return slices.Sorted(maps.Keys(m.classes)) }

// InstanceIDs returns the ids of the living instances, ascending.
func (m *Model) InstanceIDs() []int64 { return slices.Sorted(maps.Keys(m.instances)) }
