package ctl

import (
	"flag"
	"fmt"
	"net/url"

	"assetledger/ledger"
)

var readGridCommand = command{
	Words:   "read grid",
	List:    true,
	Args:    "CONTAINER",
	Purpose: "draw a grid, or list what stands in it",
	Notes: "With -x, -y, -width and -height: only what touches that rectangle. Width and height are as placed. A grid\n" +
		"too large for the terminal is drawn smaller: a character then stands for several cells.",
	Examples: [2]string{"read grid 4 -list", "read grid 4 -x 0 -y 0 -width 8 -height 2"},
	Setup: func(set *flag.FlagSet) action {
		g := &grid{x: anyKey(), y: anyKey(), width: side(), height: side()}
		g.list.declare(set)
		g.list.declarePast(set)
		set.BoolVar(&g.asList, "list", false, "a table of what is there, instead of a drawing; so do -limit, -cursor and -all")
		set.Var(&g.x, "x", "first `COLUMN` of the rectangle, from 0")
		set.Var(&g.y, "y", "first `ROW` of the rectangle, from 0")
		set.Var(&g.width, "width", "the rectangle's width in `CELLS`")
		set.Var(&g.height, "height", "the rectangle's height in `CELLS`")
		return g.run
	},
}

type grid struct {
	list                listFlags
	asList              bool
	x, y, width, height number
}

func (g *grid) run(c *call) error {
	ref, err := c.ref(0, "CONTAINER")
	if err != nil {
		return err
	}
	region := url.Values{}
	setQuery(region, "x", &g.x)
	setQuery(region, "y", &g.y)
	setQuery(region, "width", &g.width)
	setQuery(region, "height", &g.height)
	if len(region) != 0 && len(region) != 4 {
		return usagef("a rectangle needs all of -x, -y, -width and -height")
	}
	path := "/v1/read/container/" + ref + "/grid"
	if !g.asList && !c.json() && !c.csv() && !g.list.paged() {
		return g.draw(c, path, region)
	}
	t := c.listTable("x y width height rotation class_id class key quantity instance_id")
	return g.list.show(c, path, region, t, func(a *answer) error { return c.addEntries(t, a) })
}

// gridPage is one page of the response.
type gridPage struct{ Data gridData }

type gridData struct {
	Width      int `json:"grid_width"`
	Height     int `json:"grid_height"`
	Occupied   int `json:"occupied_cells"`
	Placements []placement
}

// check returns an error for a grid that no ledger has, so that drawing it can't
// fail or take unbounded memory.
func (d *gridData) check() error {
	if d.Width < 1 || d.Height < 1 || d.Width > ledger.MaxSide || d.Height > ledger.MaxSide {
		return fmt.Errorf("a grid of %dx%d cells", d.Width, d.Height)
	}
	for i := range d.Placements {
		p := &d.Placements[i]
		if p.X < 0 || p.Y < 0 || p.Width < 1 || p.Height < 1 || p.X >= d.Width || p.Y >= d.Height || p.Width > d.Width-p.X || p.Height > d.Height-p.Y || p.ClassID < 1 {
			return fmt.Errorf("%dx%d cells of class %d at %d,%d of %dx%d", p.Width, p.Height, p.ClassID, p.X, p.Y, d.Width, d.Height)
		}
	}
	return nil
}

// draw reads all pages and draws them.
func (g *grid) draw(c *call, path string, region url.Values) error {
	var all gridPage
	err := g.list.collect(c, path, region, func(a *answer) error {
		things := all.Data.Placements
		all.Data.Placements = nil
		err := a.decode(&all)
		all.Data.Placements = append(things, all.Data.Placements...)
		return err
	})
	if err != nil {
		return err
	}
	d := &all.Data
	if err := d.check(); err != nil {
		return notALedgers(c.readURL+path, "%w", err)
	}
	p := &gridPicture{screen: &c.screen, width: d.Width, height: d.Height, things: d.Placements}
	if g.width.given {
		p.x, p.y = min(int(g.x.value), d.Width-1), min(int(g.y.value), d.Height-1)
		p.width, p.height = min(int(g.width.value), d.Width-p.x), min(int(g.height.value), d.Height-p.y)
	}
	legend, err := p.label(c)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "container %s: %dx%d cells, %d occupied\n\n", c.args[0], d.Width, d.Height, d.Occupied)
	note := p.draw(c.out)
	if len(p.things) > 0 {
		fmt.Fprintln(c.out)
		legend.flush()
	}
	if note != "" {
		c.out.Flush()
		c.say("%s; -x, -y, -width and -height draw a part of it larger, -list lists all", note)
	}
	return nil
}
