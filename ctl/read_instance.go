package ctl

import (
	"flag"
	"fmt"
	"net/url"
	"strconv"
)

var readInstanceCommand = command{
	Words:    "read instance",
	Args:     "INSTANCE_ID",
	Purpose:  "show an instance and where it is",
	Examples: [2]string{"read instance 17", "read instance 17 -min-seq 12 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "INSTANCE_ID", "/v1/read/instance/", "", showInstance)
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

func showInstance(c *call, a *answer) error {
	var page struct {
		Data struct {
			InstanceID int64 `json:"instance_id"`
			ClassID    int64 `json:"class_id"`
			Key        int64
			MintedSeq  int64 `json:"minted_seq"`
			Location   *location
			Children   []int64
		}
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	d := page.Data
	q := url.Values{"limit": {strconv.Itoa(maxListLimit)}}
	for next := a.nextCursor(); next != ""; next = a.nextCursor() {
		q.Set("cursor", next)
		var err error
		if a, err = c.get(c.readURL, "/v1/read/instance/"+c.args[0], q); err != nil {
			return err
		}
		page.Data.Children = nil
		if err := a.decode(&page); err != nil {
			return err
		}
		if len(page.Data.Children) == 0 {
			return fmt.Errorf("the answer of %s says that there are more children, and has none", a.url)
		}
		d.Children = append(d.Children, page.Data.Children...)
	}
	t := c.newTable()
	t.row("instance_id", strconv.FormatInt(d.InstanceID, 10))
	t.row("class_id", strconv.FormatInt(d.ClassID, 10))
	t.row("key", strconv.FormatInt(d.Key, 10))
	t.row("minted_seq", strconv.FormatInt(d.MintedSeq, 10))
	t.row("location", d.Location.String())
	t.row("children", joinInts(d.Children))
	t.flush()
	return nil
}
