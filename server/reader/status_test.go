package reader

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/auth"
	"assetledger/server/httpserver"
)

// writersAt returns the clients that newWriters makes for a -write-url with the
// given addresses.
func writersAt(t *testing.T, urls ...string) writers {
	t.Helper()
	list, err := newWriters(&Config{WriteURL: strings.Join(urls, ",")})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// fakeWriter starts a server that answers each path with a given status and body,
// or with a redirect, and returns its URL.
func fakeWriter(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("a token was sent")
		}
		if to, ok := strings.CutPrefix(answers[r.URL.Path], "to "); ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		var status int
		var body string
		fmt.Sscanf(answers[r.URL.Path], "%d", &status)
		_, body, _ = strings.Cut(answers[r.URL.Path], " ")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

const commitLog = `"commit_log":{"end_seq":7,"checkpoint_seq":5,"lag":2,"driver":{"name":"file","path":"/secret"},"readers":[{"name":"a","checkpoint_seq":5,"lag":2}],` +
	`"mirrors":[{"name":"m","seq":6,"lag":1,"url":"http://elsewhere"}]}`

// statusOf returns the data of the response to a status request.
func (r *testReader) statusOf(headers ...string) (data struct {
	Read, Log        map[string]any
	Readers, Mirrors []map[string]any
	Write            []map[string]any
}) {
	r.t.Helper()
	r.watch.at = time.Time{}
	var answer struct{ Data any }
	answer.Data = &data
	if err := json.Unmarshal([]byte(r.get(200, "/v1/status", headers...)), &answer); err != nil {
		r.t.Fatal(err)
	}
	return data
}

// TestStatusOfWriteDaemons checks what the status reports about whatever responds
// at an address in -write-url.
func TestStatusOfWriteDaemons(t *testing.T) {
	t.Parallel()
	elsewhere := fakeWriter(t, map[string]string{"/v1/health": `200 {"status":"healthy",` + commitLog + `}`})
	for name, c := range map[string]struct {
		answers        map[string]string
		status, reason string
	}{
		"healthy":                {map[string]string{"/v1/health": `200 {"status":"healthy",` + commitLog + `}`}, "healthy", ""},
		"standby":                {map[string]string{"/v1/health": `200 {"status":"healthy","role":"standby",` + commitLog + `}`}, "healthy", ""},
		"commits rejected":       {map[string]string{"/v1/health": `503 {"status":"degraded",` + commitLog + `}`, "/v1/readyz": `503 {"status":"not_ready","reason":"The disk is full."}`}, "degraded", "The disk is full."},
		"a reader lags":          {map[string]string{"/v1/health": `503 {"status":"degraded",` + commitLog + `}`, "/v1/readyz": `200 {"status":"ready"}`}, "degraded", "It accepts commits, but"},
		"a read daemon":          {map[string]string{"/v1/health": `200 {"status":"healthy","freshness":{"checkpoint_seq":1,"commit_log_seq":1,"lag":0}}`}, "unreachable", notTheLedgers},
		"another program":        {map[string]string{"/v1/health": `200 <html>`}, "unreachable", notTheLedgers},
		"another status":         {map[string]string{"/v1/health": `200 {"status":"<b>",` + commitLog + `}`}, "unreachable", notTheLedgers},
		"a negative number":      {map[string]string{"/v1/health": `200 {"status":"healthy","commit_log":{"end_seq":-1}}`}, "unreachable", notTheLedgers},
		"an error":               {map[string]string{"/v1/health": `500 {"status":"healthy",` + commitLog + `}`}, "unreachable", notTheLedgers},
		"a response without end": {map[string]string{"/v1/health": `200 {"status":"healthy",` + commitLog + `}` + strings.Repeat(" ", maxHealth)}, "unreachable", notTheLedgers},
		"a redirect":             {map[string]string{"/v1/health": "to " + elsewhere + "/v1/health"}, "unreachable", notTheLedgers},
	} {
		t.Run(name, func(t *testing.T) {
			at := fakeWriter(t, c.answers)
			r := startReader(t, newMemLog(), func(d *daemon) { d.watch.writers = writersAt(t, at) })
			got := r.statusOf().Write[0]
			reason, _ := got["reason"].(string)
			if got["status"] != c.status || !strings.HasPrefix(reason, c.reason) || (reason == "") != (c.reason == "") || got["url"] != at {
				t.Errorf("%v, want %s at %s, for the reason %q", got, c.status, at, c.reason)
			}
			if (got["commit_log"] == nil) != (c.status == "unreachable") {
				t.Errorf("commit_log is %v, and the status is %s", got["commit_log"], c.status)
			}
		})
	}
	r := startReader(t, newMemLog(), func(d *daemon) {
		d.watch.writers = writersAt(t, strings.TrimPrefix(elsewhere, "http://"), "http://127.0.0.1:1")
	})
	data := r.statusOf()
	want := map[string]any{"end_seq": 7.0, "checkpoint_seq": 5.0, "lag": 2.0, "readers": []any{map[string]any{"name": "a", "checkpoint_seq": 5.0, "lag": 2.0}},
		"mirrors": []any{map[string]any{"name": "m", "seq": 6.0, "lag": 1.0, "url": "http://elsewhere"}}}
	if diff := cmp.Diff(want, data.Write[0]["commit_log"]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if why, _ := data.Write[1]["reason"].(string); data.Write[1]["status"] != "unreachable" || !strings.HasPrefix(why, "No response: dial tcp") {
		t.Errorf("where no daemon listens: %v, want unreachable, because there is no response", data.Write[1])
	}
}

// TestStatusHidesFromStrangers checks that a token limited to owners sees no
// address and no directory.
func TestStatusHidesFromStrangers(t *testing.T) {
	text := ""
	for name, rest := range map[string]string{"all": "metrics", "seven": "metrics owners=7", "reader": "read"} {
		text += fmt.Sprintf("%s sha256:%x %s\n", name, auth.HashToken("token-of-"+name), rest)
	}
	table, err := auth.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ill := fakeWriter(t, map[string]string{"/v1/health": `503 {"status":"degraded",` + commitLog + `}`, "/v1/readyz": `503 {"reason":"The file /secret is full."}`})
	r := startReader(t, newMemLog(), func(d *daemon) {
		d.watch.dir, d.watch.writers, d.api.Gate = dir, writersAt(t, ill, "http://127.0.0.1:1"), httpserver.NewGate("auth", table, slog.New(slog.DiscardHandler))
	})
	r.get(401, "/v1/status")
	r.get(403, "/v1/status", "Authorization: Bearer token-of-reader")
	r.get(400, "/v1/status?x=1", "Authorization: Bearer token-of-all")
	secrets := []string{dir, "127.0.0.1", "secret", "elsewhere"}
	all, limited := fmt.Sprint(r.statusOf("Authorization: Bearer token-of-all")), fmt.Sprint(r.statusOf("Authorization: Bearer token-of-seven"))
	for _, secret := range secrets {
		if !strings.Contains(all, secret) {
			t.Errorf("a token for all is not told %q: %s", secret, all)
		}
		if strings.Contains(limited, secret) {
			t.Errorf("a limited token is told %q: %s", secret, limited)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestStatusAsksOneAtATime checks that a slow write daemon gets one request at
// a time, however many clients ask for the status, and that a request without
// a response times out.
func TestStatusAsksOneAtATime(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var now, most, asked atomic.Int32
		takes := time.Second
		list := writersAt(t, "http://writer")
		list[0].client.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			select {
			case <-time.After(takes):
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
			return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(`{"status":"healthy",` + commitLog + `}`))}, nil
		})
		w := newStatusWatch(&Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		w.writers = list
		all := func() {
			var looking sync.WaitGroup
			for range 8 {
				looking.Go(func() { w.look(nil) })
			}
			looking.Wait()
		}
		all()
		if most.Load() != 1 || asked.Load() != 1 || w.last.writers[0].status != healthy {
			t.Errorf("%d requests, %d at once, want one: %+v", asked.Load(), most.Load(), w.last.writers)
		}
		time.Sleep(statusAge)
		all()
		if asked.Load() != 2 {
			t.Errorf("%d requests, want one more", asked.Load())
		}
		time.Sleep(statusAge)
		takes = time.Hour
		began := time.Now()
		w.look(nil)
		if took := time.Since(began); took != askWriter || w.last.writers[0].reason != "No response within 2s." {
			t.Errorf("after %v: %+v, want a timeout after %v", took, w.last.writers, askWriter)
		}
	})
}
