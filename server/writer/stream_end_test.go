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
	"time"

	"assetledger/server/auth"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// A rawStream is a client that writes and reads raw HTTP.
type rawStream struct {
	*net.TCPConn
	t    testing.TB
	read *bufio.Reader
}

// raw opens a stream with the given header lines, and reads the header of the
// response.
func (w *testWriter) raw(header ...string) (*rawStream, *http.Response) {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.srv.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	s := &rawStream{conn.(*net.TCPConn), w.t, bufio.NewReader(conn)}
	s.put("POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nTransfer-Encoding: chunked\r\n%s\r\n", streamPattern, typeLines, strings.Join(append(header, ""), "\r\n"))
	return s, s.response()
}

func (s *rawStream) put(format string, args ...any) {
	s.t.Helper()
	if _, err := fmt.Fprintf(s, format, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *rawStream) chunk(text string) { s.put("%x\r\n%s\r\n", len(text), text) }

func (s *rawStream) response() *http.Response {
	s.t.Helper()
	resp, err := http.ReadResponse(s.read, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// results reads the rest of a response, which must end correctly.
func (s *rawStream) results(resp *http.Response) []string {
	s.t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Errorf("the response does not end correctly: %v after %q", err, b)
	}
	return codes(splitLines(string(b)))
}

// awaitBlocks waits until the open stream has n judged blocks in flight.
func (w *testWriter) awaitBlocks(n int) {
	w.t.Helper()
	until(w.t, "the blocks are judged", func() bool {
		have := 0
		w.streams.mu.Lock()
		defer w.streams.mu.Unlock()
		for s := range w.streams.open {
			s.mu.Lock()
			have += s.inFlight
			s.mu.Unlock()
		}
		return have == n && w.seq().intake.depth() == 0
	})
}

func (w *testWriter) wantEmpty() {
	w.t.Helper()
	until(w.t, "all memory is released", func() bool { return w.budget.Used() == 0 })
}

// However the body ends, lines that arrived completely are executed and
// answered. An incomplete line is not.
func TestStreamBodyEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about string
		end   func(*rawStream)
		want  []string
	}{
		{"the final chunk", func(s *rawStream) { s.put("0\r\n\r\n") }, []string{"2", "3"}},
		{"the final chunk, and the sending side is shut down", func(s *rawStream) { s.put("0\r\n\r\n"); s.CloseWrite() }, []string{"2", "3"}},
		{"shut down without a final chunk", func(s *rawStream) { s.CloseWrite() }, []string{"2", "MalformedJSON"}},
		{"shut down within a chunk", func(s *rawStream) { s.put("1000\r\n"); s.CloseWrite() }, []string{"2", "MalformedJSON"}},
		{"an invalid chunk", func(s *rawStream) { s.put("nonsense\r\n") }, []string{"2", "MalformedJSON"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			w := startWriter(t, newRAMLog())
			w.post(200, "/v1/commit", world)
			s, resp := w.raw()
			s.chunk(transferTx(1, "") + "\n" + transferTx(2, ""))
			c.end(s)
			if got := s.results(resp); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			w.wantEmpty()
		})
	}
}

// A client that sends Expect: 100-continue gets that response before it sends.
func TestStreamExpectContinue(t *testing.T) {
	w := startWriter(t, newRAMLog())
	s, resp := w.raw("Expect: 100-continue")
	if resp.StatusCode != 100 {
		t.Fatalf("status %s, want 100 Continue", resp.Status)
	}
	if resp = s.response(); resp.StatusCode != 200 {
		t.Fatalf("status %s after 100 Continue, want 200", resp.Status)
	}
	s.chunk(oneLine(world))
	s.put("0\r\n\r\n")
	if got := s.results(resp); !slices.Equal(got, []string{"1"}) {
		t.Errorf("results %q, want 1", got)
	}
}

// When the daemon stops, the lines that it has read are answered. The last line of the
// response says that the daemon is stopping. The response ends even if the client
// keeps sending.
func TestStreamStops(t *testing.T) {
	t.Parallel()
	for _, sends := range []bool{false, true} {
		t.Run(fmt.Sprintf("the client keeps sending: %v", sends), func(t *testing.T) {
			l := newRAMLog()
			w := startWriter(t, l)
			w.post(200, "/v1/commit", world)
			entered, proceed := l.gate()
			s, resp := w.raw() // a client that reads to the end, even if it can no longer send
			s.chunk(strings.Join([]string{transferTx(1, ""), transferTx(2, ""), transferTx(3000, ""), ""}, "\n"))
			<-entered
			w.awaitBlocks(1)
			w.drain()
			if sends {
				more := strings.Repeat(transferTx(1, "")+"\n", 100)
				go func() {
					var err error
					for err == nil {
						_, err = fmt.Fprintf(s, "%x\r\n%s\r\n", len(more), more)
					}
				}()
			}
			go func() {
				proceed <- struct{}{}
				for range entered {
					proceed <- struct{}{}
				}
			}()
			if got := s.results(resp); !slices.Equal(got, []string{"2", "3", "InsufficientBalance", "ShuttingDown"}) {
				t.Errorf("results %q, want 2, 3, InsufficientBalance, ShuttingDown", got)
			}
			w.wantEmpty()
			if got := w.seq().sync.end.Load(); got != 3 {
				t.Errorf("%d commits are durable, want 3", got)
			}
		})
	}
}

// When the log fails, every line in doubt gets LogUnavailable, and the stream ends.
func TestStreamLogFails(t *testing.T) {
	t.Parallel()
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	s := w.stream("")
	s.send(transferTx(1, ""), transferTx(2, ""))
	<-entered
	s.send(transferTx(1, ""))
	w.awaitBlocks(2)
	l.set(errDisk, nil)
	proceed <- struct{}{}
	got := codes(s.rest())
	if len(got) != 4 || slices.ContainsFunc(got, func(c string) bool { return c != "LogUnavailable" }) {
		t.Errorf("results %q, want four times LogUnavailable", got)
	}
}

// While the disk is full, lines are rejected, and the stream continues.
func TestStreamDiskFull(t *testing.T) {
	t.Parallel()
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	s := w.stream("")
	l.set(nil, fmt.Errorf("spare: %w", wal.ErrNoSpace))
	s.send(transferTx(1, ""))
	first := s.line()
	l.set(nil, nil)
	s.send(transferTx(1, ""))
	if got := codes([]string{first, s.line()}); !slices.Equal(got, []string{"LogUnavailable", "2"}) {
		t.Errorf("results %q, want LogUnavailable, 2", got)
	}
}

// With on_error stop, the stream ends by itself after the first error. Lines
// that were read after the error are not attempted.
func TestStreamStopsOnError(t *testing.T) {
	t.Parallel()
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	s := w.stream("?on_error=stop")
	s.send(transferTx(1, ""))
	<-entered
	s.send(transferTx(2000, ""), transferTx(1, ""))
	w.awaitBlocks(2)
	s.send(transferTx(1, ""))
	w.awaitBlocks(3)
	proceed <- struct{}{}
	if got := codes(s.rest()); !slices.Equal(got, []string{"2", "InsufficientBalance", "NotAttempted", "NotAttempted"}) {
		t.Errorf("results %q, want 2, InsufficientBalance, NotAttempted, NotAttempted", got)
	}
	w.wantEmpty()
}

// A client that sends and never reads is cut off after a limited number of
// lines.
func TestStreamOfAClientThatNeverReads(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog(), func(c *Config) { c.Timeouts.Write = 200 * time.Millisecond })
	w.post(200, "/v1/commit", world)
	s, _ := w.raw()
	line := transferTx(2000, "") + "\n"
	var err error
	for err == nil {
		_, err = fmt.Fprintf(s, "%x\r\n%s\r\n", 100*len(line), strings.Repeat(line, 100))
	}
	w.wantEmpty()
	w.post(200, "/v1/commit", transferTx(1, ""))
}

// A line without an end takes no more memory than the longest permitted line.
func TestStreamOfALineWithoutEnd(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog())
	s, resp := w.raw()
	go func() {
		var err error
		for err == nil {
			_, err = fmt.Fprintf(s, "1000\r\n%04096d\r\n", 0)
		}
	}()
	if got := s.results(resp); !slices.Equal(got, []string{"PayloadTooLarge"}) {
		t.Errorf("results %q, want PayloadTooLarge", got)
	}
	w.wantEmpty()
}

// Empty lines are read and not answered, however many there are.
func TestStreamOfEmptyLines(t *testing.T) {
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	a := w.post(200, streamPattern, strings.Repeat("\n", 1_000_000)+transferTx(1, "")+strings.Repeat("\r\n \n", 100_000), typeLines)
	if got := codes(splitLines(a.body)); !slices.Equal(got, []string{"2"}) {
		t.Errorf("results %.200q, want 2", got)
	}
}

// Lines that are too short to be transactions are rejected. They take limited
// memory, although the rejections are much longer than the lines.
func TestStreamOfTinyLines(t *testing.T) {
	w := startWriter(t, newRAMLog())
	const n = 100_000
	s := w.stream("")
	go func() {
		defer s.body.Close()
		io.WriteString(s.body, strings.Repeat("1\n", n))
	}()
	most := int64(0)
	for range n {
		if got := codes([]string{s.line()})[0]; got != "InvalidRequest" {
			t.Fatalf("result %s, want InvalidRequest", got)
		}
		// While a claim grows, Used may count both its old and its new size.
		most = max(most, min(w.budget.Used(), w.budget.Used()))
	}
	if limit := int64(streamClaim + streamBlocks*blockClaim + pieceClaim); most > limit {
		t.Errorf("the stream held %d bytes, want at most %d", most, limit)
	}
}

// Each line of a stream is judged by the current rights of its token. The
// stream ends when the token is revoked or loses its scope.
func TestStreamOfARevokedToken(t *testing.T) {
	table := func(line string) *auth.Table {
		t.Helper()
		if line != "" {
			line = fmt.Sprintf("a sha256:%x %s\n", auth.HashToken("secret"), line)
		}
		table, err := auth.Parse(line + fmt.Sprintf("b sha256:%x commit\n", auth.HashToken("other")))
		if err != nil {
			t.Fatal(err)
		}
		return table
	}
	for _, c := range []struct {
		about, line, send, want string
		own                     bool // the stream ends with a line of its own
	}{
		{"another scope", "read", transferTx(1, ""), "Forbidden", true},
		{"revoked", "", transferTx(1, ""), "Unauthorized", true},
		{"revoked, and an empty line comes", "", "", "Unauthorized", true},
		{"limited to an owner", "commit owners=7", transferTx(1, ""), "Forbidden", false},
	} {
		t.Run(c.about, func(t *testing.T) {
			w := startWriter(t, newRAMLog())
			w.post(200, "/v1/commit", world)
			w.api.Gate = httpserver.NewGate("", table("commit"), silent)
			s := w.stream("", "Authorization: Bearer secret")
			s.send(transferTx(1, ""))
			first := s.line()
			w.api.Gate.Take(table(c.line))
			s.send(c.send)
			second := s.line()
			s.body.Close()
			if got := codes(append(s.rest(), first, second)); !slices.Equal(got, []string{"2", c.want}) {
				t.Errorf("%q, want %s", got, c.want)
			}
			if strings.Contains(second, `"lines_answered":1`) != c.own {
				t.Errorf("want lines_answered: %v, got %s", c.own, second)
			}
		})
	}
}
