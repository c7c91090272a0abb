package reader

import (
	"net/http"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/page"
)

// pagePolicy is the Content-Security-Policy of the page. The page may load and
// request only what this daemon serves, and images in data: URLs. It may not be
// framed.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

const (
	revalidate = "no-cache"                            // for the index: revalidate each time
	immutable  = "public, max-age=31536000, immutable" // for all other files: the path contains the version
)

// pageRoutes returns the routes of the web page. note returns a text to show
// below the page's header, or "" for none. Requests for the page pass through the
// table of routes like all others, and are measured like them.
func pageRoutes(note func() string) []httpserver.Route {
	p, err := page.Load()
	if err != nil {
		panic(err) // the files are embedded, so this is a defect of the build
	}
	return []httpserver.Route{
		{Method: "GET", Pattern: "/{$}", Handle: func(x *httpserver.Exchange) *ledger.Error {
			index := p.Noting(note())
			return serveAsset(x, &index, revalidate)
		}},
		{Method: "GET", Pattern: "/page/{version}/{file}", Handle: func(x *httpserver.Exchange) *ledger.Error {
			asset, ok := p.Assets[x.R.PathValue("file")]
			if !ok || x.R.PathValue("version") != p.Version {
				return ledger.Errorf(ledger.NotFound, "The page has no such file in this version: reload the page.").
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
