package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestHostileStreams attacks a write daemon with streams of commits. At the
// same time, a well-behaved client continues.
func TestHostileStreams(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	t.Cleanup(v.finish) // after all attacks, which run at the same time
	one := func(name string, attack func(v *victim)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sub := *v
			sub.T = t
			attack(&sub)
		})
	}
	other := strings.Replace(goodCommit, `"key":0`, `"key":7`, 1) // not the units that the good client counts
	// Long lines get results of the same length, which soon fill the 5 MiB that the
	// sockets hold, however slow the disk is.
	long := strings.TrimSuffix(other, "}") + `,"metadata":{"x":"` + strings.Repeat("x", 4000) + `"}}`
	for name, line := range map[string]string{"never reads long results": long + "\n", "never reads short results": "1\n"} {
		one(name, func(v *victim) {
			c := v.openStream()
			c.SetReadBuffer(4096)
			text := strings.Repeat(line, 20_000/len(line)+1)
			var err error
			for err == nil {
				_, err = fmt.Fprintf(c, "%x\r\n%s\r\n", len(text), text)
			}
			c.isDropped()
		})
	}
	one("an endless line", func(v *victim) {
		c := v.openStream()
		go func() {
			for {
				if _, err := fmt.Fprintf(c, "1000\r\n%04096d\r\n", 0); err != nil {
					return
				}
			}
		}()
		if codes := c.codes(); fmt.Sprint(codes) != "[PayloadTooLarge]" {
			v.Errorf("the results are %q, want only PayloadTooLarge", codes)
		}
	})
	one("silent, in the middle of a line", func(v *victim) {
		c := v.openStream()
		c.sendChunk(other + "\n" + other[:20])
		if codes := c.codes(); fmt.Sprint(codes) != "[ MalformedJSON]" {
			v.Errorf("the results are %q, want a commit and MalformedJSON", codes)
		}
	})
	one("a byte now and then", func(v *victim) { // this is not silence: the client may continue until the line is too long
		c := v.openStream()
		for i := range 80 {
			c.sendChunk(other[i : i+1])
		}
		c.sendChunk(other[80:] + "\n")
		if status := c.result(); status != "" {
			v.Errorf("the result is %s, want a commit", status)
		}
	})
	one("half closed, cut in the middle of a line", func(v *victim) {
		c := v.openStream()
		c.send(fmt.Sprintf("%x\r\n%s\n%s", 2*len(other)+2, other, other[:50]))
		c.CloseWrite()
		if codes := c.codes(); fmt.Sprint(codes) != "[ MalformedJSON]" {
			v.Errorf("the results are %q, want a commit and MalformedJSON", codes)
		}
	})
	one("gone in the middle of a line", func(v *victim) {
		before := v.metric(v.w, `asset_ledger_write_requests_total{route="/v1/commit/stream",status="200"}`)
		c := v.openStream()
		c.SetLinger(0)
		c.sendChunk(other + "\n" + other[:50])
		c.Close()
		awaits(v.T, "the stream is over", func() bool {
			return v.metric(v.w, `asset_ledger_write_requests_total{route="/v1/commit/stream",status="200"}`) > before
		})
	})
	one("a million empty lines", func(v *victim) {
		c := v.openStream()
		go func() {
			for range 100 {
				c.sendChunk(strings.Repeat("\n", 10_000))
			}
			c.sendChunk(other + "\n")
			c.send("0\r\n\r\n")
		}()
		if codes := c.codes(); len(codes) != 1 || codes[0] != "" {
			v.Errorf("the results are %q, want one commit", codes)
		}
	})
	one("more than may be idle", func(v *victim) {
		refused := 0
		var all []*rawConn
		for range 200 { // idle streams get a quarter of 128 MiB, which is 256 streams, and one client gets half of that
			c := v.dial(v.w)
			c.send(streamHead) // to all of them before the first has been silent for too long
			all = append(all, c)
		}
		for _, c := range all {
			res, err := http.ReadResponse(c.in, nil)
			if err != nil {
				v.Fatal(err)
			}
			if res.StatusCode == 503 {
				refused++
			}
		}
		if refused < 60 {
			v.Errorf("%d of 200 streams were rejected, want at least 60", refused)
		}
	})
}

const streamHead = "POST /v1/commit/stream HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"

// A hostileStream is an open stream.
type hostileStream struct {
	*rawConn
	results *bufio.Reader
}

// openStream opens a stream as soon as there is a place for one.
func (v *victim) openStream() *hostileStream {
	v.Helper()
	var s *hostileStream
	awaits(v.T, "a stream opens", func() bool {
		c := v.dial(v.w)
		c.send(streamHead)
		res, err := http.ReadResponse(c.in, nil)
		if err != nil {
			v.Fatal(err)
		}
		s = &hostileStream{c, bufio.NewReader(res.Body)}
		return res.StatusCode == 200
	})
	return s
}

func (c *hostileStream) sendChunk(text string) { c.send(fmt.Sprintf("%x\r\n%s\r\n", len(text), text)) }

// result returns the code of the next result, or "" for a commit.
func (c *hostileStream) result() string {
	c.t.Helper()
	line, err := c.results.ReadString('\n')
	if err != nil {
		c.t.Errorf("the response broke off after %q: %v", line, err)
	}
	return errorCode(line)
}

// codes returns the codes of all results up to the end of the response, which
// must be complete.
func (c *hostileStream) codes() (codes []string) {
	c.t.Helper()
	for {
		line, err := c.results.ReadString('\n')
		if err == io.EOF && line == "" {
			return codes
		}
		if err != nil {
			c.t.Errorf("the response broke off after %q: %v", line, err)
			return codes
		}
		codes = append(codes, errorCode(line))
	}
}
