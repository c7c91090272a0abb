package systemtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/reader"
	"assetledger/server/writer"
)

var update = flag.Bool("update", false, "record the responses in testdata and docs again")

const pairsDir = "../../testdata/pairs"

// checkedHeaders are recorded if a response has them. They must be absent if
// the recorded response does not have them.
var checkedHeaders = []string{"Allow", "Content-Type", "ETag", "Retry-After", "WWW-Authenticate", "X-Asset-Idempotency", "X-Asset-Seq"}

// masks match the parts of a response that differ between runs.
var masks = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`"committed_at":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z"`), `"committed_at":"{time}"`},
	{regexp.MustCompile(`("driver":\{"name":"file","path":)"[^"]*"`), `$1"{dir}"`},
	{regexp.MustCompile(`("log":\{"path":)"[^"]*"`), `$1"{dir}"`},
	{regexp.MustCompile(`"disk_free_bytes":\d+`), `"disk_free_bytes":1000000000`},
	{regexp.MustCompile(`"url":"http://127.0.0.1:\d+"`), `"url":"{write_base_url}"`},
	{regexp.MustCompile(`"from":"\d{4}-\d\d-\d\dT\d\d:\d\d:00Z"`), `"from":"{time}"`},
}

// TestPairs replays every folder of recorded exchanges against real daemons on
// a new log.
func TestPairs(t *testing.T) {
	for _, side := range []string{"write", "read"} {
		topics, err := os.ReadDir(filepath.Join(pairsDir, side))
		if err != nil {
			t.Fatal(err)
		}
		for _, topic := range topics {
			t.Run(side+"/"+topic.Name(), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, side, filepath.Join(pairsDir, side, topic.Name(), clientsFile))
				files, err := filepath.Glob(filepath.Join(pairsDir, side, topic.Name(), "*.txt"))
				if err != nil || len(files) == 0 {
					t.Fatalf("no files of exchanges: %v", err)
				}
				for _, file := range files { // Glob sorts
					w.replayFile(t, file)
				}
			})
		}
	}
}

// A world is a log with its two daemons.
type world struct {
	dir          string
	side         string // "write" or "read": the daemon for requests whose path names neither
	write, read  *daemon
	client       http.Client
	seq          int    // highest X-Asset-Seq of the write daemon
	cursor, etag string // of the previous response
	authFile     string // "": the daemons require no token
}

// clientsFile is the name of an auth file next to the exchanges. If there is one, the
// daemons use it and require tokens. ownToken is the token of the test itself.
const (
	clientsFile = "clients"
	ownToken    = "token-of-the-admin"
)

func newWorld(t *testing.T, side string, clients ...string) *world {
	w := &world{dir: t.TempDir(), side: side}
	for _, file := range clients {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // this folder has none
		}
		w.authFile = filepath.Join(t.TempDir(), clientsFile)
		replaceFile(t, w.authFile, text)
	}
	w.client.Timeout = 30 * time.Second
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.client.Transport = &http.Transport{DisableKeepAlives: true}
	w.startWriter(t)
	w.startReader(t)
	return w
}

func (w *world) startWriter(t *testing.T) {
	w.write = startWriter(t, w.dir, func(c *writer.Config) { c.Access.AuthFile = w.authFile })
}

func (w *world) startReader(t *testing.T) {
	w.read = startReader(t, w.dir, func(c *reader.Config) { c.Access.AuthFile, c.WriteURL = w.authFile, w.write.url })
	awaits(t, "the history index is built", func() bool {
		a, err := get(&w.client, w.read.url+"/v1/read/minutes") // sent without a token, so it may get 401
		return err == nil && a.status != 503
	})
}

func (w *world) replayFile(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Base(file)
	list := parsePairs(t, name, string(text))
	w.replay(t, name, list)
	if *update {
		if err := os.WriteFile(file, []byte(formatPairs(list)), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got := formatPairs(list); got != string(text) {
		t.Errorf("%s is not in its usual form, or a response has changed (go test ./server/systemtest -run %s -update records it):\n%s", name, t.Name(), cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")))
	}
}

// replay sends the requests of exchanges, and sets the responses in them.
func (w *world) replay(t *testing.T, name string, list []*exchange) {
	t.Helper()
	for _, x := range list {
		switch {
		case x.restart == "write":
			w.write.stop()
			w.startWriter(t)
		case x.restart == "read":
			w.read.stop()
			w.startReader(t)
		case x.method != "":
			w.play(t, x)
			checkWords(t, name, x)
		}
	}
}

// play sends one request and records its response.
func (w *world) play(t *testing.T, x *exchange) {
	t.Helper()
	base, path := w.where(x.target)
	if (base == w.read.url || strings.HasSuffix(path, "/health")) && w.seq > 0 && !strings.Contains(x.target, "min_seq") {
		w.waitForReader(t)
	}
	req, err := http.NewRequest(x.method, base, strings.NewReader(bytesToSend(t, x)))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = path // unchanged, so that unclean paths can be sent
	if strings.HasPrefix(path, "//") {
		req.URL.Opaque = "//" + req.URL.Host + path // otherwise path would be mistaken for a host
	}
	if x.method == "POST" {
		req.Header["Content-Type"] = []string{"application/json"}
	}
	for _, h := range x.reqHead {
		key, value, _ := strings.Cut(h, ": ")
		if key == "Content-Type" {
			req.Header.Del(key)
		}
		if value != "{none}" {
			req.Header[key] = append(req.Header[key], strings.ReplaceAll(value, "{etag}", w.etag))
		}
	}
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatalf("line %d: %v", x.line, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("line %d: the response is incomplete: %v", x.line, err)
	}
	w.keep(x, base, res, body)
	if res.Header.Get("Content-Type") == "application/json" && x.method != "HEAD" && !json.Valid(body) {
		t.Errorf("line %d: the response is not JSON: %q", x.line, body)
	}
}

// keep masks the response, and remembers what later requests refer to.
func (w *world) keep(x *exchange, base string, res *http.Response, body []byte) {
	if seq, err := strconv.Atoi(res.Header.Get("X-Asset-Seq")); err == nil && base == w.write.url {
		w.seq = max(w.seq, seq)
	}
	var page struct {
		Next string `json:"next_cursor"`
		Data struct {
			Next string `json:"next_cursor"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &page) == nil {
		w.cursor = page.Next + page.Data.Next
	}
	w.etag = res.Header.Get("ETag")
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain") {
		body = []byte("{text}") // metrics have their own tests
	}
	masked := x.mask(body)
	x.status, x.head = res.StatusCode, nil
	for _, name := range checkedHeaders {
		for _, v := range res.Header.Values(name) {
			if name == "ETag" && masked {
				v = "{etag}" // it depends on what was masked
			}
			x.head = append(x.head, name+": "+v)
		}
	}
}

// mask sets the body, and masks everything in it that differs between runs. It
// reports whether it masked anything.
func (x *exchange) mask(body []byte) (masked bool) {
	body = bytes.TrimRight(body, "\n")
	x.body = string(body)
	for _, m := range masks {
		body = m.part.ReplaceAll(body, []byte(m.as))
	}
	masked = x.body != string(body)
	x.body = string(body)
	return masked
}

// where returns the base URL and the path that a request goes to.
func (w *world) where(target string) (base, path string) {
	path = strings.ReplaceAll(target, "{next_cursor}", w.cursor)
	for _, to := range []struct{ prefix, cut, base string }{
		{"{write_base_url}", "{write_base_url}", w.write.url},
		{"{read_base_url}", "{read_base_url}", w.read.url},
		{"/v1/read/", "", w.read.url},
		{"/v1/commit", "", w.write.url},
		{"/v1/register/", "", w.write.url},
	} {
		if rest, ok := strings.CutPrefix(path, to.cut); ok && strings.HasPrefix(path, to.prefix) {
			return to.base, rest
		}
	}
	if w.side == "read" {
		return w.read.url, path
	}
	return w.write.url, path
}

// waitForReader waits until the read daemon has applied all commits, so that
// its responses are the same in every run.
func (w *world) waitForReader(t *testing.T) {
	t.Helper()
	req, err := http.NewRequest("GET", fmt.Sprintf("%s/v1/read/freshness?wait=20s&min_seq=%d", w.read.url, w.seq), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+ownToken)
	res, err := w.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("the read daemon did not reach commit %d: %s", w.seq, body)
	}
}

// errorCode returns the code of an error response, or "" for others.
func errorCode(body string) string {
	var answer struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(body), &answer) != nil {
		return ""
	}
	return answer.Error.Code
}
