package ctl

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestGridFitsItsScreen checks that no line of a drawing is wider than the screen, unless the
// screen is narrower than leastRoom+5 columns, and that the drawing shows all things.
func TestGridFitsItsScreen(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {8, 4}, {16, 16}, {40, 3}, {3, 40}, {100, 20}, {1024, 1}, {1, 1024}, {1024, 1024}} {
		for _, width := range []int{1, 12, 20, 44, 80, 200} {
			t.Run(fmt.Sprintf("%dx%d on %d", size[0], size[1], width), func(t *testing.T) {
				g := &gridPicture{screen: width, width: size[0], height: size[1]}
				g.things = []placement{{Width: 1, Height: 1},
					{X: size[0] / 2, Y: size[1] / 2, Width: (size[0] + 1) / 2, Height: (size[1] + 1) / 2}}
				if size[0]*size[1] == 1 {
					g.things = g.things[:1]
				}
				step := g.fit()
				if step == 0 {
					if size[0] <= 16 && size[1] <= 16 && width >= 44 {
						t.Error("a grid of at most 16x16 cells is not drawn on 44 columns or more")
					}
					return // it is listed
				}
				var shown bytes.Buffer
				out := bufio.NewWriter(&shown)
				g.draw(out, step)
				out.Flush()
				for _, line := range strings.Split(shown.String(), "\n") {
					if n := utf8.RuneCountInString(line); n > max(width, leastRoom+5) {
						t.Errorf("a line has %d characters, want at most %d: %s", n, max(width, leastRoom+5), line)
					}
				}
				for i := range g.things {
					if !strings.Contains(shown.String(), gridMark(i)) {
						t.Errorf("the drawing lacks %s:\n%s", gridMark(i), &shown)
					}
				}
			})
		}
	}
}

// TestManyThingsAreListed checks that things are drawn up to a maximum number, and that
// they are listed without a drawing if there is one more.
func TestManyThingsAreListed(t *testing.T) {
	for n, want := range map[int]string{mostDrawn: "30x20 cells, 256 occupied", mostDrawn + 1: "X  Y  WIDTH"} {
		var things []string
		for i := range n {
			things = append(things, fmt.Sprintf(`{"x":%d,"y":%d,"width":1,"height":1,"rotation":0,"class_id":1,"key":0,"instance_id":%d}`, i%30, i/30, i+1))
		}
		daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(r.URL.Path, "/class/") {
				io.WriteString(w, `{"data":{"class_id":1,"name":"sword","fungible":false}}`)
				return
			}
			page, next := things, ""
			if r.URL.Query().Get("limit") == "256" && n > 256 {
				page, next = things[:256], `,"next_cursor":"more"`
			}
			fmt.Fprintf(w, `{"data":{"container_id":1,"grid_width":30,"grid_height":20,"occupied_cells":%d,"placements":[%s]%s}}`, n, strings.Join(page, ","), next)
		}))
		code, out, words := runs(noEnv, "read", "grid", "1", "-read-url", daemon.URL)
		daemon.Close()
		if code != exitDone || strings.Count(out, "sword") != n || !strings.Contains(strings.Join(strings.Fields(out), "  "), strings.Join(strings.Fields(want), "  ")) {
			t.Errorf("of %d things, exit code %d, want 0, %q and one row each: %s\n%s", n, code, want, words, out)
		}
	}
}
