package ctl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// words shows an operation as -op takes it: its name, then name=value in the
// order of its arguments. Those inside "request" stand without it.
func (o *operation) words() (string, error) {
	return o.wordsAs(func(_ string, value json.RawMessage) string { return argValue(value) })
}

// wordsAs is words with its own way to show each argument.
func (o *operation) wordsAs(show func(name string, value json.RawMessage) string) (string, error) {
	var b strings.Builder
	b.WriteString(o.Op)
	if err := argWords(&b, o.Args, show); err != nil {
		return "", fmt.Errorf("cannot show the arguments of %s: %v", o.Op, err)
	}
	return b.String(), nil
}

// argWords appends " name=value" for each field of a JSON object.
func argWords(b *strings.Builder, object []byte, show func(name string, value json.RawMessage) string) error {
	if len(object) == 0 {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(object))
	if _, err := in.Token(); err != nil { // the opening brace
		return err
	}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		if name == "request" {
			if err := argWords(b, value, show); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(b, " %s=%s", name, show(name, value))
	}
	return nil
}

// argValue shows one value: {"minted":0} as minted:0, a plain word without its quotes.
func argValue(value json.RawMessage) string {
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

// wordsOf shows an operation of a commit: to people by the names that its
// containers and classes have now, and else as it was committed.
func (c *call) wordsOf(o *operation) (string, error) {
	if c.csv() || o.gives() {
		return o.words()
	}
	return o.wordsAs(func(name string, value json.RawMessage) string {
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
		return argValue(value)
	})
}

// gives reports whether the operation gives or takes a name or code: it is shown
// with the id, and names that were read before may be others after it.
func (o *operation) gives() bool {
	switch o.Op {
	case "CreateContainer", "RemoveContainer", "RenameContainer", "RegisterClass", "RenameClass":
		return true
	}
	return false
}
