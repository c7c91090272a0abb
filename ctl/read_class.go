package ctl

import (
	"flag"
	"strconv"
)

var readClassCommand = command{
	Words:    "read class",
	Args:     "CLASS_ID",
	Purpose:  "show a class of assets",
	Examples: [2]string{"read class 1", "read class 1 -o json"},
	Setup: func(set *flag.FlagSet) action {
		return itemAction(set, "CLASS_ID", "/v1/read/class/", "", showClass)
	},
}

type classData struct {
	ClassID       int64  `json:"class_id"`
	Name          string `json:"name"`
	Fungible      bool   `json:"fungible"`
	Decimals      int    `json:"decimals"`
	RegisteredSeq int64  `json:"registered_seq"`
}

func showClass(c *call, a *answer) error {
	var page struct{ Data classData }
	if err := a.decode(&page); err != nil {
		return err
	}
	d := page.Data
	t := c.newTable()
	t.row("class_id", strconv.FormatInt(d.ClassID, 10))
	t.row("name", d.Name)
	t.row("fungible", strconv.FormatBool(d.Fungible))
	t.row("decimals", strconv.Itoa(d.Decimals))
	t.row("registered_seq", strconv.FormatInt(d.RegisteredSeq, 10))
	t.flush()
	return nil
}
