package ctl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// words returns an operation in the form of -op: its name, then name=value for each
// argument, in order. It calls `show`, such as argValue, for the values. The arguments inside
// "request" are shown without that name.
func (o operation) words(show func(name string, value json.RawMessage) string) (string, error) {
	words := o.Op
	var add func(name string, value json.RawMessage) error
	add = func(name string, value json.RawMessage) error {
		if name == "request" {
			return eachField(value, add)
		}
		words += " " + name + "=" + show(name, value)
		return nil
	}
	if err := eachField(o.Args, add); err != nil {
		return "", fmt.Errorf("cannot show the arguments of %s: %v", o.Op, err)
	}
	return words, nil
}

// eachField calls a function for each field of a JSON object, in order, with the value as it
// is spelled. Fields may be repeated. An empty text counts as an object without fields.
func eachField(object []byte, each func(name string, value json.RawMessage) error) error {
	if len(object) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(object)) // without errors, since the object is valid
	in.Token()
	for in.More() {
		token, _ := in.Token()
		var value json.RawMessage
		in.Decode(&value)
		if err := each(token.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// argValue converts {"minted":0} to minted:0, and removes the quotes from a plain word.
func argValue(_ string, value json.RawMessage) string {
	var ref struct{ Minted *json.Number }
	if value[0] == '{' && json.Unmarshal(value, &ref) == nil && ref.Minted != nil {
		return "minted:" + ref.Minted.String()
	}
	var word string
	if value[0] != '"' || json.Unmarshal(value, &word) != nil {
		return string(value)
	}
	if word != "" && !strings.ContainsAny(word, " =\"'\\") {
		return word
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(word) + `"`
}

// wordsOf returns an operation of a commit in words. For people it has the present names
// of containers and classes, unless o.gives() is true. In CSV it is as committed.
func (c *call) wordsOf(o *operation) (string, error) {
	if c.csv() || o.gives() {
		return o.words(argValue)
	}
	return o.words(func(name string, value json.RawMessage) string {
		switch name {
		case "container_id", "from_container", "to_container", "other_container_id":
			if known, err := c.containerName(string(value)); err == nil && known != none {
				return known
			}
		case "class_id":
			if known, err := c.class(string(value)); err == nil && known.Code != "" {
				return known.Code
			}
		}
		return argValue(name, value)
	})
}

// gives reports whether the operation sets or removes a name or code. It is then shown
// with ids, because names that were read before may have changed.
func (o operation) gives() bool {
	return slices.Contains([]string{"CreateContainer", "RemoveContainer", "RenameContainer", "RegisterClass", "RenameClass"}, o.Op)
}

var readCommitsCommand = readRow{
	words: "read commits", purpose: "list the commits, oldest or newest first", list: true, ofCommits: true,
	examples: [2]string{"read commits -last 20", "read commits -idempotency-key order-17 -o json"},
	path:     "/v1/read/commits",
	fields:   "global_seq batch_seq committed_at operations",
	filters:  []filter{{"idempotency-key", "idempotency_key", textValue, "the commit of this idempotency `KEY`, while it is remembered"}},
}.command()

// summary returns the first operation, and the number of the others if there are any.
func (c *call) summary(ops []operation) (string, error) {
	if len(ops) == 0 {
		return none, nil
	}
	words, err := c.wordsOf(&ops[0])
	if len(ops) > 1 {
		words += fmt.Sprintf(" (and %d more)", len(ops)-1)
	}
	return words, err
}

var readCommitCommand = readRow{
	words: "read commit", arg: "GLOBAL_SEQ", purpose: "show a commit as it was made",
	notes:    "Quantities are in minor units, as in the transaction. Containers and classes have their present names; -o json has their ids.",
	examples: [2]string{"read commit 12", "read commit 12 -o json"},
	path:     "/v1/read/commit/*",
	render:   showCommit,
}.command()

type commitData struct {
	commitResult
	CommittedAt string `json:"committed_at"`
	Principal   string
	Reverses    int64
	ReversedBy  int64 `json:"reversed_by"`
}

type operation struct {
	Op   string
	Args json.RawMessage
}

func showCommit(c *call, a *answer) error {
	var d commitData
	e, err := a.item()
	err = cmp.Or(err, a.data(&d))
	if err == nil && d.GlobalSeq < 1 {
		err = a.lacks("global_seq")
	}
	if err != nil {
		return err
	}
	if err := c.showItem(e, "global_seq batch_seq committed_at minted_instances metadata principal? reverses? reversed_by?"); err != nil {
		return err
	}
	fmt.Fprintln(c.out)
	words, err := c.wordsOfAll(d.Operations)
	ops := c.listTable("n operation")
	for i, op := range words {
		ops.row(i, op)
	}
	ops.flush()
	return err
}
