package ctl

import (
	"bufio"
	"strings"
)

// A canvas is a drawing of characters, each with a colour.
type canvas struct {
	screen        *screen
	width, height int
	marks         []rune
	colours       []uint8 // of the mark at the same place; 0 for none
}

func newCanvas(s *screen, width, height int) *canvas {
	v := &canvas{screen: s, width: width, height: height, marks: make([]rune, width*height), colours: make([]uint8, width*height)}
	for i := range v.marks {
		v.marks[i] = ' '
	}
	return v
}

// put draws one character. Characters outside the canvas are dropped.
func (v *canvas) put(column, row int, mark rune, colour int) {
	if column >= 0 && column < v.width && row >= 0 && row < v.height {
		v.marks[row*v.width+column], v.colours[row*v.width+column] = mark, uint8(colour)
	}
}

// text draws a line of text.
func (v *canvas) text(column, row int, text string, colour int) {
	for _, r := range text {
		v.put(column, row, r, colour)
		column++
	}
}

// write writes the drawing row by row, each after its margin.
func (v *canvas) write(out *bufio.Writer, margin func(row int) string) {
	for row := range v.height {
		line := v.marks[row*v.width : (row+1)*v.width]
		colours := v.colours[row*v.width : (row+1)*v.width]
		end := len(line)
		for end > 0 && line[end-1] == ' ' {
			end--
		}
		var text strings.Builder
		for from := 0; from < end; {
			to := from + 1
			for to < end && colours[to] == colours[from] {
				to++
			}
			run := string(line[from:to])
			if colours[from] != 0 {
				run = v.screen.paint(int(colours[from]), run)
			}
			text.WriteString(run)
			from = to
		}
		out.WriteString(strings.TrimRight(margin(row)+text.String(), " "))
		out.WriteByte('\n')
	}
}

// The arms of the lines that meet at a corner.
const (
	armUp = 1 << iota
	armRight
	armDown
	armLeft
)

var (
	corners      = [16]rune([]rune(" ╵╶└╷│┌├╴┘─┴┐┤┬┼"))
	plainCorners = [16]rune([]rune(" |-+||++-+-+++++"))
)

// corner returns the character for lines with these arms.
func (s *screen) corner(arms int) rune {
	if s.utf8 {
		return corners[arms]
	}
	return plainCorners[arms]
}

// dot marks an empty cell.
func (s *screen) dot() rune {
	if s.utf8 {
		return '·'
	}
	return '.'
}
