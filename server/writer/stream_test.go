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
)

// A testStream is a client of a stream. Tests control when it sends and reads.
type testStream struct {
	t    testing.TB
	body *io.PipeWriter
	resp *http.Response
	read *bufio.Reader
}

const typeLines = "Content-Type: application/x-ndjson"

// stream opens a stream.
func (w *testWriter) stream(query string, header ...string) *testStream {
	w.t.Helper()
	in, out := io.Pipe()
	r, err := http.NewRequest("POST", w.url+streamPattern+query, in)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, h := range append(header, typeLines) {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &testStream{w.t, out, resp, bufio.NewReader(resp.Body)}
	w.t.Cleanup(func() { s.body.Close(); resp.Body.Close() })
	return s
}

func (s *testStream) send(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.body, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// line reads one result.
func (s *testStream) line() string {
	s.t.Helper()
	line, err := s.read.ReadString('\n')
	if err != nil {
		s.t.Fatalf("reading a result: %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

// rest reads the results up to the end of the response.
func (s *testStream) rest() []string {
	s.t.Helper()
	b, err := io.ReadAll(s.read)
	if err != nil {
		s.t.Errorf("the response does not end correctly: %v", err)
	}
	return splitLines(string(b))
}

func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// codes reduces each result to its error code, or to its commit, and whether it
// was replayed.
func codes(lines []string) (list []string) {
	for _, line := range lines {
		c := answer{body: line}.code()
		if c == "" {
			_, c, _ = strings.Cut(line, `{"global_seq":`)
			c, _, _ = strings.Cut(c, ",")
		}
		if strings.HasSuffix(line, `"replayed":true}`) {
			c += " replayed"
		}
		list = append(list, c)
	}
	return list
}

func oneLine(json string) string { return strings.NewReplacer("\n", "", "\t", "").Replace(json) }

// Each line has the same result as in a request of its own.
func TestStreamResults(t *testing.T) {
	long := transferTx(1, `,"metadata":{"text":"`+strings.Repeat("x", 900)+`"}`)
	for _, c := range []struct {
		about, query, body string
		want               []string
	}{
		{"no body", "", "", nil},
		{"empty lines", "", "\n\r\n \t \n\n", nil},
		{"whitespace alone, without a newline", "", "\n  ", nil},
		{"one line", "", transferTx(1, "") + "\n", []string{"2"}},
		{"no newline at the end", "", transferTx(1, "") + "\n" + transferTx(2, ""), []string{"2", "3"}},
		{"CR LF", "", transferTx(1, "") + "\r\n\r\n" + transferTx(2, "") + "\r", []string{"2", "3"}},
		{"empty lines between", "?on_error=continue", "\n" + transferTx(1, "") + "\n \n\n" + transferTx(2, "") + "\n\n", []string{"2", "3"}},
		{"rejections change nothing", "", transferTx(1001, "") + "\nnonsense\n[]\n{\"operations\":[]}\n" + transferTx(1000, "") + "\n" + transferTx(1, ""),
			[]string{"InsufficientBalance", "MalformedJSON", "InvalidRequest", "InvalidRequest", "2", "StackNotFound"}},
		{"idempotency", "", transferTx(1, `,"idempotency_key":"a"`) + "\n" + transferTx(1, `,"idempotency_key":"a"`) + "\n" + transferTx(2, `,"idempotency_key":"a"`),
			[]string{"2", "2 replayed", "IdempotencyConflict"}},
		{"stop at a rejection", "?on_error=stop", transferTx(1, "") + "\n" + transferTx(1001, "") + "\n" + transferTx(1, "") + "\nnonsense\n",
			[]string{"2", "InsufficientBalance", "NotAttempted", "NotAttempted"}},
		{"stop at what is not JSON", "?on_error=stop", "nonsense\n" + transferTx(1, "") + "\n", []string{"MalformedJSON", "NotAttempted"}},
		{"a line of the maximum length", "", long + "\n" + transferTx(1, ""), []string{"2", "3"}},
		{"a line too long", "", transferTx(1, "") + "\n" + long + " \n" + transferTx(1, "") + "\n", []string{"2", "PayloadTooLarge"}},
		{"the first line too long", "", long + " \n" + transferTx(1, "") + "\n", []string{"PayloadTooLarge"}},
		{"the last line too long", "", transferTx(1, "") + "\n" + long + " ", []string{"2", "PayloadTooLarge"}},
		{"a reversal's import", "", transferTx(1, "") + "\n" + transferTx(1, `,"reverses":2`) + "\n" + transferTx(1, `,"reverses":99`) + "\n" + transferTx(1, `,"reverses":2`),
			[]string{"2", "3", "CommitNotFound", "AlreadyReversed"}},
		{"conditions alone", "", `{"operations":[{"op":"RequireBalance","args":{"container_id":1,"class_id":1,"key":0,"at_least":1}}]}`, []string{"InvalidRequest"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxBody = int64(len(long)) })
			w.post(200, "/v1/commit", world)
			for _, chunked := range []bool{false, true} {
				if chunked && slices.Contains(c.want, "2") {
					break // its commits were made in the first round
				}
				var body io.Reader = strings.NewReader(c.body)
				if chunked {
					body = io.MultiReader(body)
				}
				resp, err := http.Post(w.url+streamPattern+c.query, "application/x-ndjson", body)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/x-ndjson" {
					t.Fatalf("%v, error %v; want 200 with lines of JSON", resp, err)
				}
				if got := codes(splitLines(string(b))); !slices.Equal(got, c.want) {
					t.Errorf("%q, want %q", got, c.want)
				}
			}
		})
	}
}

// A result has the same text as in the response to a batch request.
func TestStreamResultsAreThoseOfABatch(t *testing.T) {
	txs := []string{transferTx(1, `,"idempotency_key":"a","metadata":{"b":[1]}`), transferTx(1, `,"idempotency_key":"a","metadata":{"b":[1]}`),
		transferTx(1001, ""), `{"operations":[{"op":"MintInstance","args":{"class_id":2}},{"op":"MintInstance","args":{"class_id":2}}]}`, `{"operations":5}`}
	batch := startWriter(t, newRAMLog())
	batch.post(200, "/v1/commit", world)
	want := batch.post(200, "/v1/commit/batch", batchOf("", txs...)).body
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	got := w.post(200, streamPattern, strings.Join(txs, "\n"), typeLines)
	lines := splitLines(got.body)
	if got := `{"results":[` + strings.Join(lines, ",") + "]}"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// An error in the request itself gets its usual response, while the body is
// still open.
func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	w := startWriter(t, newRAMLog())
	full := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 2 << 20 })
	others := full.budget.Claim()
	others.GrowNow(3 << 19)
	ending := startWriter(t, newRAMLog())
	ending.drain()
	for _, c := range []struct {
		about  string
		w      *testWriter
		query  string
		header string
		status int
		code   string
	}{
		{"a key", w, "", "X-Idempotency-Key: k", 400, "InvalidRequest"},
		{"unknown parameter", w, "?limit=1", "", 400, "InvalidParameter"},
		{"unknown mode", w, "?on_error=halt", "", 400, "InvalidParameter"},
		{"two modes", w, "?on_error=stop&on_error=stop", "", 400, "InvalidParameter"},
		{"a query that can't be decoded", w, "?on_error=%zz", "", 400, "InvalidParameter"},
		{"JSON", w, "", "Content-Type: application/json", 415, "UnsupportedMediaType"},
		{"a charset", w, "", "Content-Type: application/x-ndjson; charset=latin1", 415, "UnsupportedMediaType"},
		{"compressed", w, "", "Content-Encoding: gzip", 415, "UnsupportedMediaType"},
		{"stopping", ending, "", "", 503, "ShuttingDown"},
		{"no memory", full, "", "", 503, "Overloaded"},
	} {
		t.Run(c.about, func(t *testing.T) {
			conn, err := net.Dial("tcp", c.w.srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if !strings.HasPrefix(c.header, "Content-Type") {
				c.header += "\r\n" + typeLines
			}
			fmt.Fprintf(conn, "POST %s%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n%s\r\n\r\n5\r\n{\"ope\r\n",
				streamPattern, c.query, strings.TrimPrefix(c.header, "\r\n"))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			a := answer{resp.StatusCode, resp.Header, string(b)}
			if err != nil || a.status != c.status || a.code() != c.code {
				t.Errorf("%v %+v, want %d %s", err, a, c.status, c.code)
			}
		})
	}
	others.Release()
	for _, w := range []*testWriter{w, full, ending} {
		until(t, "all memory is released", func() bool { return w.budget.Used() == 0 })
	}
}

// A result arrives as soon as its commit is durable, while the client keeps the body
// open.
func TestStreamIsInteractive(t *testing.T) {
	w := startWriter(t, newRAMLog())
	s := w.stream("")
	s.send(oneLine(world))
	for i := range 5 {
		if got, want := codes([]string{s.line()})[0], fmt.Sprint(i+1); got != want {
			t.Fatalf("commit %s, want %s", got, want)
		}
		s.send("", transferTx(1, ""))
	}
	s.body.Close()
	if got := codes(s.rest()); !slices.Equal(got, []string{"6"}) {
		t.Errorf("results at the end %q, want 6", got)
	}
	until(t, "all memory is released", func() bool { return w.budget.Used() == 0 })
}

// A result waits until everything that it was judged against is durable. The
// results of earlier lines don't wait for it.
func TestStreamWaitsForDurability(t *testing.T) {
	t.Parallel()
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	s := w.stream("")
	s.send(transferTx(1, ""))
	<-entered
	s.send(transferTx(2000, "")) // rejected, judged against the first
	w.awaitBlocks(2)
	got := make(chan string, 2)
	go func() {
		for range 2 {
			got <- s.line()
		}
	}()
	select {
	case line := <-got:
		t.Fatalf("answered before it is durable: %s", line)
	default:
	}
	proceed <- struct{}{}
	if list := codes([]string{<-got, <-got}); !slices.Equal(list, []string{"2", "InsufficientBalance"}) {
		t.Errorf("results %q, want 2, InsufficientBalance", list)
	}
}

// Many lines keep their order, in the log and in the response, whatever the
// sizes of the lines and of the pieces that they arrive in.
func TestStreamKeepsOrder(t *testing.T) {
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	var sent []string
	for i := range 5000 {
		tx := transferTx(1, fmt.Sprintf(`,"metadata":{"n":%d,"x":"%s"}`, i, strings.Repeat("x", i%300)))
		switch {
		case i%500 == 50: // longer than a block
			tx = tx[:len(tx)-1] + strings.Repeat(" ", i*20) + "}"
		case i%7 == 0:
			tx = transferTx(9999, "")
		}
		sent = append(sent, tx)
	}
	w.post(200, "/v1/commit", `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":4000}}]}`)
	s := w.stream("")
	go func() {
		defer s.body.Close()
		text := strings.Join(sent, "\n")
		for i := 0; text != ""; i++ {
			size := min([]int{1, 7, 5000, 100_000, 63}[i%5], len(text))
			io.WriteString(s.body, text[:size])
			text = text[size:]
		}
	}()
	lines := s.rest()
	if len(lines) != len(sent) {
		t.Fatalf("%d results, want %d", len(lines), len(sent))
	}
	next := 3
	for i, line := range lines {
		want := "InsufficientBalance"
		if strings.Contains(sent[i], "metadata") {
			want = fmt.Sprint(next)
			next++
		}
		if codes(lines[i : i+1])[0] != want || strings.Contains(sent[i], "metadata") != strings.Contains(line, fmt.Sprintf(`{"n":%d,`, i)) {
			t.Fatalf("line %d: %.300s answered %.300s, want %s", i, sent[i], line, want)
		}
	}
	until(t, "all memory is released", func() bool { return w.budget.Used() == 0 })
}

// TestIdleStreamHoldsItsClaim checks that a stream returns the memory of its blocks and
// of its results once they are sent.
func TestIdleStreamHoldsItsClaim(t *testing.T) {
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	s := w.stream("")
	for range 3 {
		lines := slices.Repeat([]string{transferTx(1, "")}, 2*blockLines)
		s.send(lines...)
		for range lines {
			s.line()
		}
		until(t, "an idle stream holds only its claim", func() bool { return w.budget.Used() == streamClaim })
	}
}
