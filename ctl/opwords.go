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
	var b strings.Builder
	b.WriteString(o.Op)
	if err := argWords(&b, o.Args); err != nil {
		return "", fmt.Errorf("cannot show the arguments of %s: %v", o.Op, err)
	}
	return b.String(), nil
}

// argWords appends " name=value" for each field of a JSON object.
func argWords(b *strings.Builder, object []byte) error {
	if len(object) == 0 {
		return nil
	}
	in := json.NewDecoder(bytes.NewReader(object))
	if _, err := in.Token(); err != nil { // the opening brace
		return err
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return err
		}
		if name == "request" {
			if err := argWords(b, value); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(b, " %s=%s", name, argValue(value))
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
