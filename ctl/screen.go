package ctl

import (
	"io"
	"os"
	"strconv"
	"strings"
)

// A screen describes what standard output can show. A file or pipe has no width and
// no colors, so that programs get every byte.
type screen struct {
	terminal bool
	width    int // in columns; 0: unlimited
	utf8     bool
	colour   bool // it is a terminal, and NO_COLOR (no-color.org) is not set
}

// usualWidth is the width of drawings without a screen.
const usualWidth = 80

func newScreen(w io.Writer, env func(string) (string, bool)) screen {
	s := screen{utf8: utf8Locale(env)}
	if s.width, s.terminal = terminalWidth(w); !s.terminal {
		return s
	}
	if s.width == 0 { // the width of the terminal is unknown
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

// utf8Locale reports whether characters beyond ASCII can be shown, according to the
// first locale variable that is set.
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

func (s *screen) ellipsis() string {
	if s.utf8 {
		return "…"
	}
	return "~"
}

func (s *screen) dot() string {
	if s.utf8 {
		return "·"
	}
	return "."
}
