package ctl

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// A column of a table.
type column struct {
	name  string
	right bool // numbers stand at the right
}

func text(name string) column    { return column{name, false} }
func numeric(name string) column { return column{name, true} }

// A table lines its rows up in columns, two spaces apart. Rows are kept until
// flush; a table that is flushed more than once, as a long list is page by
// page, writes its header once and never makes a column narrower. Without
// columns it has no header: names at the left, values at the right.
type table struct {
	w       io.Writer
	columns []column
	rows    [][]string
	widths  []int
	begun   bool
}

func newTable(w io.Writer, columns ...column) *table { return &table{w: w, columns: columns} }

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = clean(cell)
	}
	t.rows = append(t.rows, cells)
}

// flush writes the rows that were added since the last flush.
func (t *table) flush() {
	if !t.begun && len(t.columns) > 0 {
		header := make([]string, len(t.columns))
		for i, c := range t.columns {
			header[i] = strings.ToUpper(c.name)
		}
		t.rows = append([][]string{header}, t.rows...)
	}
	t.begun = true
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(t.widths) {
				t.widths = append(t.widths, 0)
			}
			t.widths[i] = max(t.widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		t.writeRow(row)
	}
	t.rows = t.rows[:0]
}

func (t *table) writeRow(row []string) {
	var line strings.Builder
	for i, cell := range row {
		pad := strings.Repeat(" ", t.widths[i]-utf8.RuneCountInString(cell))
		if i > 0 {
			line.WriteString("  ")
		}
		if i < len(t.columns) && t.columns[i].right {
			line.WriteString(pad + cell)
		} else {
			line.WriteString(cell + pad)
		}
	}
	fmt.Fprintln(t.w, strings.TrimRight(line.String(), " "))
}
