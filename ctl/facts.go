package ctl

import (
	"encoding/json"
	"fmt"
)

// Output of ledgerctl itself, rather than of the API, is defined once for people and
// for programs: as a table, or as JSON with the same names.

// A fact is a named value of a result.
type fact struct {
	name  string
	value any
}

// both is a value with different forms for people and for programs.
type both struct{ words, json string }

func (b both) String() string               { return b.words }
func (b both) MarshalJSON() ([]byte, error) { return []byte(b.json), nil }

var absent = both{none, "null"}

// showFacts shows the facts of a result.
func (c *call) showFacts(facts ...fact) {
	if c.json() {
		c.writeObject(facts)
		return
	}
	t := c.newTable()
	for _, f := range facts {
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
