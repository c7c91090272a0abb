package ctl

import (
	"flag"
	"strconv"
)

var readContainerCommand = command{
	Words:    "read container",
	Args:     "CONTAINER_ID",
	Purpose:  "show a container: kind, owner, size",
	Examples: [2]string{"read container 1", "read container 1 -min-seq 12 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "CONTAINER_ID", "/v1/read/container/", "", showContainer)
	},
}

type containerData struct {
	ContainerID int64  `json:"container_id"`
	Kind        string `json:"kind"`
	Owner       *int64 `json:"owner"`
	CreatedSeq  int64  `json:"created_seq"`
	UpdatedSeq  int64  `json:"updated_seq"`
	SlotCount   int64  `json:"slot_count"`
	GridWidth   int64  `json:"grid_width"`
	GridHeight  int64  `json:"grid_height"`
	Stacks      int64  `json:"stacks"`
	Instances   int64  `json:"instances"`
}

func showContainer(c *call, a *answer) error {
	var page struct{ Data containerData }
	if err := a.decode(&page); err != nil {
		return err
	}
	d := page.Data
	t := c.newTable()
	t.row("container_id", strconv.FormatInt(d.ContainerID, 10))
	t.row("kind", d.Kind)
	t.row("owner", orDash(d.Owner))
	if d.SlotCount > 0 {
		t.row("slot_count", strconv.FormatInt(d.SlotCount, 10))
	}
	if d.GridWidth > 0 {
		t.row("grid", strconv.FormatInt(d.GridWidth, 10)+"x"+strconv.FormatInt(d.GridHeight, 10))
	}
	t.row("stacks", strconv.FormatInt(d.Stacks, 10))
	t.row("instances", strconv.FormatInt(d.Instances, 10))
	t.row("created_seq", strconv.FormatInt(d.CreatedSeq, 10))
	t.row("updated_seq", strconv.FormatInt(d.UpdatedSeq, 10))
	t.flush()
	return nil
}

// orDash shows an integer, or "-" when there is none.
func orDash(v *int64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatInt(*v, 10)
}
