package servertest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// Answer returns the response of h to the raw bytes of a request. It returns nil if
// they are not a request that would reach a handler, or announce a body of more than
// 1 MiB. The test fails if the response is malformed or has the status 500.
func Answer(t *testing.T, h http.Handler, raw string) *httptest.ResponseRecorder {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil || r.ContentLength > 1<<20 {
		return nil
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	body := rec.Body.String()
	if rec.Code == 500 {
		t.Fatalf("%q: a defect: %d %s", raw, rec.Code, body)
	}
	page := rec.Code == 200 && !strings.HasPrefix(r.URL.Path, "/v1/")
	if r.Method != http.MethodHead && rec.Code != http.StatusNotModified && !page && !json.Valid([]byte(body)) {
		t.Fatalf("%q: %d and invalid JSON: %q", raw, rec.Code, body)
	}
	if refused := rec.Code == 401 || rec.Code == 403; refused != (rec.Header().Get("WWW-Authenticate") != "") || r.Method != http.MethodHead && refused != strings.HasPrefix(body, `{"error":{"code":"Unauthorized"`) &&
		refused != strings.HasPrefix(body, `{"error":{"code":"Forbidden"`) {
		t.Fatalf("%q: %d, but the header or the code says otherwise: %v %s", raw, rec.Code, rec.Header(), body)
	}
	for name, values := range rec.Header() {
		if len(values) != 1 || strings.ContainsAny(values[0], "\r\n\x00") {
			t.Fatalf("%q: the header %s is %q, want one line", raw, name, values)
		}
	}
	if n := rec.Header().Get("Content-Length"); n != "" && r.Method != http.MethodHead && n != strconv.Itoa(len(body)) {
		t.Fatalf("%q: %s bytes were announced, but %d were sent", raw, n, len(body))
	}
	return rec
}

// A Sink is an http.ResponseWriter that discards everything at no cost, for
// benchmarks of handlers.
type Sink struct{ header http.Header }

func NewSink() *Sink { return &Sink{http.Header{}} }

// Header returns the header. The next WriteHeader clears it.
func (s *Sink) Header() http.Header { return s.header }

func (s *Sink) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader clears the header.
func (s *Sink) WriteHeader(int) { clear(s.header) }
