package httpserver

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// A readingConn counts its reads in progress.
type readingConn struct {
	pipeConn
	reading *atomic.Int32
}

func (c readingConn) Read(p []byte) (int, error) {
	c.reading.Add(1)
	defer c.reading.Add(-1)
	return c.pipeConn.Read(p)
}

// TestUnwatch checks that nothing reads from the connection while a handler that does
// not watch its client waits. The requests that follow are read as usual.
func TestUnwatch(t *testing.T) {
	for name, test := range map[string]struct {
		unwatch bool
		writes  []string // each is sent once the previous ones have been answered
		reading int32    // reads in progress while a handler waits
	}{
		"watched":   {false, []string{"A", "B", "C"}, 1},
		"unwatched": {true, []string{"A", "B", "C"}, 0},
		"pipelined": {true, []string{"AB", "CDE", "F"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var reading atomic.Int32
				client := unwatchServer(t, &reading, func(x *Exchange) *ledger.Error {
					if test.unwatch {
						x.Unwatch() // before the body is read, so that the read in the background can't be first
					}
					if err := x.ReadBody(100); err != nil {
						return err
					}
					synctest.Wait()
					if n := reading.Load(); n != test.reading {
						t.Errorf("%d reads are in progress while the handler waits, want %d", n, test.reading)
					}
					if err := x.R.Context().Err(); err != nil {
						t.Error(err)
					}
					x.Out = append(x.Out, x.Body...)
					return nil
				})
				in := bufio.NewReader(client)
				for _, bodies := range test.writes {
					all := ""
					for _, body := range bodies {
						all += "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n" + string(body)
					}
					go io.Copy(client, strings.NewReader(all))
					for _, body := range bodies {
						resp, err := http.ReadResponse(in, nil)
						if err != nil {
							t.Fatal(err)
						}
						if got, err := io.ReadAll(resp.Body); err != nil || string(got) != string(body) {
							t.Errorf("the response to %q is %q, %v; want the same", body, got, err)
						}
					}
				}
			})
		})
	}
}

// TestUnwatchUntilSent checks that, if a handler does not watch its client, nothing
// reads from the connection while the response waits for the client.
func TestUnwatchUntilSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reading atomic.Int32
		client := unwatchServer(t, &reading, func(x *Exchange) *ledger.Error {
			x.Unwatch() // before the body is read, so that the read in the background can't be first
			return x.ReadBody(100)
		})
		io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nA")
		synctest.Wait()
		if n := reading.Load(); n != 0 {
			t.Errorf("%d reads are in progress while the response waits for its client, want none", n)
		}
	})
}

// TestUnwatchEndsWithItsRequest checks that the request that follows in the same
// packet is watched, so its handler learns that the client has disconnected.
func TestUnwatchEndsWithItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reading atomic.Int32
		begun, gone := make(chan struct{}), make(chan bool)
		client := unwatchServer(t, &reading, func(x *Exchange) *ledger.Error {
			if err := x.ReadBody(100); err != nil {
				return err
			}
			if string(x.Body) == "A" {
				synctest.Wait() // the read in the background has begun, so Unwatch does not end it
				x.Unwatch()
				return nil
			}
			begun <- struct{}{}
			select {
			case <-x.R.Context().Done():
			case <-time.After(time.Hour):
			}
			gone <- x.R.Context().Err() != nil
			return nil
		})
		const request = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
		go io.WriteString(client, request+"A"+request+"B")
		if _, err := http.ReadResponse(bufio.NewReader(client), nil); err != nil {
			t.Fatal(err)
		}
		<-begun
		synctest.Wait()
		client.Close()
		if !<-gone {
			t.Error("the handler of the second request did not learn that its client had gone")
		}
	})
}

// unwatchServer returns the client's end of a connection to a server. The parameter
// reading counts the server's reads in progress.
func unwatchServer(t *testing.T, reading *atomic.Int32, handle Handler) (client net.Conn) {
	s, door, _ := boundOf(t, 10)
	var registry metrics.Registry
	log := slog.New(slog.DiscardHandler)
	srv := NewServer(NewAPI([]Route{{Method: "POST", Pattern: "/", Handle: handle}}, "test_", &registry, log), DefaultTimeouts, log)
	go srv.Serve(s)
	client, server := net.Pipe()
	door.conns <- readingConn{pipeConn{server}, reading}
	t.Cleanup(func() {
		client.Close()
		close(door.conns)
		srv.Close()
	})
	return client
}
