package ctl

import (
	"bufio"
	"io"
	"os"
	"strconv"
	"strings"
)

// A screen describes what standard output can show. A file or pipe has no width and
// no colors, so that programs get every byte.
type screen struct {
	terminal bool
	width    int // columns; 0: no bound
	height   int // rows; 0: not known
	utf8     bool
	colour   bool // a terminal, and NO_COLOR (no-color.org) does not forbid it
}

// The size that drawings assume where there is no screen.
const (
	usualWidth  = 80
	usualHeight = 40
)

func newScreen(w io.Writer, env func(string) (string, bool)) screen {
	s := screen{utf8: utf8Locale(env)}
	if s.width, s.height, s.terminal = terminalSize(w); !s.terminal {
		return s
	}
	if s.width == 0 { // a terminal that does not know its size
		s.width, _ = strconv.Atoi(value(env, "COLUMNS"))
		s.width = max(s.width, 0)
	}
	s.colour = value(env, "NO_COLOR") == "" && value(env, "TERM") != "dumb"
	return s
}

func (s *screen) drawWidth() int {
	if s.width > 0 {
		return s.width
	}
	return usualWidth
}

// drawHeight returns the preferred maximum height of a large drawing.
func (s *screen) drawHeight() int {
	if s.height > 12 {
		return s.height - 8 // room for a legend
	}
	return usualHeight
}

// utf8Locale reports whether characters beyond ASCII can be shown. The first locale
// variable that is set decides.
func utf8Locale(env func(string) (string, bool)) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToUpper(value(env, name)); v != "" {
			return strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8")
		}
	}
	return false
}

func value(env func(string) (string, bool), name string) string {
	v, _ := env(name)
	return v
}

// terminalSize returns the size of w, 0 and 0 if the terminal does not know it.
func terminalSize(w io.Writer) (columns, rows int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, 0, false
	}
	return windowSize(f.Fd())
}

func isTerminal(w io.Writer) bool {
	_, _, ok := terminalSize(w)
	return ok
}

// bold is not a color but bold type.
const bold = 1

// classColours are the ANSI colors that are readable on light and dark.
var classColours = []int{32, 33, 34, 35, 36, 31}

func (s *screen) paint(colour int, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + strconv.Itoa(colour) + "m" + text + "\x1b[0m"
}

func (s *screen) ellipsis() string {
	if s.utf8 {
		return "…"
	}
	return "~"
}

// A canvas is a drawing of characters, each with a colour.
type canvas struct {
	screen        *screen
	width, height int
	marks         []rune
	colours       []uint8 // of the mark at the same place; 0 for none
	arms          []int   // of the lines there
}

func newCanvas(s *screen, width, height int) *canvas {
	v := &canvas{screen: s, width: width, height: height, marks: make([]rune, width*height), colours: make([]uint8, width*height), arms: make([]int, width*height)}
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

func (v *canvas) text(column, row int, text string, colour int) {
	for _, r := range text {
		v.put(column, row, r, colour)
		column++
	}
}

// line draws a line to the right, or down, which joins the lines that it meets.
func (v *canvas) line(column, row, steps int, down bool) {
	begin, end, step := armRight, armLeft, 1
	if down {
		begin, end, step = armDown, armUp, v.width
	}
	at := row*v.width + column
	add := func(arm int) {
		v.arms[at] |= arm
		v.marks[at] = v.screen.corner(v.arms[at])
	}
	for range steps {
		add(begin)
		at += step
		add(end)
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

func (s *screen) dot() rune {
	if s.utf8 {
		return '·'
	}
	return '.'
}
