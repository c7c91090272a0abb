package ctl

import (
	"flag"
	"strconv"
)

var readSlotsCommand = command{
	Words:    "read slots",
	Args:     "CONTAINER_ID",
	Purpose:  "list a container's occupied slots",
	Examples: [2]string{"read slots 3", "read slots 3 -all -limit 10000 -o json"},
	Setup: func(set *flag.FlagSet) action {
		list := &listFlags{}
		list.declare(set)
		return func(c *call) error { return showSlots(c, list) }
	},
}

// slotData is one occupied slot.
type slotData struct {
	SlotIndex  int64 `json:"slot_index"`
	InstanceID int64 `json:"instance_id"`
	ClassID    int64 `json:"class_id"`
	Key        int64 `json:"key"`
}

func showSlots(c *call, list *listFlags) error {
	if _, err := c.id(0, "CONTAINER_ID"); err != nil {
		return err
	}
	t := c.newTable(numeric("slot_index"), numeric("instance_id"), numeric("class_id"), numeric("key"))
	return list.show(c, "/v1/read/container/"+c.args[0]+"/slots", nil, t, func(a *answer) error {
		var page struct {
			Data struct {
				Slots []slotData
			}
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, s := range page.Data.Slots {
			t.row(strconv.FormatInt(s.SlotIndex, 10), strconv.FormatInt(s.InstanceID, 10),
				strconv.FormatInt(s.ClassID, 10), strconv.FormatInt(s.Key, 10))
		}
		return nil
	})
}
