package ctl

import (
	"encoding/json"
	"fmt"
)

// Output of ledgerctl itself, rather than of the API, is defined once for people and
// for programs: as a table, or as JSON with the same names.

// A fact is a named value of a result. A list is separated by commas in a table, and nil is a
// dash.
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
