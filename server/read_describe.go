package server

import (
	"net/http"

	"assetledger/ledger"
	"assetledger/server/openapi"
)

var readDescription description

func describeRead(x *exchange) *ledger.Error {
	return readDescription.serve(x, openapi.Read, readRoutes)
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
