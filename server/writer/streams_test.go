package writer

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"

	"assetledger/server/httpserver"
)

// The idle streams of one client leave room for those of other clients, and all
// streams leave room for requests.
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
			t.Errorf("stream %d, from %s: accepted %v, want %v", i, c.addr, ok, c.ok)
		}
		if i == 0 {
			first = s
		}
	}
	set.leave(first)
	if !set.enter(from("1.1.1.1:6")) || len(set.open) != 8 {
		t.Errorf("%d streams are open, want 8", len(set.open))
	}
}

// One stream too many is rejected before it is opened. The other streams
// continue.
func TestStreamTooMany(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 4 * 4 * streamClaim * 8 })
	w.post(200, "/v1/commit", world)
	most := w.streams.most / 2 // the maximum for one client
	var open []*testStream
	for range most {
		open = append(open, w.stream(""))
	}
	one := w.stream("")
	if b, _ := io.ReadAll(one.read); one.resp.StatusCode != 503 || (answer{body: string(b)}).code() != "Overloaded" {
		t.Errorf("one stream too many: %s: %s, want Overloaded", one.resp.Status, b)
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
		t.Errorf("in the free place: %s, want 200", s.resp.Status)
	}
}

// If more streams are open than there are places to work, only as many work at
// a time as there are places. Otherwise no stream waits for another.
func TestStreamsTakeTurns(t *testing.T) {
	for open, want := range []int{1: 2, 2: 1} {
		if open == 0 {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			set := newStreams(1 << 30)
			set.working = make(chan struct{}, 1)
			for range open {
				set.enter(&stream{x: &httpserver.Exchange{R: &http.Request{}}})
			}
			working, proceed := 0, make(chan struct{})
			var mu sync.Mutex
			for range 2 {
				go set.work(func() {
					mu.Lock()
					working++
					mu.Unlock()
					<-proceed
				})
			}
			synctest.Wait()
			if working != want {
				t.Errorf("%d streams: %d pieces of work at a time, want %d", open, working, want)
			}
			close(proceed)
			synctest.Wait()
			if working != 2 {
				t.Errorf("%d streams: %d pieces of work were done, want 2", open, working)
			}
		})
	}
}
