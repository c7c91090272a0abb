package ctl

import (
	"encoding/json"
	"flag"
	"net/url"
	"strconv"
)

var readGridCommand = command{
	Words:    "read grid",
	Args:     "CONTAINER_ID",
	Purpose:  "list what stands in a grid",
	Notes:    "With -x, -y, -width and -height: only what touches that rectangle. Width and height are as placed.",
	Examples: [2]string{"read grid 4", "read grid 4 -x 0 -y 0 -width 8 -height 2"},
	Setup: func(set *flag.FlagSet) action {
		g := &grid{x: anyKey(), y: anyKey(), width: side(), height: side()}
		g.list.declare(set)
		set.Var(&g.x, "x", "first `COLUMN` of the rectangle, from 0")
		set.Var(&g.y, "y", "first `ROW` of the rectangle, from 0")
		set.Var(&g.width, "width", "the rectangle's width in `CELLS`")
		set.Var(&g.height, "height", "the rectangle's height in `CELLS`")
		return g.run
	},
}

type grid struct {
	list                listFlags
	x, y, width, height number
}

func (g *grid) run(c *call) error {
	if _, err := c.id(0, "CONTAINER_ID"); err != nil {
		return err
	}
	region := url.Values{}
	g.x.query(region, "x")
	g.y.query(region, "y")
	g.width.query(region, "width")
	g.height.query(region, "height")
	if len(region) != 0 && len(region) != 4 {
		return usagef("a rectangle needs all of -x, -y, -width and -height")
	}
	t := c.newTable(numeric("x"), numeric("y"), numeric("width"), numeric("height"), numeric("rotation"),
		numeric("class_id"), numeric("key"), numeric("quantity"), numeric("instance_id"))
	return g.list.show(c, "/v1/read/container/"+c.args[0]+"/grid", region, t, func(a *answer) error {
		return addPlacements(c, a, t)
	})
}

func addPlacements(c *call, a *answer, t *table) error {
	var page struct {
		Data struct {
			Placements []struct {
				X, Y, Width, Height, Rotation int

				ClassID    int64       `json:"class_id"`
				Key        int64       `json:"key"`
				Quantity   json.Number `json:"quantity"`
				InstanceID *int64      `json:"instance_id"`
			}
		}
	}
	if err := a.decode(&page); err != nil {
		return err
	}
	for _, p := range page.Data.Placements {
		quantity := "-"
		if p.Quantity != "" {
			var err error
			if quantity, err = c.quantity(p.ClassID, p.Quantity); err != nil {
				return err
			}
		}
		t.row(strconv.Itoa(p.X), strconv.Itoa(p.Y), strconv.Itoa(p.Width), strconv.Itoa(p.Height), strconv.Itoa(p.Rotation),
			strconv.FormatInt(p.ClassID, 10), strconv.FormatInt(p.Key, 10), quantity, orDash(p.InstanceID))
	}
	return nil
}
