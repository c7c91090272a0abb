package ctl

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"
	"unsafe"
)

// A table aligns its rows in columns, two spaces apart. It keeps rows until flush. It
// can be flushed repeatedly, such as after each page of a long list: the header is
// written once, and columns get narrower only to fit on a terminal. Without columns it
// has no header, and its rows are names and values. On a terminal, long texts are
// shortened so that a row fits on a line. Elsewhere nothing is shortened. In CSV, the
// header has the API's spelling, and a missing value is an empty cell.
type table struct {
	w       io.Writer
	csv     bool
	screen  screen
	columns []string
	rows    [][]string
	widths  []int
	begun   bool
}

func newTable(w io.Writer, columns ...string) *table { return &table{w: w, columns: columns} }

func (c *call) newTable(columns ...string) *table {
	return &table{w: c.out, csv: c.csv(), screen: c.screen, columns: columns}
}

func (t *table) row(values ...any) {
	cells := make([]string, len(values))
	for i, value := range values {
		switch value.(type) {
		case nil:
			value = none
		case []string, []int64:
			value = strings.ReplaceAll(strings.Trim(fmt.Sprint(value), "[]"), " ", ",")
		}
		if cells[i] = clean(fmt.Sprint(value)); t.csv && cells[i] == none {
			cells[i] = ""
		}
	}
	t.rows = append(t.rows, cells)
}

// isNumeric reports whether a column has numbers, which are right-aligned.
func (t *table) isNumeric(i int) bool {
	return i < len(t.columns) && !slices.Contains(wordFields, t.columns[i])
}

// none is the cell of a missing value.
const none = "-"

// flush writes the rows added since the last flush.
func (t *table) flush() {
	if !t.begun && len(t.columns) > 0 {
		names := slices.Clone(t.columns)
		for i := 0; i < len(names) && !t.csv; i++ {
			names[i] = strings.ToUpper(names[i])
		}
		t.rows = slices.Insert(t.rows, 0, names)
	}
	t.begun = true
	if t.csv {
		csv.NewWriter(t.w).WriteAll(t.rows) // as in RFC 4180, except that lines end in \n
	} else {
		t.align()
	}
	t.rows = t.rows[:0]
}

// align writes the rows in columns.
func (t *table) align() {
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	t.fit()
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			left := shorten(cell, t.widths[i])
			right := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(left))
			if t.isNumeric(i) {
				left, right = right, left
			}
			line.WriteString(left + right + "  ")
		}
		fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
	}
}

// leastText is the minimum width of a shortened column.
const leastText = 8

// fit narrows text columns, the widest first, until a row fits the screen or none of them
// can be narrowed further.
func (t *table) fit() {
	if t.screen.width == 0 {
		return
	}
	total := 2 * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	for total > t.screen.width {
		widest := -1
		for i, w := range t.widths {
			cuttable := !t.isNumeric(i) && (len(t.columns) > 0 || i > 0)
			if cuttable && w > leastText && (widest < 0 || w > t.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		cut := min(total-t.screen.width, t.widths[widest]-leastText)
		t.widths[widest] -= cut
		total -= cut
	}
}

// shorten shortens a text to `width` characters, the last of which is then an ellipsis.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}

// Output of ledgerctl itself, rather than of the API, is defined once for people and
// for programs: as a table, or as JSON with the same names.

// A fact is a named value of a result. In a table, the elements of a list are separated by
// commas, and nil is a dash.
type fact struct {
	name  string
	value any
}

// showFacts shows the facts of a result.
func (c *call) showFacts(facts ...fact) {
	if c.json() {
		c.writeObject(facts)
		return
	}
	t := c.newTable()
	for _, f := range facts {
		if f.value == true {
			f.value = "yes"
		}
		t.row(f.name, f.value)
	}
	t.flush()
}

// list returns functions for a list. row adds a row to the table, or writes a JSON
// object at once. end writes the table.
func (c *call) list(columns view) (row func(values ...any), end func()) {
	t := c.listTable(columns)
	if !c.json() {
		return t.row, t.flush
	}
	return func(values ...any) {
		facts := make([]fact, len(values))
		for i, v := range values {
			facts[i] = fact{t.columns[i], v}
		}
		c.writeObject(facts)
	}, func() {}
}

func (c *call) writeObject(facts []fact) {
	text := []byte{'{'}
	for _, f := range facts {
		value, _ := json.Marshal(f.value) // facts can always be encoded
		text = append(fmt.Appendf(text, "%q:%s", f.name, value), ',')
	}
	text[len(text)-1] = '}'
	c.raw(append(text, '\n'))
}

// A screen describes what standard output can show. A file or pipe has no width, so that
// programs get every byte.
type screen struct {
	terminal bool
	width    int // in columns; 0: unlimited, or unknown
}

// screenOf asks the kernel for the width of the terminal behind a stream (ioctl_tty(2) or
// tty(4), TIOCGWINSZ).
func screenOf(stream any) screen {
	f, ok := stream.(*os.File)
	if !ok {
		return screen{}
	}
	var size struct{ Rows, Columns, XPixels, YPixels uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return screen{terminal: errno == 0, width: int(size.Columns)}
}

func isTerminal(stream any) bool { return screenOf(stream).terminal }
