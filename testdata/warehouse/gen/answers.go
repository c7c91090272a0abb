package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

func sortedStacks(c *container) []stackID {
	return slices.SortedFunc(maps.Keys(c.stacks), func(a, b stackID) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.key, b.key))
	})
}

// answers writes each query and, on the next line, the whole response.
func (b *book) answers(w io.Writer) {
	freshness := fmt.Sprintf(`"freshness":{"checkpoint_seq":%d,"commit_log_seq":%d}`, b.seq, b.seq)
	data := func(path, format string, args ...any) {
		fmt.Fprintf(w, "GET /v1/read/%s\n{\"data\":%s,%s}\n", path, fmt.Sprintf(format, args...), freshness)
	}
	var list []string
	for _, id := range slices.Sorted(maps.Keys(b.containers)) {
		c := b.containers[id]
		list = append(list, fmt.Sprintf(`{"container_id":%d,"kind":%q,"owner":%s}`, id, c.kind, c.ownerJSON()))
		b.containerAnswers(c, data)
		if c.kind != "Slots" {
			fmt.Fprintf(w, "GET /v1/read/container/%d/balances\n{\"container_id\":%d,\"balances\":[%s],%s}\n", id, id, c.balances(), freshness)
		}
	}
	data("containers", `{"containers":[%s]}`, strings.Join(list, ","))
	list = nil
	for _, id := range slices.Sorted(maps.Keys(b.classes)) {
		list = append(list, b.classes[id].json())
		b.classAnswers(b.classes[id], data)
	}
	data("classes", `{"classes":[%s]}`, strings.Join(list, ","))
	for _, id := range slices.Sorted(maps.Keys(b.instances)) {
		i := b.instances[id]
		data(fmt.Sprintf("instance/%d", id), `{"instance_id":%d,"class_id":%d,"key":%d,"minted_seq":%d,"location":%s,"children":[%s]}`,
			id, i.class, i.key, i.seq, i.at, b.children(id))
	}
	data("freshness", `{"lag":0,"lag_ms":0}`)
}

func (c *container) ownerJSON() string {
	if c.owner == 0 {
		return "null"
	}
	return fmt.Sprint(c.owner)
}

func (b *book) containerAnswers(c *container, data func(path, format string, args ...any)) {
	path := fmt.Sprintf("container/%d", c.id)
	size, held := "", 0
	switch c.kind {
	case "Slots":
		size, held = fmt.Sprintf(`"slot_count":%d,`, c.slots), len(c.inSlot)
	case "Grid":
		size = fmt.Sprintf(`"grid_width":%d,"grid_height":%d,`, c.width, c.height)
		held = len(c.placed) - len(c.stacks)
	}
	data(path, `{"container_id":%d,"kind":%q,"owner":%s,"created_seq":%d,"updated_seq":%d,%s"stacks":%d,"instances":%d}`,
		c.id, c.kind, c.ownerJSON(), c.created, c.updated, size, len(c.stacks), held)
	switch c.kind {
	case "Slots":
		var slots []string
		for _, s := range slices.Sorted(maps.Keys(c.inSlot)) {
			i := b.instances[c.inSlot[s]]
			slots = append(slots, fmt.Sprintf(`{"slot_index":%d,"instance_id":%d,"class_id":%d,"key":%d}`, s, i.id, i.class, i.key))
		}
		data(path+"/slots", `{"container_id":%d,"slot_count":%d,"slots":[%s]}`, c.id, c.slots, strings.Join(slots, ","))
	case "Grid":
		cells, placements := c.placements()
		data(path+"/grid", `{"container_id":%d,"grid_width":%d,"grid_height":%d,"occupied_cells":%d,"placements":[%s]}`,
			c.id, c.width, c.height, cells, placements)
	}
}

func (c *container) placements() (cells int, list string) {
	slices.SortFunc(c.placed, func(a, b placement) int { return cmp.Or(cmp.Compare(a.y, b.y), cmp.Compare(a.x, b.x)) })
	var out []string
	for _, p := range c.placed {
		cells += p.w * p.h
		what := fmt.Sprintf(`"quantity":%d`, c.stacks[stackID{p.class, p.key}])
		if p.instance != 0 {
			what = fmt.Sprintf(`"instance_id":%d`, p.instance)
		}
		out = append(out, fmt.Sprintf(`{"x":%d,"y":%d,"width":%d,"height":%d,"rotation":%d,"class_id":%d,"key":%d,%s}`,
			p.x, p.y, p.w, p.h, p.rotation, p.class, p.key, what))
	}
	return cells, strings.Join(out, ",")
}

func (c *container) balances() string {
	var out []string
	for _, s := range sortedStacks(c) {
		out = append(out, fmt.Sprintf(`{"class_id":%d,"key":%d,"quantity":%d}`, s.class, s.key, c.stacks[s]))
	}
	return strings.Join(out, ",")
}

func (k *class) json() string {
	return fmt.Sprintf(`{"class_id":%d,"name":%q,"fungible":%t,"decimals":%d,"registered_seq":%d}`, k.id, k.name, k.fungible, k.decimals, k.seq)
}

func (b *book) classAnswers(k *class, data func(path, format string, args ...any)) {
	path := fmt.Sprintf("class/%d", k.id)
	data(path, "%s", k.json())
	var shapes []string
	for _, key := range slices.Sorted(maps.Keys(k.shapes)) {
		name := fmt.Sprint(key)
		if key == anyKey {
			name = "null"
		}
		shapes = append(shapes, fmt.Sprintf(`{"key":%s,"width":%d,"height":%d}`, name, k.shapes[key][0], k.shapes[key][1]))
	}
	data(path+"/shapes", `{"class_id":%d,"shapes":[%s]}`, k.id, strings.Join(shapes, ","))
	stacks, holders, live := 0, map[int]bool{}, 0
	for id, c := range b.containers {
		for s := range c.stacks {
			if s.class == k.id {
				stacks++
				holders[id] = true
			}
		}
	}
	for _, i := range b.instances {
		if i.class == k.id {
			live++
			if i.container != 0 {
				holders[i.container] = true
			}
		}
	}
	data(path+"/stats", `{"class_id":%d,"total_quantity":%d,"total_added":%d,"total_removed":%d,"stacks":%d,"containers":%d,`+
		`"instances_minted":%d,"instances_burned":%d,"instances_live":%d}`,
		k.id, k.added-k.removed, k.added, k.removed, stacks, len(holders), k.minted, k.burned, live)
}

func (b *book) children(parent int) string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(b.instances)) {
		if b.instances[id].parent == parent {
			out = append(out, fmt.Sprint(id))
		}
	}
	return strings.Join(out, ",")
}
