package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// words returns an operation in the form of -op: its name, then name=value for each
// argument, in order. The arguments inside "request" are shown without it.
func (o *operation) words() (string, error) {
	return o.wordsAs(func(_ string, value json.RawMessage) string { return argValue(value) })
}

// wordsAs is like words, but calls show for the value of each argument.
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
	return eachField(object, func(name string, value json.RawMessage) error {
		if name == "request" {
			return argWords(b, value, show)
		}
		fmt.Fprintf(b, " %s=%s", name, show(name, value))
		return nil
	})
}

// eachField calls each for the fields of a JSON object, with their values as spelled.
func eachField(object []byte, each func(name string, value json.RawMessage) error) error {
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
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		name, _ := token.(string)
		if err := each(name, value); err != nil {
			return err
		}
	}
	if _, err := in.Token(); err != nil { // the closing brace
		return err
	}
	if _, err := in.Token(); err != io.EOF {
		return errors.New("there is more after the end of the JSON")
	}
	return nil
}

// argValue converts {"minted":0} to minted:0, and removes the quotes of a plain word.
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

// wordsOf returns an operation of a commit in words. For people it has the present names
// of containers and classes. In other formats it is as committed.
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

// gives reports whether the operation sets or removes a name or code. It is then shown
// with ids, because names that were read before may have changed.
func (o operation) gives() bool {
	switch o.Op {
	case "CreateContainer", "RemoveContainer", "RenameContainer", "RegisterClass", "RenameClass":
		return true
	}
	return false
}
