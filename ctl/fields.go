package ctl

import (
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A view names the fields of an object that a table shows, in order. If the view is of
// a single object, a field that ends in "?" is omitted when the object doesn't have it.
type view string

// wordFields are the fields with text. All others are numbers, and are right-aligned.
var wordFields = strings.Fields("name code class container counterparty kind fungible location expires_at mark op operations committed_at what metadata " +
	"daemon status log reader segment sealed last_commit_at idempotency_key readable hash scopes owners request minted result " +
	"operation command required argument need value")

// amountFields are the fields that count minor units of the class in class_id.
var amountFields = strings.Fields("quantity held change held_change balance total_quantity total_held total_added total_removed")

// An entry is an object of a response.
type entry map[string]json.RawMessage

// item returns the data of a response, which must have fields.
func (a *answer) item() (e entry, err error) {
	if err = a.data(&e); err == nil && len(e) == 0 {
		err = a.lacks("data")
	}
	return e, err
}

func (c *call) showItem(e entry, v view) error {
	t := c.newTable()
	for _, name := range strings.Fields(string(v)) {
		name, optional := strings.CutSuffix(name, "?")
		cell, err := c.cell(e, name)
		if err != nil {
			return err
		}
		if !optional || cell != none {
			t.row(name, cell)
		}
	}
	t.flush()
	return nil
}

func (c *call) listTable(v view) *table { return c.newTable(strings.Fields(string(v))...) }

// addEntries adds a row for each entry of the response's list.
func (c *call) addEntries(t *table, a *answer) error {
	return c.each(a, func(e entry, _ *answer) error { return c.addRow(t, e) })
}

// each calls the function do for every entry of the response's list. It also passes the entry
// as it was received. If an entry has no class_id, it gets the one next to the list, if there
// is one.
func (c *call) each(a *answer, do func(e entry, raw *answer) error) error {
	var page entry
	list, err := a.entries()
	if err == nil {
		err = a.data(&page)
	}
	for _, raw := range list {
		if err != nil {
			return err
		}
		e := entry{"class_id": page["class_id"]}
		if err = a.part(raw).decode(&e); err == nil && c.related != nil && e != nil {
			err = c.related.relate(e, page)
		}
		if err == nil {
			err = do(e, a.part(raw))
		}
	}
	return err
}

func (c *call) addRow(t *table, e entry) error {
	row := make([]any, len(t.columns))
	for i, column := range t.columns {
		cell, err := c.cell(e, column)
		if err != nil {
			return err
		}
		if column == "committed_at" && !c.csv() {
			if at, err := time.Parse(time.RFC3339Nano, cell); err == nil {
				cell = at.UTC().Format("2006-01-02T15:04:05.000Z") // to the millisecond
			}
		}
		row[i] = cell
	}
	t.row(row...)
	return nil
}

// cell returns a field of an entry, or "-" if the entry does not have it. The field
// "class" is the code of the class in class_id, or its name if it has no code.
// "container" and "counterparty" are the names of the containers in container_id
// and counterparty_id. "what" describes the other effects of a change.
func (c *call) cell(e entry, name string) (string, error) {
	raw := string(e[name])
	isAmount := slices.Contains(amountFields, name) && isInteger(raw)
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
		var at entry
		if err := json.Unmarshal(e[name], &at); err != nil {
			return "", err
		}
		return c.place(at)
	case raw == "null" && name == "key":
		return "any", nil // the null key of a shape
	case raw == "null", raw == "{}" && !c.csv():
		return none, nil
	}
	var word string
	var list []int64
	switch {
	case json.Unmarshal(e[name], &word) == nil:
		return word, nil
	case json.Unmarshal(e[name], &list) == nil:
		return joinInts(list), nil
	}
	return raw, nil
}

var historyCommand = readRow{
	words: "history", arg: "CONTAINER", purpose: "list what changed in a container, newest first", list: true, span: true,
	notes: amountsNote + "\nQUANTITY is that of the stack after the change. WHAT shows what else changed: a hold, an instance or a place. It\n" +
		"also names the other container of a transfer, and the commit that the entry's commit reverses or that reversed\n" +
		"it. These two are omitted after 1000 requests for commits, and JSON, which is the API's response, does not have\n" +
		"them.\n" + commitsNote,
	examples: [2]string{"history users/42 -limit 20", "history bag/7 -class sword -from 2026-01-01 -to 2026-01-31 -order oldest -all -o csv"},
	path:     "/v1/read/container/*/history",
	fields:   "global_seq committed_at op class key change quantity what",
	csv: "global_seq committed_at operation_index op class_id class key change quantity hold_id held_change held " +
		"instance_id slot_index x y rotation name counterparty_id counterparty reverses reversed_by",
	commits: true,
	filters: []filter{{"class", "class_id", classValue, "only changes of this `CLASS`"},
		{"key", "key", keyValue, "only changes of stacks and instances with this `KEY`"},
		{"instance", "instance_id", idValue, "only changes of this `INSTANCE`"},
		{"order", "order", func() flag.Value { return &choice{of: []string{"newest", "oldest"}} }, "`ORDER`: newest first, or oldest first (default newest)"}},
}.command()

// commitsNote is the note for lists that show fields from the commits of their entries.
const commitsNote = "The other container, the reversal and the metadata come from the commits, read up to 100 per request. A token that\n" +
	"is limited to owners can't read them."

// effects are the parts of the field "what" and of a location. A part is shown for the
// entries that have its field.
var effects = []struct{ field, words string }{
	{"hold_id", " hold $hold_id $held_change, held $held"},
	{"instance_id", " instance $instance_id"},
	{"slot_index", " slot $slot_index"},
	{"x", " cell $x,$y rotation $rotation"},
	{"name", " name $name"},
	{"counterparty_id", ", $direction $counterparty"},
	{"reverses", ", reverses $reverses"},
	{"reversed_by", ", reversed by $reversed_by"},
}

// changed describes the effects of a history entry other than a stack's change, or describes
// a location.
func (c *call) changed(e entry) (words string, err error) {
	show := func(name string) string {
		if name == "direction" {
			if change := string(e["change"]); strings.HasPrefix(change, "-") || change == `"out"` {
				return "to"
			}
			return "from"
		}
		cell, failed := c.cell(e, name)
		if err = cmp.Or(err, failed); name == "counterparty" && cell == none {
			return string(e["counterparty_id"])
		}
		return cell
	}
	for _, part := range effects {
		if len(e[part.field]) > 0 {
			words += os.Expand(part.words, show)
		}
	}
	return cmp.Or(strings.TrimLeft(words, ", "), none), err
}

var readInstanceCommand = readRow{
	words: "read instance", arg: "INSTANCE", purpose: "show an instance and where it is",
	examples: [2]string{"read instance 17", "read instance 17 -min-seq 12 -o json"},
	path:     "/v1/read/instance/*",
	render:   showInstance,
}.command()

// place describes where an instance is. Except in CSV, it gives the container's name, if
// there is one.
func (c *call) place(at entry) (string, error) {
	switch {
	case at == nil:
		return "nowhere", nil
	case at["parent_id"] != nil:
		return "attached to instance " + string(at["parent_id"]), nil
	}
	container := string(at["container_id"])
	if !c.csv() {
		name, err := c.containerName(container)
		if err != nil {
			return "", err
		}
		if name != none {
			container = name
		}
	}
	where, err := c.changed(at)
	return "container " + container + " " + where, err
}

// mostNames limits the requests for the names in a long list, and those for the commits of a
// history.
const mostNames = 1000

// containerName returns the name of a container, or "-" if it has none. It also returns
// "-" if the container was removed, if the token may not read it, and after mostNames
// requests.
func (c *call) containerName(id string) (string, error) {
	if name, ok := c.names[id]; ok {
		return name, nil
	}
	if len(c.names) >= mostNames {
		return none, nil
	}
	a, err := c.peek("/v1/read/container/"+url.PathEscape(id), nil)
	var container struct{ Name string }
	if err == nil && a.Status == http.StatusOK {
		err = a.data(&container)
	}
	if err != nil {
		return "", err
	}
	if c.names == nil {
		c.names = map[string]string{}
	}
	c.names[id] = cmp.Or(container.Name, none)
	return c.names[id], nil
}

// showInstance shows an instance with all its children, which it reads page by page.
func showInstance(c *call, a *answer) error {
	e, err := a.item()
	if err != nil {
		return err
	}
	var children []int64
	add := func(a *answer) error {
		var page struct{ Children []int64 }
		err := a.data(&page)
		children = append(children, page.Children...)
		return err
	}
	err = add(a)
	if next := a.nextCursor(); err == nil && next != "" {
		q := url.Values{"limit": {strconv.Itoa(maxListLimit)}, "cursor": {next}}
		_, err = c.pages("/v1/read/instance/"+c.args[0], q, true, c.refusal, add)
	}
	if err != nil {
		return err
	}
	e["children"], _ = json.Marshal(children) // can always be encoded
	return c.showItem(e, "instance_id class_id class key minted_seq location children")
}
