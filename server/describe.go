package server

import (
	"net/http"
	"sync"

	"assetledger/ledger"
	"assetledger/server/openapi"
)

// The daemons describe themselves at /v1/openapi.json, from their own tables
// of routes. The page for people is no part of the interface.

type description struct {
	text []byte
	tag  string
}

func newDescription(d openapi.Daemon, routes []openapi.Route) description {
	text, err := openapi.Document(d, routes)
	if err != nil {
		panic(err) // a route that nothing describes is a defect of the program
	}
	return description{text, string(appendETag(nil, contentHash(text)))}
}

// A lazyDescription is made when it is first asked for.
type lazyDescription struct {
	once sync.Once
	description
}

var readDescription, writeDescription lazyDescription

func describeRead(x *exchange) *ledger.Error {
	readDescription.once.Do(func() { readDescription.description = newDescription(openapi.Read, readRoutes()) })
	return readDescription.serve(x)
}

func describeWrite(x *exchange) *ledger.Error {
	writeDescription.once.Do(func() { writeDescription.description = newDescription(openapi.Write, writeRoutes()) })
	return writeDescription.serve(x)
}

// readRoutes are the read daemon's, the reads with their query parameters.
func readRoutes() (routes []openapi.Route) {
	for _, e := range readEndpoints {
		routes = append(routes, openapi.Route{Method: http.MethodGet, Path: e.pattern, Query: (e.params | paramsOfAll).names()})
	}
	for _, r := range new(readDaemon).routes(false) {
		if !hasRoute(routes, r) {
			routes = append(routes, openapi.Route{Method: r.Method, Path: r.Pattern})
		}
	}
	return routes
}

func writeRoutes() (routes []openapi.Route) {
	for _, r := range new(writeDaemon).routes() {
		routes = append(routes, openapi.Route{Method: r.Method, Path: r.Pattern})
	}
	return routes
}

func hasRoute(routes []openapi.Route, r route) bool {
	for _, known := range routes {
		if known.Method == r.Method && known.Path == r.Pattern {
			return true
		}
	}
	return false
}

// names are the names of parameters, in the order of their bits.
func (p param) names() (names []string) {
	for i := range paramSpecs {
		if p&(1<<i) != 0 {
			names = append(names, paramSpecs[i].name)
		}
	}
	return names
}

func (d *description) serve(x *exchange) *ledger.Error {
	x.W.Header()["Etag"] = []string{d.tag}
	if matchesETag(x.R.Header["If-None-Match"], d.tag) {
		x.Status = http.StatusNotModified
		return nil
	}
	x.Out = append(x.Out, d.text...)
	return nil
}
