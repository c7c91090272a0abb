package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"strconv"
)

var readInstanceCommand = command{
	Words:    "read instance",
	Args:     "INSTANCE",
	Purpose:  "show an instance and where it is",
	Examples: [2]string{"read instance 17", "read instance 17 -min-seq 12 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "INSTANCE", "/v1/read/instance/*", false, showInstance)
	},
}

type location struct {
	ContainerID int64  `json:"container_id"`
	SlotIndex   *int64 `json:"slot_index"`
	X, Y        int64
	Rotation    int64
	ParentID    *int64 `json:"parent_id"`
}

func (l *location) String() string {
	switch {
	case l == nil:
		return "nowhere"
	case l.ParentID != nil:
		return fmt.Sprintf("attached to instance %d", *l.ParentID)
	case l.SlotIndex != nil:
		return fmt.Sprintf("container %d slot %d", l.ContainerID, *l.SlotIndex)
	}
	return fmt.Sprintf("container %d cell %d,%d rotation %d", l.ContainerID, l.X, l.Y, l.Rotation)
}

// showInstance shows an instance with all of its children, which come in pages.
func showInstance(c *call, a *answer) error {
	t := c.newTable()
	var children []int64
	q := url.Values{"limit": {strconv.Itoa(maxListLimit)}}
	for first := true; ; first = false {
		var page struct{ Data entry }
		if err := a.decode(&page); err != nil {
			return err
		}
		if first {
			if err := c.addItem(t, page.Data, "instance_id class_id class key minted_seq location"); err != nil {
				return err
			}
		}
		var more []int64
		if list := page.Data["children"]; list != nil && json.Unmarshal(list, &more) != nil || !first && len(more) == 0 {
			return fmt.Errorf("the answer of %s is not what the ledger says: its children are none", a.url)
		}
		children = append(children, more...)
		next := a.nextCursor()
		if next == "" {
			break
		}
		if next == q.Get("cursor") {
			return endlessList(a)
		}
		q.Set("cursor", next)
		var err error
		if a, err = c.get(c.readURL, "/v1/read/instance/"+c.args[0], q); err != nil {
			return err
		}
	}
	t.row("children", joinInts(children))
	t.flush()
	return nil
}
