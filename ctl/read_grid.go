package ctl

import (
	"flag"
	"fmt"
	"net/url"
	"strconv"

	"assetledger/ledger"
)

var readGridCommand = readRow{
	words: "read grid", arg: "CONTAINER", purpose: "draw a grid, or list what stands in it", list: true, past: true,
	notes: "With -x, -y, -width and -height: only what touches that rectangle. Width and height are as placed. A grid\n" +
		"too large for the terminal is drawn smaller: a character then stands for several cells.",
	examples: [2]string{"read grid 4 -list", "read grid 4 -x 0 -y 0 -width 8 -height 2"},
	path:     "/v1/read/container/*/grid",
	fields:   "x y width height rotation class_id class key quantity instance_id",
	filters: []filter{{"x", "x", keyValue, "first `COLUMN` of the rectangle, from 0"},
		{"y", "y", keyValue, "first `ROW` of the rectangle, from 0"},
		{"width", "width", sideValue, "the rectangle's width in `CELLS`"},
		{"height", "height", sideValue, "the rectangle's height in `CELLS`"}},
	check: func(q url.Values) error {
		if len(q) != 0 && len(q) != 4 {
			return usagef("a rectangle needs all of -x, -y, -width and -height")
		}
		return nil
	},
	draw: drawGrid,
}.command()

func sideValue() flag.Value { n := side(); return &n }

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

func drawGrid(c *call, list *listFlags, path string, region url.Values) error {
	d := &gridData{}
	err := list.collect(c, path, region, func(a *answer) error {
		things := d.Placements
		d.Placements = nil
		err := a.data(d)
		d.Placements = append(things, d.Placements...)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.check(); err != nil {
		return notALedgers(c.readURL+path, "%w", err)
	}
	p := &gridPicture{screen: &c.screen, width: d.Width, height: d.Height, things: d.Placements}
	if len(region) > 0 {
		cells := func(name string, most int) int {
			n, _ := strconv.Atoi(region.Get(name))
			return min(n, most)
		}
		p.x, p.y = cells("x", d.Width-1), cells("y", d.Height-1)
		p.width, p.height = cells("width", d.Width-p.x), cells("height", d.Height-p.y)
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
