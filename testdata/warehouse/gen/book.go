package main

import (
	"bytes"
	"fmt"
	"strings"
)

// A book is the generator's own ledger, in its simplest form.
type book struct {
	lines, refusals bytes.Buffer
	line            int // lines written so far
	seq             int // accepted commits so far
	containers      map[int]*container
	classes         map[int]*class
	instances       map[int]*instance
	lastInstance    int

	tx *transaction // being written
}

type transaction struct {
	key, metadata string
	ops           []string
	touched       []*container
}

type container struct {
	id               int
	kind             string
	owner            int
	created, updated int
	slots            int
	width, height    int
	stacks           map[stackID]int
	inSlot           map[int]int // slot to instance
	placed           []placement
}

type stackID struct{ class, key int }

type placement struct {
	x, y, w, h, rotation int
	class, key, instance int // instance 0: a stack
}

type class struct {
	id, decimals   int
	name           string
	fungible       bool
	seq            int
	added, removed int
	minted, burned int
	shapes         map[int][2]int // key, or anyKey, to width and height
}

const anyKey = -1

type instance struct {
	id, class, key, seq int
	at                  string // location as JSON
	parent              int
	container           int // the one that holds the instance directly, or 0
}

func newBook() *book {
	return &book{containers: map[int]*container{}, classes: map[int]*class{}, instances: map[int]*instance{}}
}

// begin starts the next transaction. The parameters key and metadata may be empty.
func (b *book) begin(key, metadata string) {
	b.tx = &transaction{key: key, metadata: metadata}
}

func (b *book) op(format string, args ...any) {
	b.tx.ops = append(b.tx.ops, fmt.Sprintf(format, args...))
}

func (b *book) touch(ids ...int) {
	for _, id := range ids {
		b.tx.touched = append(b.tx.touched, b.containers[id])
	}
}

func (b *book) write() {
	var fields []string
	fields = append(fields, `"operations":[`+strings.Join(b.tx.ops, ",")+`]`)
	if b.tx.key != "" {
		fields = append(fields, fmt.Sprintf(`"idempotency_key":%q`, b.tx.key))
	}
	if b.tx.metadata != "" {
		fields = append(fields, `"metadata":`+b.tx.metadata)
	}
	b.line++
	fmt.Fprintf(&b.lines, "{%s}\n", strings.Join(fields, ","))
}

// accepted ends a transaction that the ledger must accept.
func (b *book) accepted() {
	b.write()
	b.seq++
	for _, c := range b.tx.touched {
		c.updated = b.seq
	}
}

// again repeats the last transaction. The ledger must return its first result.
func (b *book) again() { b.write() }

// refused ends a transaction that the ledger must reject. The operations of a rejected
// transaction are added with the method op alone, so the rest of the book has not
// changed.
func (b *book) refused(code string, operation int) {
	b.write()
	fmt.Fprintf(&b.refusals, "%d %s %d\n", b.line, code, operation)
}

func (b *book) class(id int, name string, fungible bool, decimals int) {
	b.op(`{"op":"RegisterClass","args":{"request":{"class_id":%d,"name":%q,"fungible":%t,"decimals":%d}}}`, id, name, fungible, decimals)
	b.classes[id] = &class{id: id, name: name, fungible: fungible, decimals: decimals, seq: b.seq + 1, shapes: map[int][2]int{}}
}

func (b *book) shape(id, key, w, h int) {
	k := fmt.Sprintf(`"key":%d,`, key)
	if key == anyKey {
		k = ""
	}
	b.op(`{"op":"RegisterClassShape","args":{"request":{"class_id":%d,%s"width":%d,"height":%d}}}`, id, k, w, h)
	b.classes[id].shapes[key] = [2]int{w, h}
}

func (b *book) create(id int, kind string, owner int, extra string) *container {
	o := "null"
	if owner != 0 {
		o = fmt.Sprint(owner)
	}
	b.op(`{"op":"CreateContainer","args":{"container_id":%d,"kind":%q,"owner":%s%s}}`, id, kind, o, extra)
	c := &container{id: id, kind: kind, owner: owner, created: b.seq + 1, stacks: map[stackID]int{}, inSlot: map[int]int{}}
	b.containers[id] = c
	b.touch(id)
	return c
}

func (b *book) wallet(id, owner int) { b.create(id, "Standard", owner, "") }

func (b *book) bay(id, slots int) {
	b.create(id, "Slots", 0, fmt.Sprintf(`,"slot_count":%d`, slots)).slots = slots
}

func (b *book) shelf(id, w, h int) {
	c := b.create(id, "Grid", 0, fmt.Sprintf(`,"grid_width":%d,"grid_height":%d`, w, h))
	c.width, c.height = w, h
}

func (b *book) remove(id int) {
	b.op(`{"op":"RemoveContainer","args":{"container_id":%d}}`, id)
	delete(b.containers, id)
}

// add puts a quantity into a stack of a Standard container or a Grid. First fit chooses
// the place of a new stack in a Grid.
func (b *book) add(id, class, key, quantity int) {
	b.op(`{"op":"AddFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%d}}`, id, class, key, quantity)
	b.gain(id, class, key, quantity)
	b.classes[class].added += quantity
}

func (b *book) take(id, class, key, quantity int) {
	b.op(`{"op":"RemoveFungible","args":{"container_id":%d,"class_id":%d,"key":%d,"quantity":%d}}`, id, class, key, quantity)
	b.lose(id, class, key, quantity)
	b.classes[class].removed += quantity
}

func (b *book) transfer(from, to, class, key, quantity int) {
	b.op(`{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":%d,"quantity":%d}}`, from, to, class, key, quantity)
	b.lose(from, class, key, quantity)
	b.gain(to, class, key, quantity)
}

func (b *book) merge(id, class, from, to int) {
	b.op(`{"op":"MergeStacks","args":{"container_id":%d,"class_id":%d,"from_key":%d,"to_key":%d}}`, id, class, from, to)
	quantity := b.containers[id].stacks[stackID{class, from}]
	b.lose(id, class, from, quantity)
	b.gain(id, class, to, quantity)
}

func (b *book) consolidate(id, class int) {
	b.op(`{"op":"ConsolidateStacks","args":{"container_id":%d,"class_id":%d}}`, id, class)
	c := b.containers[id]
	ids := sortedStacks(c)
	lowest, first := 0, true
	for _, s := range ids {
		if s.class != class {
			continue
		}
		if first {
			lowest, first = s.key, false
			continue
		}
		quantity := c.stacks[s]
		b.lose(id, class, s.key, quantity)
		b.gain(id, class, lowest, quantity)
	}
	b.touch(id)
}

func (b *book) gain(id, class, key, quantity int) {
	c, s := b.containers[id], stackID{class, key}
	if c.kind == "Grid" && c.stacks[s] == 0 {
		w, h := b.size(class, key)
		x, y, rotation := c.firstFit(w, h)
		if rotation == 90 {
			w, h = h, w
		}
		c.placed = append(c.placed, placement{x: x, y: y, w: w, h: h, rotation: rotation, class: class, key: key})
	}
	c.stacks[s] += quantity
	b.touch(id)
}

func (b *book) lose(id, class, key, quantity int) {
	c, s := b.containers[id], stackID{class, key}
	if quantity <= 0 || c.stacks[s] < quantity {
		panic(fmt.Sprintf("the scenario takes %d of class %d key %d from container %d, which has %d", quantity, class, key, id, c.stacks[s]))
	}
	c.stacks[s] -= quantity
	if c.stacks[s] == 0 {
		delete(c.stacks, s)
		c.unplace(func(p placement) bool { return p.instance == 0 && p.class == class && p.key == key })
	}
	b.touch(id)
}
