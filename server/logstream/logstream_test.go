package logstream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/metrics"
	"assetledger/wal"
)

// A served is a log in a directory, and the server of that log.
type served struct {
	testing.TB
	*Server
	dir string
	w   *wal.Writer
	url string
	api *httpserver.API
}

func serve(t testing.TB, change ...func(*Server)) *served {
	t.Helper()
	v := &served{TB: t, dir: t.TempDir()}
	w, err := wal.Open(v.dir, wal.Options{SegmentSize: 64 << 10, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	v.w = w
	t.Cleanup(func() { w.Close() })
	log := slog.New(slog.DiscardHandler)
	v.Server = New(commitlog.File{Dir: v.dir}, &httpserver.Streams{Max: 4}, log)
	v.api = httpserver.NewAPI(v.Routes(), "test_", new(metrics.Registry), log)
	v.api.Budget = httpserver.NewBudget(32 << 20)
	v.ServedBy(v.api)
	for _, f := range change {
		f(v.Server)
	}
	web := httptest.NewServer(v.api)
	v.url = web.URL
	t.Cleanup(web.Close)
	t.Cleanup(v.Drain)
	return v
}

// append appends frames of three records of size bytes each.
func (v *served) append(frames, size int) {
	v.Helper()
	for range frames {
		f := &wal.Frame{First: v.w.LastSeq() + 1, Count: 3}
		for i := range 3 {
			f.Body = wal.AppendRecord(f.Body, bytes.Repeat([]byte{byte(i + 1)}, size))
		}
		if err := v.w.Append(f); err != nil {
			v.Fatal(err)
		}
	}
}

// ask sends a request. headers is a list of alternating names and values.
func (v *served) ask(method, path string, headers ...string) *http.Response {
	v.Helper()
	req, err := http.NewRequestWithContext(v.Context(), method, v.url+path, nil)
	if err != nil {
		v.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { resp.Body.Close() })
	return resp
}

func (v *served) stream(from uint64) *wal.StreamReader {
	v.Helper()
	resp := v.ask("GET", fmt.Sprintf("/v1/log?from=%d", from))
	if resp.StatusCode != 200 {
		v.Fatalf("stream from commit %d: status %d, want 200", from, resp.StatusCode)
	}
	s, err := wal.NewStreamReader(resp.Body)
	if err != nil {
		v.Fatal(err)
	}
	return s
}

// frame returns the next frame, skipping heartbeats.
func (v *served) frame(s *wal.StreamReader) *wal.Frame {
	v.Helper()
	for {
		f, err := s.Next()
		if err != nil {
			v.Fatal(err)
		}
		if f != nil {
			return f
		}
	}
}

// TestStreamFrom checks that a stream begins with the batch that holds the
// requested commit, reports its segment and the end at once, and continues with
// later frames.
func TestStreamFrom(t *testing.T) {
	v := serve(t)
	v.append(9, 5000)
	segments, _, err := wal.Stat(v.dir, nil)
	if err != nil || len(segments) < 3 {
		t.Fatalf("%d segments, want at least 3: %v", len(segments), err)
	}
	for from := uint64(1); from <= v.w.LastSeq(); from++ {
		s := v.stream(from)
		if f, err := s.Next(); f != nil || err != nil || s.Durable != v.w.LastSeq() {
			t.Fatalf("from %d: got %+v, end %d, %v; want a heartbeat with the end first", from, f, s.Durable, err)
		}
		f := v.frame(s)
		if f.First > from || f.Last() < from || f.Segment != s.Segment.First {
			t.Errorf("from %d: got commits %d to %d of segment %d, but the stream header names segment %d", from, f.First, f.Last(), f.Segment, s.Segment.First)
		}
	}
	s := v.stream(v.w.LastSeq() + 1)
	v.append(1, 10)
	if f := v.frame(s); f.Last() != v.w.LastSeq() {
		t.Errorf("got the frame %+v, want the one that was appended last, up to commit %d", f, v.w.LastSeq())
	}
	resp := v.ask("HEAD", "/v1/log?from=2", HeaderMirror, "shop-eu 7 http://shop:8081")
	if resp.StatusCode != 200 || resp.Header.Get("X-Asset-Seq") != fmt.Sprint(v.w.LastSeq()) {
		t.Errorf("HEAD: status %d, headers %v; want 200 and X-Asset-Seq %d", resp.StatusCode, resp.Header, v.w.LastSeq())
	}
	got := v.Mirrors()
	for i := range got {
		got[i].heard = time.Time{}
	}
	if diff := cmp.Diff([]Mirror{{Name: "shop-eu", Seq: 1, Checkpoint: 7, URL: "http://shop:8081"}}, got, cmp.AllowUnexported(Mirror{})); diff != "" {
		t.Errorf("mirrors -want +got:\n%s", diff)
	}
	for _, bad := range []string{"", "a", "a b", "a/b 1", "a -1", "a 1 u v", "a 1 " + strings.Repeat("u", 513)} {
		if resp := v.ask("HEAD", "/v1/log?from=2", HeaderMirror, bad); resp.StatusCode != 400 {
			t.Errorf("a mirror that names itself %q: status %d, want 400", bad, resp.StatusCode)
		}
	}
}

// TestHeartbeats checks that heartbeats arrive while there are no frames.
func TestHeartbeats(t *testing.T) {
	v := serve(t, func(s *Server) { s.beatEvery = time.Millisecond })
	v.append(1, 10)
	s := v.stream(4)
	for range 5 {
		if f, err := s.Next(); f != nil || err != nil || s.Durable != 3 {
			t.Fatalf("got %+v, end %d, %v; want a heartbeat with the end 3", f, s.Durable, err)
		}
	}
}

// TestStreamEnds checks that a stream ends when its client's token is revoked,
// when there is one stream too many, and when the daemon stops. Everything sent
// before is complete.
func TestStreamEnds(t *testing.T) {
	revoked := make(chan struct{})
	v := serve(t, func(s *Server) {
		s.beatEvery = time.Millisecond
		s.readmit = func(*httpserver.Exchange) *ledger.Error {
			select {
			case <-revoked:
				return ledger.Errorf(ledger.Unauthorized, "No longer.")
			default:
				return nil
			}
		}
	})
	v.append(2, 10)
	ends := func(s *wal.StreamReader) {
		t.Helper()
		for {
			if _, err := s.Next(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	first := v.stream(1)
	for range 4 {
		v.stream(1)
	}
	ends(first)
	s := v.stream(1)
	close(revoked)
	ends(s)
	v = serve(t)
	v.append(1, 10)
	s = v.stream(1)
	v.frame(s)
	v.Drain()
	ends(s)
}

// TestSlowClient checks that a client that reads nothing is disconnected, and that its
// part of the budget is freed.
func TestSlowClient(t *testing.T) {
	v := serve(t, func(s *Server) { s.patience = 50 * time.Millisecond })
	v.append(300, 9000) // more than the buffers on the way hold
	c, err := net.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "GET /v1/log?from=1 HTTP/1.1\r\nHost: x\r\n\r\n")
	c.Read(make([]byte, 1)) // now the stream is open, or over
	for deadline := time.Now().Add(time.Minute); v.streams.Opened() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the client was not disconnected within a minute")
		}
	}
	for v.api.Budget.Used() > 0 { // freed a moment later
	}
}

// TestCheckpoints lists the checkpoints, and reads various ranges of one.
func TestCheckpoints(t *testing.T) {
	v := serve(t)
	v.append(3, 10)
	image := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, seq := range []uint64{3, 6} {
		if err := wal.WriteCheckpoint(v.dir, seq, wal.Options{}, func(w io.Writer) error {
			_, err := w.Write(image)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := io.ReadAll(v.ask("GET", "/v1/checkpoints").Body)
	if want := `{"checkpoints":[{"seq":3,"bytes":1000000},{"seq":6,"bytes":1000000}]}`; err != nil || string(list) != want {
		t.Errorf("got %s, %v; want %s", list, err, want)
	}
	for sent, c := range map[string]struct {
		status   int
		from, to int
		says     string
	}{
		"":                   {200, 0, 1_000_000, ""},
		"bytes=0-":           {206, 0, 1_000_000, "bytes 0-999999/1000000"},
		"bytes=10-19":        {206, 10, 20, "bytes 10-19/1000000"},
		"bytes=999999-":      {206, 999_999, 1_000_000, "bytes 999999-999999/1000000"},
		"bytes=5-2000000":    {206, 5, 1_000_000, "bytes 5-999999/1000000"},
		"bytes=-7":           {206, 999_993, 1_000_000, "bytes 999993-999999/1000000"},
		"bytes=-2000000":     {206, 0, 1_000_000, "bytes 0-999999/1000000"},
		"bytes=-0":           {416, 0, 0, "bytes */1000000"},
		"bytes=1000000-":     {416, 0, 0, "bytes */1000000"},
		"bytes=0-1,3-4":      {200, 0, 1_000_000, ""},
		"bytes=7-3":          {200, 0, 1_000_000, ""},
		"lines=0-1":          {200, 0, 1_000_000, ""},
		"bytes=x-":           {200, 0, 1_000_000, ""},
		"bytes=99999999999-": {416, 0, 0, "bytes */1000000"},
	} {
		var headers []string
		if sent != "" {
			headers = []string{"Range", sent}
		}
		resp := v.ask("GET", "/v1/checkpoints/6", headers...)
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != c.status || resp.Header.Get("Content-Range") != c.says || c.status < 400 && !bytes.Equal(body, image[c.from:c.to]) {
			t.Errorf("GET with Range %q: status %d, Content-Range %q, %d bytes, %v; want %d, %q, %d bytes", sent, resp.StatusCode, resp.Header.Get("Content-Range"), len(body), err, c.status, c.says, c.to-c.from)
		}
		head := v.ask("HEAD", "/v1/checkpoints/6", headers...)
		if head.StatusCode != c.status || c.status < 400 && head.ContentLength != int64(c.to-c.from) {
			t.Errorf("HEAD with Range %q: status %d, %d bytes; want %d, %d bytes", sent, head.StatusCode, head.ContentLength, c.status, c.to-c.from)
		}
	}
}

// TestRefusals checks the statuses of rejected requests: 410 for archived commits, and
// 503 for a directory without a log.
func TestRefusals(t *testing.T) {
	v := serve(t)
	v.append(12, 5000)
	segments, _, err := wal.Stat(v.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	below := segments[len(segments)-1].First
	if _, err := wal.Archive(v.dir, t.TempDir()+"/archive", below, nil); err != nil {
		t.Fatal(err)
	}
	resp := v.ask("GET", "/v1/log?from=1")
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 410 || !strings.Contains(string(body), fmt.Sprintf(`"details":{"global_seq":1,"first_seq":%d}`, below)) {
		t.Errorf("an archived commit: status %d, %s; want 410 and first_seq %d", resp.StatusCode, body, below)
	}
	v.file.Dir = t.TempDir()
	if resp := v.ask("GET", "/v1/log?from=1"); resp.StatusCode != 503 {
		t.Errorf("without a log: status %d, want 503", resp.StatusCode)
	}
	if _, err := os.Stat(v.file.Dir + "/LOCK"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a LOCK was created in a directory without a log: %v", err)
	}
}
