package ctl

import (
	"cmp"
	"encoding/json"
	"flag"
	"slices"
	"strings"
)

// A view names the fields of an object that a table shows, in order. An item
// view leaves out a field that ends in "?" when the object doesn't have it.
type view string

// wordFields hold text. All other fields are numbers, which are right-aligned.
var wordFields = map[string]bool{"name": true, "code": true, "class": true, "container": true, "counterparty": true, "kind": true, "fungible": true, "location": true, "expires_at": true,
	"op": true, "operations": true, "committed_at": true, "what": true, "metadata": true}

// amountFields count minor units of the class in class_id.
var amountFields = map[string]bool{"quantity": true, "held": true, "change": true, "held_change": true,
	"total_quantity": true, "total_held": true, "total_added": true, "total_removed": true}

// An entry is an object of a response, as a view uses it.
type entry map[string]json.RawMessage

func (c *call) showItem(a *answer, v view) error {
	var e entry
	if err := a.data(&e); err != nil {
		return err
	}
	if len(e) == 0 {
		return a.lacks("data")
	}
	t := c.newTable()
	if err := c.addItem(t, e, v); err != nil {
		return err
	}
	t.flush()
	return nil
}

func (c *call) addItem(t *table, e entry, v view) error {
	for _, name := range strings.Fields(string(v)) {
		name, optional := strings.CutSuffix(name, "?")
		if optional && e[name] == nil && name != "container" {
			continue
		}
		cell, err := c.cell(e, name)
		if err != nil {
			return err
		}
		if optional && cell == none {
			continue
		}
		t.row(name, cell)
	}
	return nil
}

func (c *call) listTable(v view) *table {
	var columns []column
	for _, name := range strings.Fields(string(v)) {
		columns = append(columns, column{name, !wordFields[name]})
	}
	return c.newTable(columns...)
}

// addEntries adds a row for each entry of the response's list. An entry without a
// class_id has the class given next to the list, if there is one.
func (c *call) addEntries(t *table, a *answer) error {
	list, err := a.entries()
	if err != nil {
		return err
	}
	var whole entry
	if err := a.data(&whole); err != nil {
		return err
	}
	if err := c.related.expect(a, list); err != nil {
		return err
	}
	for _, raw := range list {
		e := entry{"class_id": whole["class_id"]}
		if err := a.part(raw).decode(&e); err != nil {
			return err
		}
		if err := c.related.relate(e); err != nil {
			return err
		}
		row := make([]any, len(t.columns))
		for i, column := range t.columns {
			if row[i], err = c.cell(e, column.name); err != nil {
				return err
			}
		}
		t.row(row...)
	}
	return nil
}

// cell returns one field of an entry, "-" if the entry does not have it. The field
// "class" is the code of the class in class_id, or its name if it has no code;
// "container" and "counterparty" are the names of the containers in container_id
// and counterparty_id; "what" describes what else a change did.
func (c *call) cell(e entry, name string) (string, error) {
	raw := string(e[name])
	isAmount := amountFields[name] && isInteger(raw)
	if isAmount || name == "class" && len(e["class_id"]) > 0 {
		class, err := c.class(string(e["class_id"]))
		switch {
		case err != nil:
			return "", err
		case !isAmount:
			return class.label(), nil
		case strings.HasSuffix(name, "change") && raw[0] != '-' && !c.csv():
			return "+" + class.show(raw), nil
		}
		return class.show(raw), nil
	}
	switch {
	case name == "operations":
		var ops []operation
		if err := json.Unmarshal(e[name], &ops); err != nil {
			return "", err
		}
		return c.summary(ops)
	case name == "what":
		return c.changed(e)
	case (name == "container" || name == "counterparty") && len(e[name+"_id"]) > 0:
		return c.containerName(string(e[name+"_id"]))
	case raw == "":
		return none, nil
	case name == "location":
		var l *location
		if err := json.Unmarshal(e[name], &l); err != nil {
			return "", err
		}
		return c.place(l)
	case raw == "null" && name == "key":
		return "any", nil // of a shape
	case raw == "null", raw == "{}" && !c.csv():
		return none, nil
	}
	var word string
	if json.Unmarshal(e[name], &word) != nil {
		return raw, nil
	}
	if name == "committed_at" {
		return c.timeCell(word), nil
	}
	return word, nil
}

var historyCommand = readRow{
	words: "history", arg: "CONTAINER", purpose: "list what changed in a container, the newest first", list: true, span: true,
	notes: amountsNote + "\nQUANTITY is that of the stack after the change. WHAT says what else changed: a hold, an instance, a place; to or\n" +
		"from which container; which commit it reverses, or was reversed by. After 1000 requests for commits, these two are\n" +
		"left out. JSON is the API's answer, which has neither.\n" + commitsNote,
	examples: [2]string{"history users/42 -limit 20", "history bag/7 -class sword -from 2026-01-01 -to 2026-01-31 -order oldest -all -o csv"},
	path:     "/v1/read/container/*/history",
	fields:   "global_seq committed_at op class key change quantity what",
	csv: "global_seq committed_at operation_index op class_id class key change quantity hold_id held_change held " +
		"instance_id slot_index x y rotation name counterparty_id counterparty reverses reversed_by",
	commits: true,
	filters: []filter{{"class", "class_id", classValue, "only changes of this `CLASS`"},
		{"key", "key", keyValue, "only changes of this `KEY` of classes"},
		{"instance", "instance_id", idValue, "only changes of this `INSTANCE`"},
		{"order", "order", func() flag.Value { return &choice{of: []string{"newest", "oldest"}} }, "`ORDER`: newest first, or oldest first (default newest)"}},
}.command()

// commitsNote is the note on lists that show what commits say of their entries.
const commitsNote = "The other container, the reversal and metadata come from the commits, read up to 100 in a request. A token that is\n" +
	"limited to owners can't read them. What a settled hold transfers names the other container on the side of the payer alone."

// changed describes what an entry of a history has besides its amounts.
func (c *call) changed(e entry) (string, error) {
	var words []string
	raw := func(name string) string { return string(e[name]) }
	if hold := raw("hold_id"); hold != "" {
		change, err := c.cell(e, "held_change")
		if err != nil {
			return "", err
		}
		held, err := c.cell(e, "held")
		if err != nil {
			return "", err
		}
		words = append(words, "hold "+hold+" "+change+", held "+held)
	}
	if instance := raw("instance_id"); instance != "" {
		words = append(words, "instance "+instance)
	}
	switch {
	case raw("slot_index") != "":
		words = append(words, "slot "+raw("slot_index"))
	case raw("x") != "":
		words = append(words, "cell "+raw("x")+","+raw("y")+" rotation "+raw("rotation"))
	}
	if name := e["name"]; name != nil {
		shown, err := c.cell(e, "name")
		if err != nil {
			return "", err
		}
		words = append(words, "name "+shown)
	}
	place := strings.Join(words, " ")
	words = slices.DeleteFunc([]string{place}, func(s string) bool { return s == "" })
	if other := raw("counterparty_id"); other != "" {
		shown, err := c.cell(e, "counterparty")
		if err != nil {
			return "", err
		}
		if shown == none {
			shown = other
		}
		direction := "from "
		if change := raw("change"); strings.HasPrefix(change, "-") || change == `"out"` {
			direction = "to "
		}
		words = append(words, direction+shown)
	}
	for _, relation := range []string{"reverses", "reversed_by"} {
		if seq := raw(relation); seq != "" {
			words = append(words, strings.ReplaceAll(relation, "_", " ")+" "+seq)
		}
	}
	return cmp.Or(strings.Join(words, ", "), none), nil
}
