package reader

import (
	"assetledger/server/httpserver"
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listen serves a reader on real connections, with the given timeouts.
func (r *testReader) listen(t httpserver.Timeouts) *httptest.Server {
	s := httptest.NewUnstartedServer(nil)
	r.timeouts = t
	s.Config = httpserver.NewServer(r.api, t, r.log)
	s.Start()
	r.t.Cleanup(s.Close)
	return s
}

// An eventStream is a client of the feed.
type eventStream struct {
	t     *testing.T
	lines *bufio.Scanner
	leave context.CancelFunc
	resp  *http.Response
}

func follow(t *testing.T, s *httptest.Server, query string, headers ...string) *eventStream {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "GET", s.URL+"/v1/read/commits"+query, nil)
	req.Header.Set("Accept", "text/html;q=0.1, text/event-stream")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("X-Asset-Seq") == "" {
		t.Fatalf("%d %v, want 200, a stream of events and X-Asset-Seq", resp.StatusCode, resp.Header)
	}
	t.Cleanup(func() { leave(); resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &eventStream{t: t, lines: lines, leave: leave, resp: resp}
}

// block returns the lines up to the next empty line. ok is false at the end of
// the stream.
func (e *eventStream) block() (lines []string, ok bool) {
	for e.lines.Scan() {
		if e.lines.Text() == "" {
			return lines, true
		}
		lines = append(lines, e.lines.Text())
	}
	return lines, false
}

// wants reads the events of the commits from..to, skipping comments.
func (e *eventStream) wants(from, to uint64) {
	e.t.Helper()
	for seq := from; seq <= to; {
		lines, ok := e.block()
		if !ok {
			e.t.Fatalf("the stream ended before commit %d: %v", seq, e.lines.Err())
		}
		if len(lines) == 1 && lines[0] == ": keep-alive" {
			continue
		}
		var commit struct {
			Seq uint64 `json:"global_seq"`
		}
		if len(lines) != 2 || lines[0] != fmt.Sprintf("id: %d", seq) || !strings.HasPrefix(lines[1], "data: ") ||
			json.Unmarshal([]byte(lines[1][len("data: "):]), &commit) != nil || commit.Seq != seq {
			e.t.Fatalf("in place of commit %d: %q", seq, lines)
		}
		seq++
	}
}

func TestFeed(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	exampleLedger(w)
	end := w.state.Seq()
	r := startReader(t, log)
	s := r.listen(httpserver.DefaultTimeouts)
	all := follow(t, s, "")
	all.wants(1, end)
	resumed := follow(t, s, "?after=1", "Last-Event-ID: 9")
	resumed.wants(10, end)
	after := follow(t, s, fmt.Sprintf("?after=%d", end+1))
	body := transactionOf(t, "CreateContainer container_id=50 kind=Standard")
	w.batch(body, transactionOf(t, "RemoveContainer container_id=50"))
	all.wants(end+1, end+2)
	resumed.wants(end+1, end+2)
	after.wants(end+2, end+2)
	// An event contains a commit as the list shows it.
	list := r.get(200, fmt.Sprintf("/v1/read/commits?after=%d", end+1))
	one := follow(t, s, fmt.Sprintf("?after=%d", end+1))
	lines, _ := one.block()
	if data := strings.TrimPrefix(lines[1], "data: "); !strings.Contains(list, `"commits":[`+data+`]`) {
		t.Errorf("the event %s is not the list's %s", data, list)
	}
	one.leave()
	after.leave()
	for r.streams.Opened() != 2 {
		runtime.Gosched() // until the streams of the disconnected clients are released
	}
	r.drain()
	for _, e := range []*eventStream{all, resumed} {
		if lines, ok := e.block(); ok || e.lines.Err() != nil {
			t.Errorf("after the daemon stopped: %q, %v; want the end of the stream", lines, e.lines.Err())
		}
	}
}

func TestFeedIsRefused(t *testing.T) {
	log := newMemLog()
	newLedgerWriter(t, log).commit("CreateContainer container_id=1 kind=Standard")
	r := startReader(t, log)
	for _, c := range []struct {
		query, header string
		status        int
		names         string
	}{
		{"?limit=1", "", 400, "limit"},
		{"?cursor=AQYAAAAAAAAABAAAAAAAAAAA", "", 400, "cursor"},
		{"?order=oldest", "", 400, "order"},
		{"?before=3", "", 400, "before"},
		{"?idempotency_key=k", "", 400, "idempotency_key"},
		{"?after=x", "", 400, "after"},
		{"", "Last-Event-ID: x", 400, "Last-Event-ID"},
		{"", "Last-Event-ID: -1", 400, "Last-Event-ID"},
		{"?min_seq=2", "", 425, ""},
	} {
		headers := []string{"Accept: text/event-stream"}
		if c.header != "" {
			headers = append(headers, c.header)
		}
		got := r.get(c.status, "/v1/read/commits"+c.query, headers...)
		if c.names != "" && !strings.Contains(got, `"details":{"parameter":"`+c.names+`"}`) {
			t.Errorf("%s %s: %s does not name %s", c.query, c.header, got, c.names)
		}
	}
	if rec := r.do("HEAD", "/v1/read/commits", "Accept: text/event-stream"); rec.Code != 200 || rec.Header().Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v, want 200 and a stream of events", rec.Code, rec.Header())
	}
}

func TestWantsEvents(t *testing.T) {
	for accept, want := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream; charset=utf-8": true, "application/json, text/event-stream;q=0.5": true,
		"": false, "*/*": false, "application/json": false, "text/event-streams": false,
	} {
		if wantsEvents([]string{"x/y", accept}) != want {
			t.Errorf("Accept %q: %v, want %v", accept, !want, want)
		}
	}
}

// TestStreamsMakeRoom checks that a new stream ends the oldest stream of the client
// that has the most streams. If no other client has more than the client of the new
// stream, it ends the oldest stream of that client.
func TestStreamsMakeRoom(t *testing.T) {
	var ended []string
	s := httpserver.Streams{Max: 4}
	enter := func(client, name string) *httpserver.Stream {
		return s.Enter(client, func() { ended = append(ended, name) })
	}
	enter("a", "a1")
	enter("b", "b1")
	a2 := enter("a", "a2")
	enter("a", "a3")
	enter("c", "c1") // ends a1
	enter("b", "b2") // ends a2; b1 is accepted too, because with b2, a and b have two streams each
	if want := []string{"a1", "a2"}; !cmp.Equal(ended, want) && !cmp.Equal(ended, []string{"a1", "b1"}) {
		t.Errorf("the streams %v were ended, want a1, and a2 or b1", ended)
	}
	s.Leave(a2)
	if got := s.Opened(); got > 4 || got < 3 {
		t.Errorf("%d streams are open, want 3 or 4", got)
	}
	s, ended = httpserver.Streams{Max: 1}, nil
	first := enter("a", "first")
	enter("a", "second")
	s.Leave(first) // again, which must do nothing
	if !cmp.Equal(ended, []string{"first"}) || s.Opened() != 1 {
		t.Errorf("the streams %v were ended, and %d are open; want first, and 1", ended, s.Opened())
	}
}

// TestFeedMakesRoom checks that streams of clients that have stopped reading block no
// other client. A client whose stream is ended can continue where the stream
// ended.
func TestFeedMakesRoom(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	end := w.commit("CreateContainer container_id=50 kind=Standard")
	r := startReader(t, log, func(d *daemon) { d.streams.Max = 3 })
	r.until(end)
	s := r.listen(httpserver.DefaultTimeouts)
	var silent []*eventStream
	for range 3 {
		f := follow(t, s, "")
		f.wants(1, 1) // otherwise it may be ended before it has responded
		silent = append(silent, f)
	}
	reads := follow(t, s, "")
	reads.wants(1, 1)
	if lines, ok := silent[0].block(); ok || silent[0].lines.Err() != nil {
		t.Errorf("the oldest stream continues: %q %v", lines, silent[0].lines.Err())
	}
	next := w.commit("CreateContainer container_id=51 kind=Standard")
	reads.wants(next, next)
	follow(t, s, "", fmt.Sprintf("Last-Event-ID: %d", end)).wants(next, next)
	if n := r.streams.Opened(); n != 3 {
		t.Errorf("%d streams are open, want 3", n)
	}
}
