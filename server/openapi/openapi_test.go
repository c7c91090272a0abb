package openapi

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"assetledger/ledger"
)

func TestDescriptionsMatchTheRoutes(t *testing.T) {
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
		{"a route without a description", []Route{a, {Method: "POST", Path: "/v1/a/{id}"}}, "nothing describes POST /v1/a/{id}"},
		{"a description without a route", nil, "GET /v1/a/{id} is described, but is not a route"},
	} {
		text, err := Document(d, c.routes)
		switch {
		case c.says == "" && (err != nil || !bytes.Contains(text, []byte(`"#/components/parameters/query-limit"`))):
			t.Errorf("%s: %v, want a document with limit: %s", c.name, err, text)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

// TestMeanings checks that the document explains the status of every error code.
func TestMeanings(t *testing.T) {
	for _, code := range ledger.Codes() {
		if meaning[code.Status()] == "" {
			t.Errorf("the status %d of %s has no explanation", code.Status(), code)
		}
	}
}

// TestComponentsSuitGenerators checks that unreferenced components are omitted,
// and that no two names differ only in hyphens and case.
func TestComponentsSuitGenerators(t *testing.T) {
	for _, d := range []Daemon{Read, Write} {
		var routes []Route
		for name := range d.operations {
			method, path, _ := strings.Cut(name, " ")
			routes = append(routes, Route{Method: method, Path: path, Query: []string{"owner", "key"}})
		}
		text, err := Document(d, routes)
		if err != nil {
			t.Fatal(err)
		}
		var document struct{ Components map[string]map[string]any }
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		seen := map[string]string{}
		for kind, all := range document.Components {
			for name := range all {
				if ref := kind + "/" + name; kind != "securitySchemes" && !bytes.Contains(text, []byte(`"#/components/`+ref+`"`)) {
					t.Errorf("%s: nothing refers to %s", d.title, ref)
				}
				plain := strings.ToLower(strings.ReplaceAll(name, "-", ""))
				if other := seen[plain]; other != "" {
					t.Errorf("%s: %s and %s have the same name", d.title, other, name)
				}
				seen[plain] = name
			}
		}
	}
}

func TestObjectsKeepTheirOrder(t *testing.T) {
	text, err := o("z", 1, "a", nil, "m", list{o("<", "&")}).MarshalJSON()
	if got := strings.ReplaceAll(string(text), "\n", ""); err != nil || got != `{"z":1,"m":[{"<":"&"}]}` {
		t.Errorf("%s (%v), want the members in their order, without null", got, err)
	}
}
