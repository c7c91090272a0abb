package reader

import (
	"net/http"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/openapi"
)

var description httpserver.Description

func describe(x *httpserver.Exchange) *ledger.Error {
	return description.Serve(x, openapi.Read, openAPIRoutes)
}

// openAPIRoutes returns the routes of the read daemon, with the query parameters of reads.
func openAPIRoutes() (routes []openapi.Route) {
	for _, e := range endpoints {
		routes = append(routes, openapi.Route{Method: http.MethodGet, Path: e.pattern, Query: (e.params | paramsOfAll).names()})
	}
	for _, r := range new(daemon).routes(false) {
		if !hasRoute(routes, r) {
			route := openapi.Route{Method: r.Method, Path: r.Pattern}
			if r.Pattern == logstream.LogPattern {
				route.Query = []string{"from"}
			}
			routes = append(routes, route)
		}
	}
	return routes
}

func hasRoute(routes []openapi.Route, r httpserver.Route) bool {
	for _, known := range routes {
		if known.Method == r.Method && known.Path == r.Pattern {
			return true
		}
	}
	return false
}

// names returns the names of parameters, in the order of their bits.
func (p param) names() (names []string) {
	for i := range paramSpecs {
		if p&(1<<i) != 0 {
			names = append(names, paramSpecs[i].name)
		}
	}
	return names
}
