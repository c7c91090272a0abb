package httpserver

import (
	"net/http"
	"sync"

	"assetledger/ledger"
	"assetledger/server/openapi"
)

// The daemons describe themselves at /v1/openapi.json, from their own tables of
// routes. The web page is not part of that description.

// A Description is a daemon's OpenAPI document. The first request for it creates
// it.
type Description struct {
	once sync.Once
	text []byte
	tag  string
}

// Serve responds with the document, made from the daemon's routes.
func (d *Description) Serve(x *Exchange, daemon openapi.Daemon, routes func() []openapi.Route) *ledger.Error {
	d.once.Do(func() {
		text, err := openapi.Document(daemon, routes())
		if err != nil {
			panic(err) // a route without a description is a defect of the program
		}
		d.text, d.tag = text, string(AppendETag(nil, ContentHash(text)))
	})
	x.W.Header()["Etag"] = []string{d.tag}
	if MatchesETag(x.R.Header["If-None-Match"], d.tag) {
		x.Status = http.StatusNotModified
		return nil
	}
	x.Out = append(x.Out, d.text...)
	return nil
}
