// Package openapi describes the HTTP interface in OpenAPI 3.1
// (https://spec.openapis.org/oas/v3.1.0), with one document for each daemon.
//
// Whatever the programs define is taken from them, so the documents can't
// contradict them: the routes and their query parameters from the daemon's
// table, the operations and their arguments from the table of package ledger,
// and the error codes with their statuses. The rest is written by hand in this
// package:
//
//	routes (server) ─┐
//	operations ──────┤
//	error codes ─────┼→ Document → /v1/openapi.json
//	texts, schemas ──┘
package openapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"assetledger/ledger"
)

// A Route is one method of one path of a daemon, as in its table.
type Route struct {
	Method, Path string
	Query        []string // the query parameters that it takes
}

// A Daemon has the parts of a document that differ between the daemons.
type Daemon struct {
	title, about string
	url          string
	operations   map[string]operation // by method and path
}

// The two daemons.
var (
	Read  = Daemon{"Asset ledger: read daemon", aboutRead, "http://127.0.0.1:8081", withLog("read", readOperations)}
	Write = Daemon{"Asset ledger: write daemon", aboutWrite, "http://127.0.0.1:8080", withLog("write", writeOperations)}
)

// An operation is the hand-written part of the description of a route.
type operation struct {
	id, tag, summary, about string
	headers                 []string // request headers, by the name of their parameter component
	body                    string   // schema of the request, "" for none
	bodyType                string   // its media type, "" for JSON
	answer                  string   // schema of the response
	answerType              string   // its media type, "" for JSON
	answerHeaders           []string // by the name of their header component
	events                  bool     // may also be a stream of events
	also                    object   // responses besides 200 and the errors
	errors                  []int    // statuses of errors
}

// Document renders the description of a daemon that has these routes. It returns
// an error if a route has no description, or a description has no route.
func Document(d Daemon, routes []Route) ([]byte, error) {
	paths := object{}
	described := map[string]bool{}
	for _, r := range routes {
		name := r.Method + " " + r.Path
		op, ok := d.operations[name]
		if !ok {
			return nil, fmt.Errorf("openapi: nothing describes %s", name)
		}
		described[name] = true
		item := o(strings.ToLower(r.Method), op.describe(r))
		if i := slices.IndexFunc(paths, func(m member) bool { return m.name == r.Path }); i >= 0 {
			paths[i].value = append(paths[i].value.(object), item...)
		} else {
			paths = append(paths, member{r.Path, item})
		}
	}
	for name := range d.operations {
		if !described[name] {
			return nil, fmt.Errorf("openapi: %s is described, but is not a route", name)
		}
	}
	components, err := needed(paths, o(
		"schemas", schemas(),
		"parameters", parameters(),
		"headers", headers(),
		"responses", errorResponses(),
		"securitySchemes", securitySchemes(),
	))
	if err != nil {
		return nil, err
	}
	return render(o(
		"openapi", "3.1.0",
		"info", o("title", d.title, "version", "1", "description", d.about),
		"servers", list{o("url", d.url, "description", "The default address of the daemon")},
		"tags", tags(routes, d),
		"paths", paths,
		"components", components,
	))
}

func tags(routes []Route, d Daemon) (named list) {
	var seen []string
	for _, r := range routes {
		if tag := d.operations[r.Method+" "+r.Path].tag; !slices.Contains(seen, tag) {
			seen = append(seen, tag)
			named = append(named, o("name", tag))
		}
	}
	return named
}

func (op operation) describe(r Route) object {
	var params list
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			params = append(params, o("name", strings.TrimSuffix(name, "}"), "in", "path", "required", true, "schema", pathSchema(r.Path)))
		}
	}
	for _, name := range r.Query {
		params = append(params, o("$ref", "#/components/parameters/"+inQuery+name))
	}
	for _, name := range op.headers {
		params = append(params, o("$ref", "#/components/parameters/"+inHeader+name))
	}
	described := o("operationId", op.id, "tags", list{op.tag}, "summary", op.summary)
	if op.about != "" {
		described = append(described, member{"description", op.about})
	}
	if params != nil {
		described = append(described, member{"parameters", params})
	}
	if op.body != "" {
		described = append(described, member{"requestBody", o("required", true, "content", o(cmp.Or(op.bodyType, typeJSON), o("schema", ref(op.body))))})
	}
	if op.closed() {
		op.errors = slices.Sorted(slices.Values(append(slices.Clone(op.errors), http.StatusUnauthorized, http.StatusForbidden)))
		described = append(described, member{"security", list{object{}, o("token", list{}), o("certificate", list{})}})
	} else {
		described = append(described, member{"security", list{}}) // explicitly open, not forgotten
	}
	return append(described, member{"responses", op.responses()})
}

// pathSchema returns the schema of the parameter in a path. A container may also be
// given by its name, and a class by its code.
func pathSchema(path string) object {
	switch {
	case strings.HasPrefix(path, "/v1/read/container/"):
		return idOr(false)
	case strings.HasPrefix(path, "/v1/read/class/"):
		return idOr(true)
	}
	return ref("Id")
}

const typeJSON = "application/json"

// closed reports whether a daemon with an auth file requires credentials for the
// operation.
func (op operation) closed() bool {
	return op.tag != "Operation" || op.answer == "Metrics" || op.answer == "StatusAnswer"
}

// securitySchemes returns the ways to authenticate. A daemon without an auth file
// requires none.
func securitySchemes() object {
	return o(
		"token", o("type", "http", "scheme", "bearer", "description", "For daemons with an auth file; ledgerctl token new creates a token."),
		"certificate", o("type", "mutualTLS", "description", "For daemons with an auth file and roots of client certificates."),
	)
}

func (op operation) responses() object {
	content := o(cmp.Or(op.answerType, typeJSON), o("schema", ref(op.answer)))
	if op.events {
		content = append(content, member{"text/event-stream", o("schema", ref("Events"))})
	}
	ok := o("description", "The requested data")
	if op.answerHeaders != nil {
		ok = append(ok, member{"headers", headerRefs(op.answerHeaders...)})
	}
	all := o("200", append(ok, member{"content", content}))
	all = append(all, op.also...)
	for _, status := range op.errors {
		all = append(all, member{strconv.Itoa(status), o("$ref", "#/components/responses/"+errorName(status))})
	}
	return all
}

func headerRefs(names ...string) (refs object) {
	for _, name := range names {
		refs = append(refs, member{name, o("$ref", "#/components/headers/"+name)})
	}
	return refs
}

// errorName returns the name of the response component of a status, such as NotFound.
func errorName(status int) string {
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

// errorResponses returns one response for each status of the ledger's codes.
func errorResponses() (all object) {
	var codes list
	status := 0
	flush := func() {
		if codes == nil {
			return
		}
		schema := o("allOf", list{ref("Refusal"), o("properties", o("error", o("properties", o("code", o("enum", codes)))))})
		response := o("description", http.StatusText(status)+": "+meaning[status])
		switch status {
		case http.StatusServiceUnavailable:
			response = append(response, member{"headers", headerRefs("Retry-After")})
		case http.StatusUnauthorized, http.StatusForbidden:
			response = append(response, member{"headers", headerRefs("WWW-Authenticate")})
		}
		all = append(all, member{errorName(status), append(response, member{"content", o("application/json", o("schema", schema))})})
		codes = nil
	}
	for _, code := range ledger.Codes() {
		if code.Status() != status {
			flush()
			status = code.Status()
		}
		codes = append(codes, string(code))
	}
	flush()
	return all
}

// meaning explains each error status.
var meaning = map[int]string{
	400: "the request is invalid. Nothing was changed.",
	401: "the client is not authenticated.",
	403: "the client is not authorized to do this.",
	404: "what the path or an operation names does not exist. A read daemon adds the freshness of its response.",
	405: "the path does not support this method; Allow lists those that it supports.",
	409: "the request conflicts with the current state, such as an id, name or place that is taken, or its idempotency key belongs to another request.",
	410: "the commit was moved out of the log.",
	412: "a condition of the transaction does not hold. Nothing was changed.",
	413: "the body is larger than the daemon accepts.",
	415: "the body is compressed, or its media type or charset is not accepted here.",
	416: "the range has no byte of the checkpoint.",
	422: "the current state of the ledger does not allow it. Nothing was changed.",
	424: "not tried, because an earlier transaction of the batch failed. Only inside the results of a batch.",
	425: "min_seq was not reached in time, or is beyond the end of the log.",
	500: "a defect in the ledger.",
	503: "temporarily unavailable. Whether a write took effect may be unknown: repeat it with the same idempotency key.",
}
