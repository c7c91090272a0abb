package ctl

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeDaemons sends the responses that a script defines, and records the requests.
type fakeDaemons struct {
	write, read *httptest.Server
	mu          sync.Mutex
	answers     map[string][]fakeAnswer // by method and path
	asked       []string
}

type fakeAnswer struct {
	status string // a number; drop: cut the connection; hang: never respond
	header [][2]string
	body   string
	given  bool
}

func newFakeDaemons(t *testing.T) *fakeDaemons {
	f := &fakeDaemons{answers: map[string][]fakeAnswer{}}
	f.write, f.read = httptest.NewServer(f), httptest.NewServer(f)
	t.Cleanup(func() {
		f.write.Close()
		f.read.Close()
	})
	return f
}

var headerLine = regexp.MustCompile(`^([A-Z][A-Za-z-]*): (.*)$`)

// add parses an answer directive: METHOD PATH STATUS, and its lines.
func (f *fakeDaemons) add(t *testing.T, spec string, lines []string) {
	words := strings.Fields(spec)
	if len(words) != 3 {
		t.Fatalf("answer needs METHOD PATH STATUS, but has %q", spec)
	}
	a := fakeAnswer{status: words[2]}
	for len(lines) > 0 {
		m := headerLine.FindStringSubmatch(lines[0])
		if m == nil {
			break
		}
		a.header = append(a.header, [2]string{m[1], m[2]})
		lines = lines[1:]
	}
	a.body = strings.Join(lines, "\n")
	route := words[0] + " " + words[1]
	f.mu.Lock()
	defer f.mu.Unlock()
	if list := f.answers[route]; len(list) == 1 && list[0].given {
		f.answers[route] = nil
	}
	f.answers[route] = append(f.answers[route], a)
}

// take returns the next response for the route. The last one is repeated until
// another is added.
func (f *fakeDaemons) take(route, asked string) (fakeAnswer, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, asked)
	list := f.answers[route]
	if len(list) == 0 {
		return fakeAnswer{}, false
	}
	next := list[0]
	if len(list) > 1 {
		f.answers[route] = list[1:]
	} else {
		list[0].given = true
	}
	return next, true
}

func (f *fakeDaemons) takeAsked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

func noPath(w http.ResponseWriter) {
	w.WriteHeader(http.StatusNotFound)
	io.WriteString(w, `{"error":{"code":"NotFound","message":"There is nothing at this path.","details":{}}}`)
}

func (f *fakeDaemons) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/commit/stream" { // the fake daemons have no streams, whose bodies would not end
		http.NewResponseController(w).EnableFullDuplex()
		noPath(w)
		return
	}
	if r.URL.Path == "/v1/log" { // they have no log either
		noPath(w)
		return
	}
	body, _ := io.ReadAll(r.Body)
	asked := r.Method + " " + r.URL.RequestURI()
	if key := r.Header.Get("X-Idempotency-Key"); key != "" {
		asked += " key=" + key
	}
	if len(body) > 0 {
		asked += " " + strings.ReplaceAll(strings.TrimRight(string(body), "\n"), "\n", `\n`)
	}
	a, ok := f.take(r.Method+" "+r.URL.Path, asked)
	if !ok {
		noPath(w)
		return
	}
	switch a.status {
	case "drop":
		panic(http.ErrAbortHandler)
	case "hang":
		<-r.Context().Done()
		return
	}
	for _, h := range a.header {
		w.Header().Set(h[0], h[1])
	}
	status, err := strconv.Atoi(a.status)
	if err != nil {
		panic("the status of an answer in a script is not a number: " + err.Error())
	}
	w.WriteHeader(status)
	io.WriteString(w, a.body)
}
