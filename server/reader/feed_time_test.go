package reader

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/server/httpserver"
)

// A pipes is a listener whose connections are in memory. Their deadlines use the time
// of the synctest bubble.
type pipes struct {
	conns chan net.Conn
	end   func() // closes conns, once
}

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p.conns; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { p.end(); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// listenInBubble serves a reader on in-memory connections, in a synctest bubble.
func (r *testReader) listenInBubble(t httpserver.Timeouts) *httptest.Server {
	conns := make(chan net.Conn)
	r.timeouts = t
	s := &httptest.Server{Listener: pipes{conns, sync.OnceFunc(func() { close(conns) })}, Config: httpserver.NewServer(r.api, t, r.log)}
	s.Start()
	r.t.Cleanup(s.Close)
	s.Client().Transport.(*http.Transport).DialContext = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		conns <- server
		return client, nil
	}
	return s
}

var shortTimeouts = httpserver.Timeouts{Read: 200 * time.Millisecond, Write: 200 * time.Millisecond}

// Neither silence nor the server's timeouts for reading and writing end a
// stream.
func TestFeedOutlastsTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMemLog()
		w := newLedgerWriter(t, log)
		w.commit("CreateContainer container_id=1 kind=Standard")
		r := startReader(t, log, func(d *daemon) { d.keepAlive = 60 * time.Millisecond })
		e := follow(t, r.listenInBubble(shortTimeouts), "")
		e.wants(1, 1)
		for range 5 {
			if lines, ok := e.block(); !ok || len(lines) != 1 || lines[0] != ": keep-alive" {
				t.Fatalf("%q, %v; want a comment that keeps the stream alive", lines, e.lines.Err())
			}
		}
		w.commit("CreateContainer container_id=2 kind=Standard")
		e.wants(2, 2)
	})
}

// The server's timeouts for reading and writing do not end a wait for freshness, and
// the wait does not end the connection.
func TestWaitOutlastsTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, log := behind(t)
		s := r.listenInBubble(shortTimeouts)
		status := make(chan int)
		go func() {
			resp, err := s.Client().Get(s.URL + "/v1/read/container/2?min_seq=2&wait=30s")
			if err != nil {
				t.Error(err)
				status <- 0
				return
			}
			resp.Body.Close()
			status <- resp.StatusCode
		}()
		r.untilWaiting(1)
		r.get(425, "/v1/read/classes?min_seq=2&wait=300ms") // longer than the timeouts
		log.release()
		if got := <-status; got != 200 {
			t.Errorf("status %d, want 200", got)
		}
	})
}
