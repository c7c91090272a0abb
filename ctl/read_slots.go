package ctl

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"unicode/utf8"
)

var readSlotsCommand = readRow{
	words: "read slots", arg: "CONTAINER", purpose: "draw a container's slots, or list those occupied", list: true, past: true,
	notes:    "Three or more empty slots in a row are drawn as one. More than 256 occupied slots are shown as a list.",
	examples: [2]string{"read slots 3", "read slots 3 -list -limit 10000 -o json"},
	path:     "/v1/read/container/*/slots",
	fields:   "slot_index instance_id class_id class key",
	csv:      "slot_index instance_id class_id key", // as it was before tables had the class
	draw:     readSlots,
}.command()

type slotData struct {
	SlotIndex  int64 `json:"slot_index"`
	InstanceID int64 `json:"instance_id"`
	ClassID    int64 `json:"class_id"`
	Key        int64 `json:"key"`
}

// mostDrawn is the number of occupied slots from which they are listed, not drawn.
const mostDrawn = 256

func readSlots(c *call, list *listFlags, path string, q url.Values) error {
	var d struct {
		SlotCount int `json:"slot_count"`
		Slots     []slotData
	}
	err := list.collect(c, path, q, func(a *answer) error {
		before := d.Slots
		d.Slots = nil
		if err := a.data(&d); err != nil {
			return err
		}
		if d.Slots = append(before, d.Slots...); len(d.Slots) > mostDrawn {
			c.say("more than %d occupied slots are too many to draw: they are listed", mostDrawn)
			return errEnough
		}
		return nil
	})
	if err != nil {
		return err
	}
	last := int64(-1)
	for _, s := range d.Slots {
		if s.SlotIndex <= last || s.SlotIndex >= int64(d.SlotCount) || s.ClassID < 1 {
			return notALedgers(c.readURL+path, "class %d in slot %d of %d", s.ClassID, s.SlotIndex, d.SlotCount)
		}
		last = s.SlotIndex
	}
	if d.SlotCount < 1 {
		return notALedgers(c.readURL+path, "it has no slots")
	}
	fmt.Fprintf(c.out, "container %s: %s, %d occupied\n\n", c.args[0], count(d.SlotCount, "slot"), len(d.Slots))
	return c.drawSlots(d.SlotCount, d.Slots)
}

// A slotBox has two lines in it and a number above. It is a slot, or a run of empty
// slots:
//
//	0      1-14      15
//	┌──────┬─────────┬──────┐
//	│sword │         │shield│
//	│#17   │14 empty │#9    │
//	└──────┴─────────┴──────┘
type slotBox struct {
	number, name, id string
	colour           int
}

const (
	slotHeight   = 4 // lines from the number to the lower border, which the next row has above its own
	widestInside = 12
	foldFrom     = 3 // empty slots in a row that become one box
)

func (c *call) slotBoxes(slotCount int, occupied []slotData) ([]slotBox, error) {
	var boxes []slotBox
	empty := func(from, to int) {
		if n := to - from; n >= foldFrom {
			boxes = append(boxes, slotBox{number: fmt.Sprintf("%d-%d", from, to-1), id: fmt.Sprintf("%d empty", n)})
			return
		}
		for ; from < to; from++ {
			boxes = append(boxes, slotBox{number: strconv.Itoa(from)})
		}
	}
	next := 0
	for _, s := range occupied {
		class, err := c.classByID(s.ClassID)
		if err != nil {
			return nil, err
		}
		empty(next, int(s.SlotIndex))
		next = int(s.SlotIndex) + 1
		box := slotBox{strconv.FormatInt(s.SlotIndex, 10), clean(class.Name), "#" + strconv.FormatInt(s.InstanceID, 10), classColours[s.ClassID%int64(len(classColours))]}
		if s.Key != 0 {
			box.name += "/" + strconv.FormatInt(s.Key, 10)
		}
		boxes = append(boxes, box)
	}
	empty(next, slotCount)
	return boxes, nil
}

func (c *call) drawSlots(slotCount int, occupied []slotData) error {
	boxes, err := c.slotBoxes(slotCount, occupied)
	if err != nil {
		return err
	}
	inside := 0
	for _, b := range boxes {
		inside = max(inside, len(b.number), min(utf8.RuneCountInString(b.name), widestInside), len(b.id))
	}
	perRow := max((c.screen.drawWidth()-1)/(inside+1), 1)
	for row := range slices.Chunk(boxes, perRow) {
		v := newCanvas(&c.screen, len(row)*(inside+1)+1, slotHeight+1)
		for i, b := range row {
			left := i * (inside + 1)
			v.line(left, 1, inside+1, false)
			v.line(left, slotHeight, inside+1, false)
			v.line(left, 1, slotHeight-1, true)
			v.line(left+inside+1, 1, slotHeight-1, true)
			v.text(left+1, 0, b.number, 0)
			v.text(left+1, 2, shorten(b.name, inside, c.screen.ellipsis()), b.colour)
			v.text(left+1, 3, b.id, 0)
		}
		v.write(c.out, func(int) string { return "" })
	}
	return nil
}
