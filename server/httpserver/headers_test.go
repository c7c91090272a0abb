package httpserver

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

const (
	anyHead   = "GET / HTTP/1.1\r\nHost: x\r\n"
	largeLine = 60_000 // bytes
)

func nothing(*Exchange) *ledger.Error { return nil }

// A farPipe is one end of an in-memory connection from an address.
type farPipe struct {
	pipeConn
	from string
}

func (c farPipe) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1} }

// headersServer returns the connections of a server, and a function that opens one from
// an address.
func headersServer(t *testing.T, handle Handler) (s *connections, dialFrom func(client string) net.Conn) {
	s, door, _ := boundOf(t, 1000)
	log := slog.New(slog.DiscardHandler)
	routes := []Route{{Method: "GET", Pattern: "/", Handle: handle}, {Method: "POST", Pattern: "/", Handle: handle}}
	srv := NewServer(NewAPI(routes, "test_", &metrics.Registry{}, log), DefaultTimeouts, log)
	go srv.Serve(s)
	t.Cleanup(func() {
		close(door.conns)
		srv.Close()
		synctest.Wait()
	})
	return s, func(from string) net.Conn {
		client, server := net.Pipe()
		t.Cleanup(func() { client.Close() })
		door.conns <- farPipe{pipeConn{server}, from}
		return client
	}
}

// line returns a header line of about the given size, without its line ending.
func line(size int) string { return "X-A: " + strings.Repeat("b", size) }

// TestHeadersAreBounded checks that the unfinished headers of many connections never
// exceed their bound, because the connections with the oldest headers are dropped. An
// older connection that has sent nothing stays open, and its ordinary request is served.
func TestHeadersAreBounded(t *testing.T) {
	for name, head := range map[string]string{
		"long lines": anyHead + line(largeLine),
		"many lines": anyHead + strings.Repeat("a:\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dialFrom := headersServer(t, nothing)
				ordinary := dialFrom("192.0.2.1")
				time.Sleep(time.Millisecond)
				for i := range 300 {
					go io.WriteString(dialFrom("192.0.2.1"), head)
					synctest.Wait()
					if n := s.headers.Load(); n > maxHeaders || n == 0 {
						t.Fatalf("%d connections take %d bytes for headers, want some and at most %d", i+1, n, maxHeaders)
					}
					time.Sleep(time.Millisecond) // each becomes idle at a different time
				}
				if s.dropped.Load() == 0 || s.count() != 301-int(s.dropped.Load()) {
					t.Errorf("%d connections are open, and %d were dropped; want some dropped, and 301 in all", s.count(), s.dropped.Load())
				}
				go io.WriteString(ordinary, anyHead+"\r\n")
				if r, err := http.ReadResponse(bufio.NewReader(ordinary), nil); err != nil || r.StatusCode != 200 {
					t.Errorf("an ordinary request: %v, %v; want 200", r, err)
				}
				time.Sleep(DefaultTimeouts.Header + time.Duration(sweepEvery))
				synctest.Wait()
				if n := s.headers.Load(); n != 0 || s.count() != 1 {
					t.Errorf("after the time for headers, %d connections take %d bytes; want 1 and none", s.count(), n)
				}
			})
		})
	}
}

// TestHeadersLeaveTheirRoom checks that a large header stops counting when it ends,
// however that happens.
func TestHeadersLeaveTheirRoom(t *testing.T) {
	large := line(largeLine)
	for name, test := range map[string]struct {
		send    string
		answers int // with a status of 200
		after   func(net.Conn)
		kept    bool // the connection, for the next request
	}{
		"served, kept":   {send: anyHead + large + "\r\n\r\n", answers: 1, kept: true},
		"served, closed": {send: anyHead + "Connection: close\r\n" + large + "\r\n\r\n", answers: 1},
		"HTTP/1.0":       {send: "GET / HTTP/1.0\r\n" + large + "\r\n\r\n", answers: 1},
		"pipelined":      {send: strings.Repeat(anyHead+large+"\r\n\r\n", 3), answers: 3, kept: true},
		"one by one":     {send: strings.Repeat(anyHead+"\r\n", 100), answers: 100, kept: true},
		"too large":      {send: anyHead + large + "\r\n" + large + "\r\n\r\n"},
		"wrong":          {send: anyHead + large + "\r\nno header\r\n\r\n"},
		"disconnected":   {send: anyHead + large, after: func(c net.Conn) { c.Close() }},
		"too slow":       {send: anyHead + large, after: func(net.Conn) { time.Sleep(DefaultTimeouts.Header + time.Duration(sweepEvery)) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dialFrom := headersServer(t, nothing)
				client := dialFrom("192.0.2.1")
				sent := make(chan bool)
				go func() {
					io.WriteString(client, test.send)
					close(sent)
				}()
				in := bufio.NewReader(client)
				for range test.answers {
					r, err := http.ReadResponse(in, nil)
					if err != nil || r.StatusCode != 200 {
						t.Fatalf("%v, error %v; want 200", r, err)
					}
					io.Copy(io.Discard, r.Body)
				}
				if test.after != nil {
					<-sent
					synctest.Wait()
					if n := s.headers.Load(); n < largeLine {
						t.Errorf("an unfinished header of %d bytes counts %d, want at least %d", len(test.send), n, largeLine)
					}
					test.after(client)
				} else if test.answers == 0 {
					io.Copy(io.Discard, in)
				}
				if test.kept {
					io.WriteString(client, anyHead) // counts from its own beginning
				}
				synctest.Wait()
				if n := s.headers.Load(); n != 0 || s.dropped.Load() != 0 {
					t.Errorf("%d bytes still count, and %d connections were dropped; want none", n, s.dropped.Load())
				}
			})
		})
	}
}

// TestBodiesAreNoHeaders checks that a body that arrives together with its header does
// not count.
func TestBodiesAreNoHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		done := make(chan bool)
		s, dialFrom := headersServer(t, func(*Exchange) *ledger.Error { <-done; return nil })
		go io.WriteString(dialFrom("192.0.2.1"), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n"+strings.Repeat("\n", 3000))
		synctest.Wait()
		if n := s.headers.Load(); n != 0 {
			t.Errorf("the body of a request in progress counts %d bytes, want none", n)
		}
		close(done)
	})
}

// TestFinishedHeadersMakeRoom checks that a client that fills the room for headers
// loses its own connections, whatever their state, oldest first, and that another
// client's large header is served.
func TestFinishedHeadersMakeRoom(t *testing.T) {
	large := line(largeLine) + "\r\n"
	for name, send := range map[string]string{
		"in progress":                anyHead + large + "\r\n",
		"slow body":                  "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n" + large + "\r\n{",
		"refused, body not sent":     "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n" + large + "\r\n",
		"too large, still connected": anyHead + large + large,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, dialFrom := headersServer(t, func(x *Exchange) *ledger.Error {
					if x.R.Header["X-Served"] == nil {
						x.ReadBody(1000)
						<-x.R.Context().Done()
					}
					return nil
				})
				ended := make(chan int, 300)
				for i := range 300 {
					client := dialFrom("192.0.2.1")
					go io.WriteString(client, send)
					go func() {
						io.Copy(io.Discard, client)
						ended <- i
					}()
					synctest.Wait()
					if n := s.headers.Load(); n > maxHeaders {
						t.Fatalf("%d connections take %d bytes for headers, want at most %d", i+1, n, maxHeaders)
					}
					time.Sleep(time.Microsecond) // each begins at a different time
				}
				dropped := int(s.dropped.Load())
				if dropped == 0 || len(ended) != dropped {
					t.Errorf("%d connections were dropped, and %d ended; want some dropped, and as many ended", dropped, len(ended))
				}
				for range len(ended) {
					if i := <-ended; i >= dropped {
						t.Errorf("connection %d was dropped, want the oldest %d", i+1, dropped)
					}
				}
				other := dialFrom("192.0.2.2")
				go io.WriteString(other, anyHead+"X-Served: yes\r\n"+large+"\r\n")
				if r, err := http.ReadResponse(bufio.NewReader(other), nil); err != nil || r.StatusCode != 200 {
					t.Errorf("another client's request: %v, %v; want 200", r, err)
				}
				time.Sleep(time.Second) // net/http lingers for half a second
			})
		})
	}
}

// TestSmallHeadersAreFree checks that a header that takes less than 4 KiB, including
// the memory for its lines, does not count. A header of few bytes but many lines
// counts, even while its request is in progress.
func TestSmallHeadersAreFree(t *testing.T) {
	for size, head := range map[int64]string{
		0:                                anyHead + line(3000) + "\r\n",
		3*128 + 4200 + 104 - freeBytes:   anyHead + line(4200-len(anyHead)-7) + "\r\n", // 104 bytes exceed net/http's buffer
		902*128 + 25 + 900*4 - freeBytes: anyHead + strings.Repeat("a:b\n", 900),
	} {
		for _, rest := range []string{"", "\r\n"} {
			synctest.Test(t, func(t *testing.T) {
				s, dialFrom := headersServer(t, func(x *Exchange) *ledger.Error {
					<-x.R.Context().Done()
					return nil
				})
				client := dialFrom("192.0.2.1")
				go io.WriteString(client, head+rest)
				synctest.Wait()
				if n := s.headers.Load(); n != size {
					t.Errorf("%.60q and %q count %d bytes, want %d", head, rest, n, size)
				}
				client.Close()
			})
		}
	}
}
