package server

import (
	"assetledger/ledger"
	"assetledger/server/openapi"
)

var writeDescription description

func describeWrite(x *exchange) *ledger.Error {
	return writeDescription.serve(x, openapi.Write, writeRoutes)
}

// writeRoutes are the write daemon's.
func writeRoutes() (routes []openapi.Route) {
	for _, r := range new(writeDaemon).routes() {
		routes = append(routes, openapi.Route{Method: r.Method, Path: r.Pattern})
	}
	return routes
}
