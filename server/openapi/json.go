package openapi

import (
	"bytes"
	"encoding/json"
)

// An object is a JSON object that keeps the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// list is a JSON array.
type list = []any

// o returns an object whose members are given as alternating names and values. It omits
// members with a nil value.
func o(pairs ...any) object {
	var made object
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != nil {
			made = append(made, member{pairs[i].(string), pairs[i+1]})
		}
	}
	return made
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := e.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// render writes the whole document, indented so that people can read it too.
func render(document object) ([]byte, error) {
	var compact, out bytes.Buffer
	e := json.NewEncoder(&compact)
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, compact.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
