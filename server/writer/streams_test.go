package writer

import (
	"io"
	"net/http"
	"testing"

	"assetledger/server/httpserver"
)

// The idle streams of one client leave room for those of others, and all of them
// leave room for requests.
func TestStreamsAreBounded(t *testing.T) {
	set := newStreams(4 * 8 * streamClaim)
	from := func(addr string) *stream {
		return &stream{x: &httpserver.Exchange{R: &http.Request{RemoteAddr: addr}}}
	}
	var first *stream
	for i, c := range []struct {
		addr string
		ok   bool
	}{{"1.1.1.1:1", true}, {"1.1.1.1:2", true}, {"1.1.1.1:3", true}, {"1.1.1.1:4", true}, {"1.1.1.1:5", false},
		{"2.2.2.2:1", true}, {"3.3.3.3:1", true}, {"3.3.3.3:1", true}, {"4.4.4.4:1", true}, {"5.5.5.5:1", false}} {
		s := from(c.addr)
		if ok := set.enter(s); ok != c.ok {
			t.Errorf("stream %d, of %s: %v", i, c.addr, ok)
		}
		if i == 0 {
			first = s
		}
	}
	set.leave(first)
	if !set.enter(from("1.1.1.1:6")) || len(set.open) != 8 {
		t.Errorf("%d are open", len(set.open))
	}
}

// A stream that is one too many is refused before it is open; the others go on.
func TestStreamTooMany(t *testing.T) {
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 4 * 4 * streamClaim * 8 })
	w.post(200, "/v1/commit", world)
	most := w.streams.most / 2 // all are of one client
	var open []*testStream
	for range most {
		open = append(open, w.stream(""))
	}
	one := w.stream("")
	if b, _ := io.ReadAll(one.read); one.resp.StatusCode != 503 || (answer{body: string(b)}).code() != "Overloaded" {
		t.Errorf("%s: %s", one.resp.Status, b)
	}
	for _, s := range open {
		s.send(transferTx(1, ""))
		s.line()
	}
	w.post(200, "/v1/commit", transferTx(1, ""))
	open[0].body.Close()
	open[0].rest()
	until(t, "a place is free", func() bool { w.streams.mu.Lock(); defer w.streams.mu.Unlock(); return len(w.streams.open) == most-1 })
	if s := w.stream(""); s.resp.StatusCode != 200 {
		t.Error(s.resp.Status)
	}
}
