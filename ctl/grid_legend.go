package ctl

import (
	"fmt"
	"slices"
	"strconv"
)

// gridMarks are the marks of things in a drawing. manyMark is for further ones.
const (
	gridMarks = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	manyMark  = '*'
)

// label assigns each thing its mark, and returns the legend: a row for each
// thing, or for each class when there are too many things.
func (g *gridPicture) label(c *call) (*table, error) {
	n := len(g.things)
	g.marks, g.names, g.amounts, g.colours = make([]rune, n), make([]string, n), make([]string, n), make([]int, n)
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
		k := counts[g.things[i].ClassID]
		g.marks[i], g.colours[i] = k.mark, k.colour
	}
	if n > len(gridMarks) {
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
			g.amounts[i] = "#" + instance
		} else {
			quantity = class.show(p.Quantity.String())
			g.amounts[i] = quantity
		}
		g.marks[i], g.names[i] = rune(gridMarks[i]), clean(class.Name)
		size := fmt.Sprintf("%dx%d", p.Width, p.Height)
		if p.Rotation != 0 {
			size += " turned"
		}
		t.row(string(g.marks[i]), p.X, p.Y, size, p.ClassID, class.Name, p.Key, quantity, instance)
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
