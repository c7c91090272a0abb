package ctl

import (
	"flag"
	"fmt"
	"strconv"
	"unicode/utf8"
)

var readSlotsCommand = command{
	Words:    "read slots",
	List:     true,
	Args:     "CONTAINER",
	Purpose:  "draw a container's slots, or list those occupied",
	Notes:    "Of more than 256 slots only the occupied ones are shown, as a list.",
	Examples: [2]string{"read slots 3", "read slots 3 -list -limit 10000 -o json"},
	Setup: func(set *flag.FlagSet) action {
		s := &slots{}
		s.list.declare(set)
		s.list.declarePast(set)
		set.BoolVar(&s.asList, "list", false, "a table of what is there, instead of a drawing; so do -limit, -cursor and -all")
		return s.run
	},
}

type slots struct {
	list   listFlags
	asList bool
}

// slotData is one occupied slot.
type slotData struct {
	SlotIndex  int64 `json:"slot_index"`
	InstanceID int64 `json:"instance_id"`
	ClassID    int64 `json:"class_id"`
	Key        int64 `json:"key"`
}

// slotsPage is one page of the answer.
type slotsPage struct {
	Data struct {
		SlotCount int `json:"slot_count"`
		Slots     []slotData
	}
}

// mostDrawn is the number of slots beyond which they are listed.
const mostDrawn = 256

func (s *slots) run(c *call) error {
	ref, err := c.ref(0, "CONTAINER")
	if err != nil {
		return err
	}
	path := "/v1/read/container/" + ref + "/slots"
	t := c.newTable(numeric("slot_index"), numeric("instance_id"), numeric("class_id"), numeric("key"))
	if s.asList || c.json() || c.csv() || s.list.paged() {
		return s.list.show(c, path, nil, t, func(a *answer) error {
			var page slotsPage
			if err := a.decode(&page); err != nil {
				return err
			}
			addSlots(t, page.Data.Slots)
			return nil
		})
	}
	var all slotsPage
	err = s.list.collect(c, path, nil, func(a *answer) error {
		before := all.Data.Slots
		all.Data.Slots = nil
		err := a.decode(&all)
		all.Data.Slots = append(before, all.Data.Slots...)
		return err
	})
	if err != nil {
		return err
	}
	d := &all.Data
	for _, s := range d.Slots {
		if s.SlotIndex < 0 || s.SlotIndex >= int64(d.SlotCount) || s.ClassID < 1 {
			return fmt.Errorf("the answer of %s is not what the ledger says: class %d in slot %d of %d", c.readURL+path, s.ClassID, s.SlotIndex, d.SlotCount)
		}
	}
	if d.SlotCount < 1 {
		return fmt.Errorf("the answer of %s is not what the ledger says: it has no slots", c.readURL+path)
	}
	fmt.Fprintf(c.out, "container %s: %s, %d occupied\n\n", c.args[0], count(d.SlotCount, "slot"), len(d.Slots))
	if d.SlotCount <= mostDrawn {
		return drawSlots(c, d.SlotCount, d.Slots)
	}
	if len(d.Slots) > 0 {
		addSlots(t, d.Slots)
		t.flush()
	}
	c.out.Flush()
	c.say("more than %d slots are too many to draw: only the occupied ones are listed", mostDrawn)
	return nil
}

func addSlots(t *table, list []slotData) {
	for _, s := range list {
		t.row(strconv.FormatInt(s.SlotIndex, 10), strconv.FormatInt(s.InstanceID, 10),
			strconv.FormatInt(s.ClassID, 10), strconv.FormatInt(s.Key, 10))
	}
}

// A slot is drawn as a box with two lines in it, its number above:
//
//	0      1
//	┌──────┬──────┐
//	│sword │      │
//	│#17   │      │
//	└──────┴──────┘
const (
	slotHeight   = 4 // lines from the number to the lower border, which the next row has above its own
	widestInside = 12
)

func drawSlots(c *call, slotCount int, list []slotData) error {
	names, ids := make([]string, slotCount), make([]string, slotCount)
	colours := make([]int, slotCount)
	inside := len(strconv.Itoa(slotCount))
	for _, s := range list {
		class, err := c.classByID(s.ClassID)
		if err != nil {
			return err
		}
		i := s.SlotIndex
		names[i], ids[i] = clean(class.Name), "#"+strconv.FormatInt(s.InstanceID, 10)
		if s.Key != 0 {
			names[i] += "/" + strconv.FormatInt(s.Key, 10)
		}
		colours[i] = classColours[s.ClassID%int64(len(classColours))]
		inside = max(inside, min(utf8.RuneCountInString(names[i]), widestInside), len(ids[i]))
	}
	perRow := min(max((c.screen.drawWidth()-1)/(inside+1), 1), slotCount)
	for first := 0; first < slotCount; first += perRow {
		n := min(perRow, slotCount-first)
		v := newCanvas(&c.screen, n*(inside+1)+1, slotHeight+1)
		for i := range n {
			drawSlot(v, i*(inside+1), inside, i == 0, i == n-1)
			v.text(i*(inside+1)+1, 0, strconv.Itoa(first+i), 0)
			v.text(i*(inside+1)+1, 2, shorten(names[first+i], inside, c.screen.ellipsis()), colours[first+i])
			v.text(i*(inside+1)+1, 3, ids[first+i], 0)
		}
		v.write(c.out, func(int) string { return "" })
	}
	return nil
}

// drawSlot draws the box of a slot.
func drawSlot(v *canvas, left, inside int, isFirst, isLast bool) {
	s := v.screen
	for k := 0; k <= inside+1; k++ {
		across := armLeft | armRight
		if k == 0 && isFirst {
			across = armRight
		} else if k == inside+1 && isLast {
			across = armLeft
		}
		up, down := across, across
		if k == 0 || k == inside+1 {
			up, down = across|armDown, across|armUp
			v.put(left+k, 2, s.corner(armUp|armDown), 0)
			v.put(left+k, 3, s.corner(armUp|armDown), 0)
		}
		v.put(left+k, 1, s.corner(up), 0)
		v.put(left+k, slotHeight, s.corner(down), 0)
	}
}
