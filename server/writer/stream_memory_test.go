package writer

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/server/httpserver"
)

// longLine returns a line with n operations, about 80 bytes each.
func longLine(n int) string {
	op := `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}`
	return `{"operations":[` + strings.Repeat(op+",", n-1) + op + "]}\n"
}

// TestLongLinesGoOnWithoutMemory checks that streams whose long lines together fill
// the budget go on one after another: none waits forever, and none fails.
func TestLongLinesGoOnWithoutMemory(t *testing.T) {
	const streams = 12
	line := longLine(9_000)
	first := 600_000
	inBubbleOf(t, func(c *Config) { c.MaxInflight = 16 << 20 }, func(d *daemon, dial func() net.Conn) {
		conn := dial()
		resp := openStream(t, conn)
		sendChunk(t, conn, oneLine(world)+"\n")
		io.ReadFull(resp.Body, make([]byte, 1))

		var clients []net.Conn
		var results sync.WaitGroup
		for range streams {
			conn := dial()
			resp := openStream(t, conn)
			clients = append(clients, conn)
			results.Go(func() {
				b, err := io.ReadAll(resp.Body)
				if got := codes(splitLines(string(b))); err != nil || len(got) != 1 || len(got[0]) > 2 {
					t.Errorf("error %v, results %.200q; want one commit", err, b)
				}
			})
		}
		part := func(text string) {
			var sent sync.WaitGroup
			for _, conn := range clients {
				sent.Go(func() { sendChunk(t, conn, text) })
			}
			sent.Wait()
		}
		part(line[:first])
		synctest.Wait()
		if held := d.budget.Used(); held < streams*1<<20 {
			t.Errorf("the first parts hold %d bytes, want at least 1 MiB each", held)
		}
		var sent sync.WaitGroup
		for _, conn := range clients {
			sent.Go(func() {
				sendChunk(t, conn, line[first:])
				fmt.Fprint(conn, "0\r\n\r\n")
			})
		}
		sent.Wait()
		results.Wait()
		if n := len(d.streams.overdraft); n != 0 {
			t.Error("a stream has overdrawn the budget and not repaid it")
		}
	})
}

// TestSlowLongLineEnds checks that a stream whose long line trickles in is ended while
// others wait for memory, that its client gets an error, and that its memory is
// released.
func TestSlowLongLineEnds(t *testing.T) {
	inBubbleOf(t, func(c *Config) { c.MaxInflight, c.Timeouts = 4<<20, httpserver.DefaultTimeouts }, func(d *daemon, dial func() net.Conn) {
		conn := dial()
		resp := openStream(t, conn)
		sendChunk(t, conn, longLine(9_000)[:200_000])
		stop := make(chan struct{})
		go func() { // one byte every half second
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Second / 2):
				}
				if _, err := io.WriteString(conn, "1\r\n1\r\n"); err != nil {
					return
				}
			}
		}()
		var reader sync.WaitGroup // a pipe has no buffer: a client that doesn't read is slow as well
		reader.Go(func() {
			b, err := io.ReadAll(resp.Body)
			if got := codes(splitLines(string(b))); err != nil || !slices.Equal(got, []string{"MalformedJSON"}) || !strings.Contains(string(b), "too slowly") {
				t.Errorf("error %v, results %q; want MalformedJSON, because the line came too slowly", err, b)
			}
		})
		time.Sleep(5 * time.Second)
		wait := d.budget.Claim()
		if !wait.Grow(4<<20 - 300<<10) {
			t.Error("the slow line keeps its memory")
		}
		reader.Wait()
		close(stop)
		wait.Release()
	})
}

// bodyFunc is a body without an end.
type bodyFunc func(b []byte) (int, error)

func (f bodyFunc) Read(b []byte) (int, error) { return f(b) }
func (f bodyFunc) Close() error               { return nil }

// TestLongLineEndedBeforeItGrows checks that a stream ends with an error if the budget
// ends it just when more of its line arrives.
func TestLongLineEndedBeforeItGrows(t *testing.T) {
	inBubbleOf(t, func(c *Config) { c.MaxInflight = 4 << 20 }, func(d *daemon, dial func() net.Conn) {
		s := &stream{d: d, more: d.budget.Claim()}
		reads := 0
		body := bodyFunc(func(b []byte) (int, error) {
			if reads++; reads == 2 {
				time.Sleep(5 * time.Second)
				wait := d.budget.Claim()
				wait.Grow(4<<20 - 200<<10)
				wait.Release()
			}
			return len(b), nil
		})
		w := httptest.NewRecorder()
		s.x = &httpserver.Exchange{R: &http.Request{Body: body}, W: w}
		s.control = http.NewResponseController(w)
		err := s.receive()
		s.more.Release()
		if err != tooSlow || reads != 2 {
			t.Errorf("after %d reads: %v, want %v after 2", reads, err, tooSlow)
		}
	})
}
