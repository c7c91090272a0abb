package ctl

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// A table aligns its rows in columns, two spaces apart. It keeps rows until flush. It
// can be flushed repeatedly, such as after each page of a long list: the header is
// written once, and columns never get narrower. Without columns it has no header, and
// its rows are names and values. On a terminal, long texts are shortened so that a row
// fits on a line. Elsewhere nothing is shortened. In CSV, the header has the API's
// spelling, and a missing value is an empty cell.
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
	t := newTable(c.out, columns...)
	t.screen, t.csv = c.screen, c.csv()
	return t
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
		cells[i] = clean(fmt.Sprint(value))
	}
	t.rows = append(t.rows, cells)
}

// isNumeric reports whether a column has numbers, which are right-aligned.
func (t *table) isNumeric(i int) bool { return i < len(t.columns) && !wordFields[t.columns[i]] }

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
		t.flushCSV()
		return
	}
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
		t.writeRow(row)
	}
	t.rows = t.rows[:0]
}

// flushCSV writes the rows as in RFC 4180, except that lines end in \n.
func (t *table) flushCSV() {
	for _, row := range t.rows {
		for i, cell := range row {
			if cell == none {
				row[i] = ""
			}
		}
	}
	csv.NewWriter(t.w).WriteAll(t.rows)
	t.rows = t.rows[:0]
}

// leastText is the minimum width of a shortened column.
const leastText = 8

// fit narrows text columns, the widest first, until a row fits the screen.
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

func (t *table) writeRow(row []string) {
	var line strings.Builder
	for i, cell := range row {
		if utf8.RuneCountInString(cell) > t.widths[i] {
			cell = shorten(cell, t.widths[i])
		}
		pad := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			line.WriteString("  ")
		}
		if t.isNumeric(i) {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
}

// shorten shortens a text to width characters, the last of which is then an ellipsis.
func shorten(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(width-1, 0)]) + "…"
}
