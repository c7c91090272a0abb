package writer

import (
	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/openapi"
)

var description httpserver.Description

func describe(x *httpserver.Exchange) *ledger.Error {
	return description.Serve(x, openapi.Write, openAPIRoutes)
}

// openAPIRoutes returns the routes of the write daemon.
func openAPIRoutes() (routes []openapi.Route) {
	for _, r := range new(daemon).routes() {
		route := openapi.Route{Method: r.Method, Path: r.Pattern}
		switch r.Pattern {
		case streamPattern:
			route.Query = []string{"on_error"}
		case logstream.LogPattern:
			route.Query = []string{"from"}
		}
		routes = append(routes, route)
	}
	return routes
}
