package ctl

import (
	"flag"
	"strconv"
)

var readClassesCommand = command{
	Words:    "read classes",
	Purpose:  "list the classes of assets",
	Examples: [2]string{"read classes", "read classes -all -o json"},
	Setup: func(set *flag.FlagSet) action {
		list := &listFlags{}
		list.declare(set)
		return func(c *call) error { return showClasses(c, list) }
	},
}

func showClasses(c *call, list *listFlags) error {
	t := c.newTable(numeric("class_id"), text("name"), text("fungible"), numeric("decimals"), numeric("registered_seq"))
	return list.show(c, "/v1/read/classes", nil, t, func(a *answer) error {
		var page struct {
			Data struct{ Classes []classData }
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, d := range page.Data.Classes {
			t.row(strconv.FormatInt(d.ClassID, 10), d.Name, strconv.FormatBool(d.Fungible),
				strconv.Itoa(d.Decimals), strconv.FormatInt(d.RegisteredSeq, 10))
		}
		return nil
	})
}
