package ctl

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"assetledger/ledger"
)

var readGridCommand = readRow{
	words: "read grid", arg: "CONTAINER", purpose: "draw a grid, or list what is in it", list: true, past: true,
	notes: "With -x, -y, -width and -height it shows only things that overlap this rectangle. The width and height of a thing are\n" +
		"those after rotation. A grid that is too large for the terminal, or holds more than 256 things, is listed.",
	examples: [2]string{"read grid 4 -list", "read grid 4 -x 0 -y 0 -width 8 -height 2"},
	path:     "/v1/read/container/*/grid",
	fields:   gridFields,
	filters: []filter{{"x", "x", keyValue, "first `COLUMN` of the rectangle, from 0"},
		{"y", "y", keyValue, "first `ROW` of the rectangle, from 0"},
		{"width", "width", sideValue, "the rectangle's width in `CELLS`"},
		{"height", "height", sideValue, "the rectangle's height in `CELLS`"}},
	draw: drawGrid,
}.command()

const gridFields = "x y width height rotation class_id class key quantity instance_id"

func sideValue() flag.Value { return &number{least: 1, most: ledger.MaxSide} }

type placement struct{ X, Y, Width, Height int }

// A gridPicture is a drawing of a grid or of a rectangle of it. Each thing has a mark,
// which is drawn in all of its cells.
type gridPicture struct {
	screen              int // width of the screen in columns; 0: unknown
	x, y, width, height int // the rectangle to draw, in cells
	things              []placement
}

// possible reports whether a ledger can have the grid. Any other is unsafe to draw.
func (g *gridPicture) possible() bool {
	if g.width < 1 || g.height < 1 || g.width > ledger.MaxSide || g.height > ledger.MaxSide {
		return false
	}
	return !slices.ContainsFunc(g.things, func(p placement) bool {
		return p.X < 0 || p.Y < 0 || p.Width < 1 || p.Height < 1 || p.X >= g.width || p.Y >= g.height || p.Width > g.width-p.X || p.Height > g.height-p.Y
	})
}

// drawGrid draws a grid with a list of its things, unless it is too large for the screen.
func drawGrid(c *call, a *answer, region url.Values) (bool, error) {
	var d struct {
		Width      int `json:"grid_width"`
		Height     int `json:"grid_height"`
		Occupied   int `json:"occupied_cells"`
		Placements []placement
	}
	if err := a.data(&d); err != nil {
		return false, err
	}
	g := &gridPicture{screen: c.screen.width, width: d.Width, height: d.Height, things: d.Placements}
	if !g.possible() {
		return false, notALedgers(a.URL, "it has things outside of a grid of %dx%d cells", g.width, g.height)
	}
	if region.Has("width") {
		cells := func(name string, most int) int {
			n, _ := strconv.Atoi(region.Get(name))
			return min(n, most)
		}
		g.x, g.y = cells("x", d.Width-1), cells("y", d.Height-1)
		g.width, g.height = cells("width", d.Width-g.x), cells("height", d.Height-g.y)
	}
	step := g.fit()
	if step == 0 {
		c.say("a grid of %dx%d cells is too large to draw, so it is listed; to draw a part, use -x, -y, -width and -height", g.width, g.height)
		return false, nil
	}
	legend := c.listTable("mark " + gridFields)
	if err := c.addEntries(legend, a); err != nil {
		return false, err
	}
	for i := range min(len(g.things), len(legend.rows)) {
		legend.rows[i][0] = gridMark(i)
	}
	fmt.Fprintf(c.out, "container %s: %dx%d cells, %d occupied\n\n", c.args[0], d.Width, d.Height, d.Occupied)
	g.draw(c.out, step)
	if len(g.things) > 0 {
		fmt.Fprintln(c.out)
		legend.flush()
	}
	return true, nil
}

// gridMark returns the mark of thing i of a drawing.
func gridMark(i int) string {
	const marks = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	if i < len(marks) {
		return marks[i : i+1]
	}
	return "*"
}

const (
	mostRows  = 80 // maximum height of a drawing, in cells
	leastRoom = 16 // minimum number of columns for the cells, however narrow the screen is
)

// margin returns the width of the numbers to the left of the grid, with a space.
func (g *gridPicture) margin() int { return len(strconv.Itoa(g.y+g.height-1)) + 1 }

// fit returns the number of columns of the screen for each cell, or 0 if the grid is too
// large.
func (g *gridPicture) fit() int {
	room := max(cmp.Or(g.screen, 80)-g.margin(), leastRoom)
	switch {
	case g.height > mostRows || g.width > room:
		return 0
	case 2*g.width <= room:
		return 2
	}
	return 1
}

// draw draws the grid, with `step` columns for each cell.
func (g *gridPicture) draw(out *bufio.Writer, step int) {
	cells := slices.Repeat([]string{"·"}, g.width*g.height)
	for i, p := range g.things {
		for y := max(p.Y, g.y); y < min(p.Y+p.Height, g.y+g.height); y++ {
			for x := max(p.X, g.x); x < min(p.X+p.Width, g.x+g.width); x++ {
				cells[(y-g.y)*g.width+x-g.x] = gridMark(i)
			}
		}
	}
	every := (len(strconv.Itoa(g.x+g.width-1)) + step) / step // cells from one number to the next, with room for a space
	head := strings.Repeat(" ", g.margin())
	for x := 0; x < g.width; x += every {
		head += fmt.Sprintf("%-*d", every*step, g.x+x)
	}
	fmt.Fprintln(out, strings.TrimRight(head, " "))
	gap := strings.Repeat(" ", step-1)
	for y := range g.height {
		fmt.Fprintf(out, "%*d %s\n", g.margin()-1, g.y+y, strings.Join(cells[y*g.width:(y+1)*g.width], gap))
	}
}
