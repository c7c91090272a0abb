package systemtest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/writer"
)

// askAs sends one request with the given headers and host.
func askAs(t *testing.T, method, url, host, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	a, err := read(res, err)
	if err != nil {
		t.Fatal(err)
	}
	return a.status, a.body, res.Header
}

// TestPagesOfOthers checks the protection against DNS rebinding: a web page whose name
// resolves to this machine can't use a ledger that accepts every local client.
func TestPagesOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "auth")
	clientsOf(t, file, "admin a admin")
	open := startWriter(t, dir)
	reads := startReader(t, dir)
	closed := startWriter(t, t.TempDir(), func(c *writer.Config) { c.Access.AuthFile = file })
	all := startWriter(t, t.TempDir(), func(c *writer.Config) { c.Access.Insecure = true })
	browser := []string{"Accept-Language: en", "Origin: http://evil.example:8080"}
	for i, c := range []struct {
		d       *daemon
		host    string
		headers []string
		status  int
	}{
		{open, "evil.example:8080", browser, 403},
		{open, "evil.example:8080", nil, 200}, // from a program
		{open, strings.TrimPrefix(open.url, "http://"), browser, 200},
		{closed, "evil.example:8080", browser, 401},
		{closed, "evil.example:8080", append(browser, "Authorization: Bearer a"), 200},
		{all, "evil.example:8080", browser, 200},
	} {
		status, body, header := askAs(t, "POST", c.d.url+"/v1/commit", c.host, fmt.Sprintf(oneContainer, i+1), c.headers...)
		if status != c.status || header.Get("Access-Control-Allow-Origin") != "" || (status == 403) != strings.Contains(body, "-auth-file") {
			t.Errorf("case %d: %d %s %v, want %d without CORS headers", i, status, body, header, c.status)
		}
	}
	if status, body, _ := askAs(t, "GET", reads.url+"/v1/read/containers", "evil.example", "", browser...); status != 403 {
		t.Errorf("a read by a page of another site: %d %s, want 403", status, body)
	}
	// A web page may send some requests anywhere without a CORS preflight, but not
	// JSON. No response to a CORS preflight request grants permission.
	if status, body, header := askAs(t, "OPTIONS", open.url+"/v1/commit", "127.0.0.1", "", browser...); status != 405 || header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("OPTIONS got %d %s %v, want 405 without CORS headers", status, body, header)
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		req, _ := http.NewRequest("POST", open.url+"/v1/commit", strings.NewReader(fmt.Sprintf(oneContainer, 99)))
		req.Header.Set("Content-Type", kind)
		if a, err := read(http.DefaultClient.Do(req)); err != nil || a.status != 415 {
			t.Errorf("Content-Type %q: %v %d %s, want 415", kind, err, a.status, a.body)
		}
	}
}

// TestHealthTellsStrangersLittle checks health with an auth file. A client that is
// unauthenticated, or limited to owners, can see whether the daemon works, but not the
// daemon's paths.
func TestHealthTellsStrangersLittle(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "auth"), t.TempDir()
	clientsOf(t, file, "admin a admin", "seven s read owners=7", "metrics m metrics")
	w := startWriter(t, dir, func(c *writer.Config) { c.Access.AuthFile = file })
	for token, knows := range map[string]bool{"": false, "wrong": false, "s": false, "a": true, "m": true} {
		status, body := ask(t, http.DefaultClient, "GET", w.url+"/v1/health", token, "")
		want := `"path":""`
		if knows {
			want = fmt.Sprintf(`"path":%q`, dir)
		}
		if status != 200 || !strings.Contains(body, `{"status":"healthy","commit_log":{"end_seq":0,`) || !strings.Contains(body, want) {
			t.Errorf("as %q: %d %s, want %s", token, status, body, want)
		}
	}
}
