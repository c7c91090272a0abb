package ctl

import (
	"flag"
	"net/url"
	"strconv"
)

var readContainersCommand = command{
	Words:    "read containers",
	Purpose:  "list the containers",
	Examples: [2]string{"read containers -kind Grid", "read containers -owner 7 -all"},
	Setup: func(set *flag.FlagSet) action {
		f := &containersFlags{owner: anyID(), kind: choice{of: []string{"Standard", "Slots", "Grid"}}}
		f.list.declare(set)
		set.Var(&f.owner, "owner", "only containers of this `OWNER`")
		set.Var(&f.kind, "kind", "only containers of this `KIND`: Standard, Slots or Grid")
		return f.run
	},
}

type containersFlags struct {
	list  listFlags
	owner number
	kind  choice
}

func (f *containersFlags) run(c *call) error {
	filters := url.Values{}
	f.owner.query(filters, "owner")
	if f.kind.value != "" {
		filters.Set("kind", f.kind.value)
	}
	t := c.newTable(numeric("container_id"), text("kind"), numeric("owner"))
	return f.list.show(c, "/v1/read/containers", filters, t, func(a *answer) error {
		var page struct {
			Data struct{ Containers []containerData }
		}
		if err := a.decode(&page); err != nil {
			return err
		}
		for _, d := range page.Data.Containers {
			t.row(strconv.FormatInt(d.ContainerID, 10), d.Kind, orDash(d.Owner))
		}
		return nil
	})
}
