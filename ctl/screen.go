package ctl

import (
	"io"
	"os"
	"strconv"
)

// A screen describes what standard output can show. A file or pipe has no width and
// no colors, so that programs get every byte.
type screen struct {
	terminal bool
	width    int  // in columns; 0: unlimited, or unknown
	colour   bool // it is a terminal, and NO_COLOR (no-color.org) is not set
}

func newScreen(w io.Writer, env func(string) (string, bool)) (s screen) {
	if s.width, s.terminal = terminalWidth(w); s.terminal {
		plain, _ := env("NO_COLOR")
		kind, _ := env("TERM")
		s.colour = plain == "" && kind != "dumb"
	}
	return s
}

// terminalWidth returns the width of w, or 0 if it is unknown.
func terminalWidth(w io.Writer) (columns int, terminal bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	return windowWidth(f.Fd())
}

func isTerminal(w io.Writer) bool {
	_, ok := terminalWidth(w)
	return ok
}

// bold is not a color but bold type.
const bold = 1

// classColour returns an ANSI color that is readable on light and dark backgrounds.
func classColour(class int64) int { return 31 + int(class%6) }

func (s *screen) paint(colour int, text string) string {
	if !s.colour || text == "" {
		return text
	}
	return "\x1b[" + strconv.Itoa(colour) + "m" + text + "\x1b[0m"
}
