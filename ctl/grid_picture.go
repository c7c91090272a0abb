package ctl

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type placement struct {
	X, Y, Width, Height, Rotation int

	ClassID    int64       `json:"class_id"`
	Key        int64       `json:"key"`
	Quantity   json.Number `json:"quantity"`    // of a stack
	InstanceID *int64      `json:"instance_id"` // of an instance

	mark   rune
	colour int
	name   string // of the class, "" where not known
	amount string // quantity, or #instance
}

// A gridPicture is a grid, or the requested rectangle of it, in the largest of
// three forms that fits the screen:
//
//	boxes    a cell has an inside and lines around it
//	letters  a cell is a character
//	shades   a character stands for many cells: how many of them are occupied
type gridPicture struct {
	screen              *screen
	x, y, width, height int // what is drawn, in cells
	things              []placement
	owner               []int32 // index of the thing in each cell that is drawn, or -1
}

func (g *gridPicture) lay() {
	g.owner = make([]int32, g.width*g.height)
	for i := range g.owner {
		g.owner[i] = -1
	}
	for i := range g.things {
		p := &g.things[i]
		for y := max(p.Y, g.y); y < min(p.Y+p.Height, g.y+g.height); y++ {
			for x := max(p.X, g.x); x < min(p.X+p.Width, g.x+g.width); x++ {
				g.owner[(y-g.y)*g.width+x-g.x] = int32(i)
			}
		}
	}
}

// at returns the thing in a cell of the picture: -1 in an empty one, -2 outside.
func (g *gridPicture) at(x, y int) int32 {
	if x < 0 || y < 0 || x >= g.width || y >= g.height {
		return -2
	}
	return g.owner[y*g.width+x]
}

const (
	mostInside = 9 // characters inside a cell
	leastRoom  = 8 // columns for the cells, however narrow the screen says it is
)

// draw draws the grid and returns a note about the form, if needed.
func (g *gridPicture) draw(out *bufio.Writer) (note string) {
	g.lay()
	margin := len(strconv.Itoa(g.y+g.height-1)) + 1
	room := max(g.screen.drawWidth()-margin, leastRoom)
	inside := min((room-1)/g.width-1, mostInside)
	switch {
	case inside >= 1 && g.height <= 2*usualHeight:
		g.boxes(out, margin, inside)
	case g.width <= room && g.height <= 2*g.screen.drawHeight():
		g.letters(out, margin)
		note = "a character is a cell"
	default:
		w, h := g.shades(out, margin, room)
		note = fmt.Sprintf("a character is %dx%d cells, from %c empty to %c full", w, h, g.shade(0, 1), g.shade(1, 1))
	}
	return note
}

// head writes numbers of columns, as many as there is room for.
func (g *gridPicture) head(out *bufio.Writer, margin, step int) {
	every := 1
	for every*step < len(strconv.Itoa(g.x+g.width-1))+1 {
		every++
	}
	line := []byte(strings.Repeat(" ", margin))
	for i := 0; i < g.width; i += every {
		number := strconv.Itoa(g.x + i)
		at := margin + i*step + step/2
		line = append(line, strings.Repeat(" ", max(at-len(line), 0))...)
		line = append(line, number...)
	}
	out.Write(append(line, '\n'))
}

// boxes draws cells with lines between them, but not within a thing or empty space.
func (g *gridPicture) boxes(out *bufio.Writer, margin, inside int) {
	step := inside + 1
	v := newCanvas(g.screen, g.width*step+1, 2*g.height+1)
	for j := 0; j <= g.height; j++ {
		for i := 0; i <= g.width; i++ {
			here := g.at(i, j)
			if g.at(i, j-1) != here {
				v.line(i*step, 2*j, step, false)
			}
			if g.at(i-1, j) != here {
				v.line(i*step, 2*j, 2, true)
			}
			if here == -1 {
				v.put(i*step+(step+1)/2, 2*j+1, g.screen.dot(), 0)
			}
		}
	}
	for i := range g.things {
		g.caption(v, &g.things[i], step)
	}
	g.head(out, margin, step)
	v.write(out, func(row int) string {
		if row%2 == 0 {
			return strings.Repeat(" ", margin)
		}
		return fmt.Sprintf("%*d ", margin-1, g.y+row/2)
	})
}

func (g *gridPicture) caption(v *canvas, p *placement, step int) {
	left, top := max(p.X-g.x, 0), max(p.Y-g.y, 0)
	right, bottom := min(p.X+p.Width-g.x, g.width), min(p.Y+p.Height-g.y, g.height)
	room := (right-left)*step - 1
	mark := string(p.mark)
	lines := []string{mark + " " + p.amount}
	if bottom-top > 1 {
		lines = []string{mark + " " + p.name, p.amount}
		if room > 4 {
			lines[0] = shorten(lines[0], room, g.screen.ellipsis())
		}
	}
	for n, line := range lines {
		if utf8.RuneCountInString(line) > room {
			line = ""
			if n == 0 {
				line = mark
			}
		}
		if space := (room - utf8.RuneCountInString(line)) / 2; n == 0 && len(lines) == 1 && space > 0 && line == mark {
			line = strings.Repeat(" ", space) + line
		} else if utf8.RuneCountInString(line) < room {
			line = " " + line
		}
		v.text(left*step+1, 2*top+1+n, line, p.colour)
	}
}

func (g *gridPicture) letters(out *bufio.Writer, margin int) {
	v := newCanvas(g.screen, g.width, g.height)
	for y := range g.height {
		for x := range g.width {
			if i := g.at(x, y); i >= 0 {
				v.put(x, y, g.things[i].mark, g.things[i].colour)
			} else {
				v.put(x, y, g.screen.dot(), 0)
			}
		}
	}
	g.head(out, margin, 1)
	v.write(out, func(row int) string { return fmt.Sprintf("%*d ", margin-1, g.y+row) })
}

// shades draws a character, which is twice as high as wide, for w x h cells.
func (g *gridPicture) shades(out *bufio.Writer, margin, room int) (w, h int) {
	w = 1
	for (g.width+w-1)/w > room || (g.height+2*w-1)/(2*w) > g.screen.drawHeight() {
		w++
	}
	h = 2 * w
	v := newCanvas(g.screen, (g.width+w-1)/w, (g.height+h-1)/h)
	for row := range v.height {
		for column := range v.width {
			occupied, cells := 0, 0
			for y := row * h; y < min((row+1)*h, g.height); y++ {
				for x := column * w; x < min((column+1)*w, g.width); x++ {
					cells++
					if g.at(x, y) >= 0 {
						occupied++
					}
				}
			}
			v.put(column, row, g.shade(occupied, cells), 0)
		}
	}
	v.write(out, func(row int) string { return fmt.Sprintf("%*d ", margin-1, g.y+row*h) })
	return w, h
}

// shade returns the character for cells of which none, some or all are occupied.
func (g *gridPicture) shade(occupied, cells int) rune {
	shades := []rune("·░▒▓█")
	if !g.screen.utf8 {
		shades = []rune(".-+o#")
	}
	switch occupied {
	case 0:
		return shades[0]
	case cells:
		return shades[4]
	}
	return shades[1+3*occupied/cells]
}
