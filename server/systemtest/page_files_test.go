package systemtest

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// policy does what the page's policy forbids, and logs an error, to prove that the
// tests would notice either.
func (p *pageTest) policy(t *testing.T) {
	for _, forbidden := range []string{
		`document.body.setAttribute('style', 'color: red')`,
		`document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:1/x.png' }))`,
		`fetch('http://127.0.0.1:1/').catch(() => {})`,
		`console.error('a fault')`,
	} {
		var faults []string
		p.eval(`void `+forbidden, nil)
		for range 200 {
			p.eval(`new Promise((done) => setTimeout(() => done(true), 10))`, nil)
			if faults = p.seen(); faults != nil {
				break
			}
		}
		if faults == nil {
			t.Errorf("%s was not noticed", forbidden)
		}
	}
	p.eval(`document.body.removeAttribute('style')`, nil)
}

// TestPageFiles requests the files of the page without a browser.
func TestPageFiles(t *testing.T) {
	l := startPageLedger(t)
	get := func(path, header, value string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, l.reader.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set(header, value)
		}
		answer, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return answer, string(body)
	}
	index, html := get("/", "", "")
	total := len(html)
	paths := []string{"/"}
	for _, part := range strings.Split(html, `"`) {
		if strings.HasPrefix(part, "page/") {
			paths = append(paths, "/"+part)
		}
	}
	files, err := os.ReadDir("../page/assets")
	if err != nil {
		t.Fatal(err)
	}
	version := strings.Split(paths[1], "/")[2]
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".js") {
			paths = append(paths, "/page/"+version+"/"+f.Name())
		}
	}
	for _, path := range paths {
		answer, body := get(path, "", "")
		h := answer.Header
		if answer.StatusCode != http.StatusOK || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" ||
			!strings.Contains(h.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'") {
			t.Errorf("%s: status %d and header %v, want 200 and the policies", path, answer.StatusCode, h)
		}
		if immutable := strings.Contains(h.Get("Cache-Control"), "immutable"); immutable != (path != "/") {
			t.Errorf("%s: Cache-Control is %q, want immutable for all files but the index", path, h.Get("Cache-Control"))
		}
		if path != "/" {
			total += len(body)
		}
		if again, rest := get(path, "If-None-Match", h.Get("ETag")); again.StatusCode != http.StatusNotModified || rest != "" {
			t.Errorf("%s again with its ETag: %d %q, want 304 and no body", path, again.StatusCode, rest)
		}
		for _, outside := range []string{"http://", "https://", "//cdn"} {
			if strings.Contains(strings.ReplaceAll(strings.ReplaceAll(body, "http://www.w3.org/2000/svg", ""), "// ", ""), outside) {
				t.Errorf("%s names an external address", path)
			}
		}
	}
	if index.Header.Get("Content-Type") != "text/html; charset=utf-8" || total > 150<<10 {
		t.Errorf("the page is %s of %d bytes, want HTML of at most 150 KiB", index.Header.Get("Content-Type"), total)
	}
	for _, path := range []string{"/page/" + version + "/nothing.js", "/page/0/app.js", "/index.html", "/page/" + version + "/"} {
		if answer, body := get(path, "", ""); answer.StatusCode != http.StatusNotFound || !strings.Contains(body, `"NotFound"`) {
			t.Errorf("%s: %d %s, want 404 NotFound", path, answer.StatusCode, body)
		}
	}
	plain := startReader(t, t.TempDir())
	if answer, err := http.Get(plain.url + "/"); err != nil || answer.StatusCode != http.StatusNotFound {
		t.Errorf("a daemon without the page responds with %v, %v, want 404", answer, err)
	} else {
		answer.Body.Close()
	}
}
