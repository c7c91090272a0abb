package openapi

import (
	"bytes"
	"strings"
	"testing"
)

func TestDocumentWantsRoutesAndWordsToMatch(t *testing.T) {
	d := Daemon{title: "t", about: "a", url: "u", operations: map[string]operation{
		"GET /v1/a/{id}": {id: "a", tag: "T", summary: "A", answer: "Class", errors: []int{400}},
	}}
	a := Route{Method: "GET", Path: "/v1/a/{id}", Query: []string{"limit"}}
	for _, c := range []struct {
		name   string
		routes []Route
		says   string
	}{
		{"both", []Route{a}, ""},
		{"a route without words", []Route{a, {Method: "POST", Path: "/v1/a/{id}"}}, "nothing describes POST /v1/a/{id}"},
		{"words without a route", nil, "GET /v1/a/{id} is described, but is no route"},
	} {
		text, err := Document(d, c.routes)
		switch {
		case c.says == "" && (err != nil || !bytes.Contains(text, []byte(`"#/components/parameters/limit"`))):
			t.Errorf("%s: %v %s", c.name, err, text)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestObjectsKeepTheirOrder(t *testing.T) {
	text, err := o("z", 1, "a", nil, "m", list{o("<", "&")}).MarshalJSON()
	if got := strings.ReplaceAll(string(text), "\n", ""); err != nil || got != `{"z":1,"m":[{"<":"&"}]}` {
		t.Errorf("%s %v", got, err)
	}
}
