package ctl

import (
	"flag"
	"fmt"
	"net/url"
	"slices"
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

// check rejects a grid that no ledger has, so that drawing it is safe.
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

// gridMarks are the marks of things in a drawing. manyMark is for further ones.
const (
	gridMarks = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	manyMark  = '*'
)

// label assigns the marks, and returns a legend of the things or, of many, of classes.
func (g *gridPicture) label(c *call) (*table, error) {
	counts := map[int64]*classCount{}
	var classes []int64
	for i := range g.things {
		p := &g.things[i]
		k := counts[p.ClassID]
		if k == nil {
			k = &classCount{}
			counts[p.ClassID] = k
			classes = append(classes, p.ClassID)
		}
		k.things++
		k.cells += p.Width * p.Height
	}
	slices.Sort(classes)
	for i, class := range classes {
		counts[class].mark, counts[class].colour = manyMark, classColours[i%len(classColours)]
		if i < len(gridMarks) {
			counts[class].mark = rune(gridMarks[i])
		}
	}
	for i := range g.things {
		p := &g.things[i]
		p.mark, p.colour = counts[p.ClassID].mark, counts[p.ClassID].colour
	}
	if len(g.things) > len(gridMarks) {
		return g.classLegend(c, classes, counts)
	}
	return g.thingLegend(c)
}

type classCount struct {
	things, cells int
	mark          rune
	colour        int
}

func (g *gridPicture) thingLegend(c *call) (*table, error) {
	t := c.newTable(text(""), numeric("x"), numeric("y"), text("size"), numeric("class_id"), text("name"), numeric("key"), numeric("quantity"), numeric("instance_id"))
	for i := range g.things {
		p := &g.things[i]
		class, err := c.classByID(p.ClassID)
		if err != nil {
			return nil, err
		}
		quantity, instance := none, none
		if p.InstanceID != nil {
			instance = strconv.FormatInt(*p.InstanceID, 10)
			p.amount = "#" + instance
		} else {
			quantity = class.show(p.Quantity.String())
			p.amount = quantity
		}
		p.mark, p.name = rune(gridMarks[i]), clean(class.Name)
		size := fmt.Sprintf("%dx%d", p.Width, p.Height)
		if p.Rotation != 0 {
			size += " turned"
		}
		t.row(string(p.mark), p.X, p.Y, size, p.ClassID, class.Name, p.Key, quantity, instance)
	}
	return t, nil
}

func (g *gridPicture) classLegend(c *call, classes []int64, counts map[int64]*classCount) (*table, error) {
	t := c.newTable(text(""), numeric("class_id"), text("name"), numeric("placed"), numeric("cells"))
	for i, id := range classes {
		if i == len(gridMarks) {
			t.row(string(manyMark), "-", fmt.Sprintf("%d further classes", len(classes)-i), "-", "-")
			break
		}
		class, err := c.classByID(id)
		if err != nil {
			return nil, err
		}
		k := counts[id]
		t.row(string(k.mark), id, class.Name, k.things, k.cells)
	}
	return t, nil
}
