// Package page holds the page that the read daemon serves to people: plain
// HTML, CSS and JavaScript modules, embedded, served as they are written. It
// reads the ledger through the same paths as everybody else.
//
//	/                        index.html, asked for each time, answered 304 when it is the same
//	/page/{version}/{file}   what it needs; version is a hash of all of it, so these never change
//
// The modules, each naming only those before it:
//
//	json.js dom.js   exact numbers; elements made and renewed
//	api.js live.js   asking the daemon; following its stream of commits
//	metrics.js       what the daemon measures of itself
//	time.js csv.js format.js chart.js minutes.js grid.js past.js commands.js commit_filters.js view_*.js   how things look, and what each address shows
//	finder.js        the box that finds everything
//	app.js           the address, the header, the refreshing
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"html"
	"io/fs"
	"path"
	"strings"
)

//go:embed assets
var assets embed.FS

// An Asset is one file of the page.
type Asset struct {
	Name string // as in the path
	Type string // its Content-Type
	Body []byte // must not be changed
	Hash string // of the body, in hexadecimal; the same in every process
}

// A Page is all of it.
type Page struct {
	Index   Asset
	Version string // of all assets together, for their path
	Assets  map[string]Asset
}

var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Load reads the embedded files.
func Load() (*Page, error) {
	p := &Page{Assets: map[string]Asset{}}
	all := sha256.New()
	entries, err := fs.ReadDir(assets, "assets") // sorted by name, so the version is the same everywhere
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		body, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			return nil, err
		}
		all.Write([]byte(e.Name() + "\x00"))
		all.Write(body)
		p.Assets[e.Name()] = newAsset(e.Name(), body)
	}
	p.Version = hex.EncodeToString(all.Sum(nil))[:16]
	index := strings.ReplaceAll(string(p.Assets["index.html"].Body), "{{version}}", p.Version)
	p.Index = newAsset("index.html", []byte(index))
	delete(p.Assets, "index.html")
	return p, nil
}

// belowHeader is where a note stands.
const belowHeader = "</header>\n"

// Noting is the index with a note below its header; "" is none.
func (p *Page) Noting(note string) Asset {
	if note == "" {
		return p.Index
	}
	below := belowHeader + `<p class="note" role="note">` + html.EscapeString(note) + "</p>\n"
	return newAsset(p.Index.Name, []byte(strings.Replace(string(p.Index.Body), belowHeader, below, 1)))
}

func newAsset(name string, body []byte) Asset {
	sum := sha256.Sum256(body)
	return Asset{Name: name, Type: types[path.Ext(name)], Body: body, Hash: hex.EncodeToString(sum[:])[:16]}
}
