package main

import "fmt"

// size returns the shape registered for a key, or the one for all keys.
func (b *book) size(class, key int) (w, h int) {
	shapes := b.classes[class].shapes
	s, ok := shapes[key]
	if !ok {
		s, ok = shapes[anyKey]
	}
	if !ok {
		panic(fmt.Sprintf("the scenario places class %d key %d, which has no shape", class, key))
	}
	return s[0], s[1]
}

func (c *container) free(x, y, w, h int) bool {
	if x < 0 || y < 0 || x+w > c.width || y+h > c.height {
		return false
	}
	for _, p := range c.placed {
		if x < p.x+p.w && p.x < x+w && y < p.y+p.h && p.y < y+h {
			return false
		}
	}
	return true
}

// firstFit tries every cell, row by row, first with the shape unrotated, and then with
// the shape rotated.
func (c *container) firstFit(w, h int) (x, y, rotation int) {
	for _, rotation := range []int{0, 90} {
		if rotation == 90 {
			w, h = h, w
		}
		for y := 0; y < c.height; y++ {
			for x := 0; x < c.width; x++ {
				if c.free(x, y, w, h) {
					return x, y, rotation
				}
			}
		}
	}
	panic(fmt.Sprintf("the scenario overfills grid %d", c.id))
}

func (c *container) unplace(match func(placement) bool) (gone placement) {
	kept := c.placed[:0]
	for _, p := range c.placed {
		if match(p) {
			gone = p
		} else {
			kept = append(kept, p)
		}
	}
	c.placed = kept
	return gone
}

func (b *book) newInstance(class, key int) *instance {
	b.lastInstance++
	i := &instance{id: b.lastInstance, class: class, key: key, seq: b.seq + 1, at: "null"}
	b.instances[i.id] = i
	b.classes[class].minted++
	return i
}

func (b *book) mint(class, key int) int {
	b.op(`{"op":"MintInstance","args":{"class_id":%d,"key":%d}}`, class, key)
	return b.newInstance(class, key).id
}

func (b *book) mintInSlot(class, key, id, slot int) int {
	b.op(`{"op":"MintInstance","args":{"class_id":%d,"key":%d,"container_id":%d,"slot_index":%d}}`, class, key, id, slot)
	i := b.newInstance(class, key)
	b.toSlot(i, id, slot)
	return i.id
}

func (b *book) mintInGrid(class, key, id int) int {
	b.op(`{"op":"MintInstance","args":{"class_id":%d,"key":%d,"container_id":%d}}`, class, key, id)
	i := b.newInstance(class, key)
	w, h := b.size(class, key)
	x, y, rotation := b.containers[id].firstFit(w, h)
	b.toGrid(i, id, x, y, rotation)
	return i.id
}

func (b *book) burn(id int) {
	b.op(`{"op":"BurnInstance","args":{"instance_id":%d}}`, id)
	i := b.instances[id]
	b.out(i)
	b.classes[i.class].burned++
	delete(b.instances, id)
}

// out takes an instance from its place.
func (b *book) out(i *instance) (was placement) {
	if c := b.containers[i.container]; c != nil {
		for slot, held := range c.inSlot {
			if held == i.id {
				delete(c.inSlot, slot)
			}
		}
		was = c.unplace(func(p placement) bool { return p.instance == i.id })
		b.touch(c.id)
	}
	i.at, i.parent, i.container = "null", 0, 0
	return was
}

func (b *book) toSlot(i *instance, id, slot int) {
	c := b.containers[id]
	if c.inSlot[slot] != 0 || slot >= c.slots {
		panic(fmt.Sprintf("the scenario uses slot %d of container %d, which is occupied or does not exist", slot, id))
	}
	c.inSlot[slot] = i.id
	i.at, i.container = fmt.Sprintf(`{"container_id":%d,"slot_index":%d}`, id, slot), id
	b.touch(id)
}

func (b *book) toGrid(i *instance, id, x, y, rotation int) {
	c := b.containers[id]
	w, h := b.size(i.class, i.key)
	if rotation == 90 {
		w, h = h, w
	}
	if !c.free(x, y, w, h) {
		panic(fmt.Sprintf("the scenario has no room for instance %d at %d,%d of %d", i.id, x, y, id))
	}
	c.placed = append(c.placed, placement{x: x, y: y, w: w, h: h, rotation: rotation, class: i.class, key: i.key, instance: i.id})
	i.at, i.container = fmt.Sprintf(`{"container_id":%d,"x":%d,"y":%d,"rotation":%d}`, id, x, y, rotation), id
	b.touch(id)
}

func (b *book) placeInSlot(id, slot, inst int) {
	b.op(`{"op":"PlaceInSlot","args":{"container_id":%d,"slot_index":%d,"instance_id":%d}}`, id, slot, inst)
	b.toSlot(b.instances[inst], id, slot)
}

func (b *book) removeFromSlot(id, slot int) {
	b.op(`{"op":"RemoveFromSlot","args":{"container_id":%d,"slot_index":%d}}`, id, slot)
	b.out(b.instances[b.containers[id].inSlot[slot]])
}

func (b *book) swap(id, slotA, slotB, other int) {
	b.op(`{"op":"SwapSlots","args":{"container_id":%d,"slot_a":%d,"slot_b":%d,"other_container_id":%d}}`, id, slotA, slotB, other)
	first, second := b.containers[id].inSlot[slotA], b.containers[other].inSlot[slotB]
	for _, inst := range []int{first, second} {
		if inst != 0 {
			b.out(b.instances[inst])
		}
	}
	if first != 0 {
		b.toSlot(b.instances[first], other, slotB)
	}
	if second != 0 {
		b.toSlot(b.instances[second], id, slotA)
	}
	b.touch(id, other)
}

func (b *book) placeInGrid(id, inst, x, y, rotation int) {
	b.op(`{"op":"PlaceInGrid","args":{"container_id":%d,"instance_id":%d,"x":%d,"y":%d,"rotation":%d}}`, id, inst, x, y, rotation)
	b.toGrid(b.instances[inst], id, x, y, rotation)
}

func (b *book) removeFromGrid(id, inst int) {
	b.op(`{"op":"RemoveFromGrid","args":{"container_id":%d,"instance_id":%d}}`, id, inst)
	b.out(b.instances[inst])
}

// move moves the stack or instance at (x,y) to (toX,toY), with the given rotation.
func (b *book) move(id, x, y, toX, toY, rotation int) {
	b.op(`{"op":"MoveInGrid","args":{"container_id":%d,"x":%d,"y":%d,"to_x":%d,"to_y":%d,"rotation":%d}}`, id, x, y, toX, toY, rotation)
	c := b.containers[id]
	p := c.unplace(func(p placement) bool { return x >= p.x && x < p.x+p.w && y >= p.y && y < p.y+p.h })
	if p.class == 0 {
		panic(fmt.Sprintf("the scenario moves an empty cell %d,%d of %d", x, y, id))
	}
	if p.rotation != rotation {
		p.w, p.h = p.h, p.w
	}
	p.x, p.y, p.rotation = toX, toY, rotation
	if !c.free(p.x, p.y, p.w, p.h) {
		panic(fmt.Sprintf("the scenario has no room to move to %d,%d of %d", toX, toY, id))
	}
	c.placed = append(c.placed, p)
	if p.instance != 0 {
		b.instances[p.instance].at = fmt.Sprintf(`{"container_id":%d,"x":%d,"y":%d,"rotation":%d}`, id, toX, toY, rotation)
	}
	b.touch(id)
}

func (b *book) attach(child, parent int) {
	b.op(`{"op":"Attach","args":{"instance_id":%d,"parent_id":%d}}`, child, parent)
	i := b.instances[child]
	i.at, i.parent = fmt.Sprintf(`{"parent_id":%d}`, parent), parent
}

func (b *book) detach(child int) {
	b.op(`{"op":"Detach","args":{"instance_id":%d}}`, child)
	b.out(b.instances[child])
}
