package ctl

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// For every grid and screen: no line is wider than the screen, and the picture
// shows all items if each cell has a character.
func TestGridFitsItsScreen(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {8, 4}, {16, 16}, {40, 3}, {3, 40}, {100, 20}, {1024, 1}, {1, 1024}, {1024, 1024}} {
		for _, width := range []int{1, 12, 20, 44, 80, 200} {
			t.Run(fmt.Sprintf("%dx%d on %d", size[0], size[1], width), func(t *testing.T) {
				s := &screen{terminal: true, width: width, height: 24, utf8: true}
				g := &gridPicture{screen: s, width: size[0], height: size[1]}
				g.things = []placement{{Width: 1, Height: 1, mark: 'A', name: "gold", amount: "0.05"},
					{X: size[0] / 2, Y: size[1] / 2, Width: (size[0] + 1) / 2, Height: (size[1] + 1) / 2, mark: 'B', name: "a long name", amount: "#2"}}
				if size[0]*size[1] == 1 {
					g.things = g.things[:1]
				}
				var shown bytes.Buffer
				out := bufio.NewWriter(&shown)
				note := g.draw(out)
				out.Flush()
				for _, line := range strings.Split(shown.String(), "\n") {
					if n := utf8.RuneCountInString(line); n > max(width, leastRoom+5) {
						t.Errorf("a line has %d characters: %s", n, line)
					}
				}
				for i := range g.things {
					if !strings.Contains(note, "from") && !strings.ContainsRune(shown.String(), g.things[i].mark) {
						t.Errorf("%c is not in it:\n%s", g.things[i].mark, &shown)
					}
				}
			})
		}
	}
}
