package writer

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// A pipeListener accepts connections in memory. Their deadlines use the time of
// the synctest bubble in which they are created.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	c, open := <-l
	if !open {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.UnixAddr{} }

// inBubble runs a write daemon with fake time, and calls test with a connection to it.
func inBubble(t *testing.T, timeouts httpserver.Timeouts, test func(d *daemon, conn net.Conn)) {
	inBubbleOf(t, func(c *Config) { c.Timeouts = timeouts }, func(d *daemon, dial func() net.Conn) { test(d, dial()) })
}

// inBubbleOf does the same with other settings, and any number of connections.
func inBubbleOf(t *testing.T, configure func(*Config), test func(d *daemon, dial func() net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		c := DefaultConfig()
		c.Log = silent
		configure(&c)
		d := newDaemon(c, newRAMLog(), ledger.NewState(ledger.Config{IdempotencyKeys: 100}), func() { panic("exit") })
		listener := make(pipeListener)
		srv := &http.Server{Handler: d.api}
		go srv.Serve(listener)
		var clients []net.Conn
		test(d, func() net.Conn {
			client, server := net.Pipe()
			listener <- server
			clients = append(clients, client)
			return client
		})
		for _, client := range clients {
			client.Close()
		}
		close(listener)
		d.seq().stop()
		srv.Close()
		time.Sleep(time.Second) // net/http lingers as well
		synctest.Wait()
		if held := d.budget.Used(); held != 0 {
			t.Errorf("%d bytes are still held", held)
		}
	})
}

func openStream(t *testing.T, conn net.Conn) *http.Response {
	t.Helper()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nTransfer-Encoding: chunked\r\n\r\n", streamPattern, typeLines)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, error %v; want 200", resp, err)
	}
	return resp
}

func sendChunk(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text); err != nil {
		t.Fatal(err)
	}
}

// TestStreamSilence checks that -read-timeout limits the time between two
// reads, so an occasional empty line keeps a stream open indefinitely.
func TestStreamSilence(t *testing.T) {
	inBubble(t, httpserver.Timeouts{Read: 30 * time.Second}, func(d *daemon, conn net.Conn) {
		resp := openStream(t, conn)
		for range 100 {
			time.Sleep(29 * time.Second)
			sendChunk(t, conn, "\n")
		}
		sendChunk(t, conn, oneLine(world)+"\n{")
		began := time.Now()
		b, err := io.ReadAll(resp.Body)
		if got := codes(splitLines(string(b))); err != nil || !slices.Equal(got, []string{"1", "MalformedJSON"}) {
			t.Errorf("error %v, results %q; want 1, MalformedJSON", err, b)
		}
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("silence ended the stream after %v, want 30s", took)
		}
		if !strings.Contains(string(b), "Nothing was received for 30s") || !strings.Contains(string(b), `"lines_answered":1`) {
			t.Errorf("%s does not say how long nothing was received, and after how many lines", b)
		}
	})
}

// TestStreamUnreadIsCut checks that -write-timeout limits each write. A client
// that reads no results is cut off, and one that reads some in time is not.
func TestStreamUnreadIsCut(t *testing.T) {
	inBubble(t, httpserver.Timeouts{Write: 90 * time.Second}, func(d *daemon, conn net.Conn) {
		resp := openStream(t, conn)
		lines := bufio.NewReader(resp.Body)
		for range 5 {
			sendChunk(t, conn, "[]\n")
			time.Sleep(89 * time.Second)
			if line, err := lines.ReadString('\n'); err != nil {
				t.Fatalf("reading a result: %q, %v", line, err)
			}
		}
		sendChunk(t, conn, "[]\n")
		time.Sleep(91 * time.Second)
		if rest, err := io.ReadAll(lines); err == nil {
			t.Errorf("the response ended as if it were whole: %q", rest)
		}
	})
}

// TestStreamLingers checks that a stream that the daemon ends keeps reading for
// a moment, and then no longer waits for its client.
func TestStreamLingers(t *testing.T) {
	inBubble(t, httpserver.DefaultTimeouts, func(d *daemon, conn net.Conn) {
		resp := openStream(t, conn)
		began := time.Now()
		d.drain()
		b, err := io.ReadAll(resp.Body)
		if got := codes(splitLines(string(b))); err != nil || !slices.Equal(got, []string{"ShuttingDown"}) || !strings.Contains(string(b), `"lines_answered":0`) {
			t.Errorf("error %v, results %q; want ShuttingDown with lines_answered 0", err, b)
		}
		if took := time.Since(began); took != lingerTime {
			t.Errorf("the response ended after %v, want %v", took, lingerTime)
		}
	})
}
