// Package page holds the web page that the read daemon serves: plain HTML, CSS
// and JavaScript modules, embedded in the program. Only index.html is changed
// before it is served: it gets the version, and a note if there is one. The page
// reads the ledger through the same paths as every other client.
//
//	/                        index.html, requested each time, answered with 304 if it is unchanged
//	/page/{version}/{file}   the other files; version is a hash of all of them, so a file at its path never changes
//
// Each module imports only modules named before it, but views import each other too:
//
//	json.js dom.js   exact numbers; creating and updating elements
//	api.js live.js   requests to the daemon; following its stream of commits
//	metrics.js status.js   the daemon's metrics; the state of the whole ledger
//	time.js csv.js format.js chart.js minutes.js grid.js past.js commands.js commit_filters.js view_*.js   how things look, and what each address shows
//	finder.js        the search box for everything
//	app.js           the address, the header, refreshing
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
	Body []byte // must not be modified
	Hash string // of the body, in hexadecimal; the same in every process
}

// A Page is the whole web page.
type Page struct {
	Index   Asset
	Version string // hash of all assets, for their path
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
	entries, err := fs.ReadDir(assets, "assets") // sorted by name, so that the version is the same in every process
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

// belowHeader is the text after which a note is inserted.
const belowHeader = "</header>\n"

// Noting returns the index with a note below its header. An empty note changes
// nothing.
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
