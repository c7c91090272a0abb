package ctl

import (
	"encoding/json"
	"flag"
	"strconv"
)

var readStatsCommand = command{
	Words:    "read stats",
	Args:     "CLASS_ID",
	Purpose:  "show the totals of a class",
	Notes:    "The table shows quantities with the decimals of the class, JSON the minor units.",
	Examples: [2]string{"read stats 1", "read stats 1 -min-seq 12 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "CLASS_ID", "/v1/read/class/", "/stats", showStats)
	},
}

func showStats(c *call, a *answer) error {
	var page struct {
		Data struct {
			ClassID         int64       `json:"class_id"`
			TotalQuantity   json.Number `json:"total_quantity"`
			TotalAdded      json.Number `json:"total_added"`
			TotalRemoved    json.Number `json:"total_removed"`
			Stacks          int64       `json:"stacks"`
			Containers      int64       `json:"containers"`
			InstancesMinted int64       `json:"instances_minted"`
			InstancesBurned int64       `json:"instances_burned"`
			InstancesLive   int64       `json:"instances_live"`
		}
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	d := page.Data
	t := c.newTable()
	t.row("class_id", strconv.FormatInt(d.ClassID, 10))
	for _, total := range []struct {
		name  string
		value json.Number
	}{{"total_quantity", d.TotalQuantity}, {"total_added", d.TotalAdded}, {"total_removed", d.TotalRemoved}} {
		shown, err := c.quantity(d.ClassID, total.value)
		if err != nil {
			return err
		}
		t.row(total.name, shown)
	}
	t.row("stacks", strconv.FormatInt(d.Stacks, 10))
	t.row("containers", strconv.FormatInt(d.Containers, 10))
	t.row("instances_minted", strconv.FormatInt(d.InstancesMinted, 10))
	t.row("instances_burned", strconv.FormatInt(d.InstancesBurned, 10))
	t.row("instances_live", strconv.FormatInt(d.InstancesLive, 10))
	t.flush()
	return nil
}
