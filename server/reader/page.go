package reader

import (
	"net/http"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/page"
)

// pagePolicy lets the page load and ask nothing but what this daemon serves,
// and be framed by nobody.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const (
	revalidate = "no-cache"                            // the index: ask each time
	immutable  = "public, max-age=31536000, immutable" // the version is in the path
)

// pageRoutes serve the page for people, with a note below its header unless that
// is "". Reads of it go the way of all others,
// through the table of routes, and are measured like them.
func pageRoutes(note func() string) []httpserver.Route {
	p, err := page.Load()
	if err != nil {
		panic(err) // the files are part of the program
	}
	return []httpserver.Route{
		{Method: "GET", Pattern: "/{$}", Handle: func(x *httpserver.Exchange) *ledger.Error {
			index := p.Noting(note())
			return serveAsset(x, &index, revalidate)
		}},
		{Method: "GET", Pattern: "/page/{version}/{file}", Handle: func(x *httpserver.Exchange) *ledger.Error {
			asset, ok := p.Assets[x.R.PathValue("file")]
			if !ok || x.R.PathValue("version") != p.Version {
				return ledger.Errorf(ledger.NotFound, "The page has no such file, or not in this version: load the page anew.").
					With(ledger.Text("path", httpserver.Shorten(x.R.URL.Path)))
			}
			return serveAsset(x, &asset, immutable)
		}},
	}
}

func serveAsset(x *httpserver.Exchange, a *page.Asset, caching string) *ledger.Error {
	h := x.W.Header()
	tag := `"` + a.Hash + `"`
	h.Set("Content-Type", a.Type)
	h.Set("Cache-Control", caching)
	h.Set("ETag", tag)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if httpserver.MatchesETag(x.R.Header["If-None-Match"], tag) {
		x.Status = http.StatusNotModified
		return nil
	}
	x.Out = append(x.Out, a.Body...)
	return nil
}
