package systemtest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assetledger/server/servertest/longtest"
)

// A cutLedger responds to each request, but cuts the first response to each bearer
// token. A token consists of the name of one of cutCases, a hyphen, and the number of
// bytes to send before the connection is closed. If no number follows the hyphen, the
// response is not cut.
type cutLedger struct {
	mu    sync.Mutex
	asked map[string]int // requests with each token
	sent  map[string]int // bytes of the responses, as if none had been cut
}

// A cutConn is a connection to a cutLedger.
type cutConn struct {
	net.Conn
	ledger *cutLedger
	token  string
	left   int // bytes until the cut
}

func (c *cutConn) Write(p []byte) (int, error) {
	c.ledger.mu.Lock()
	c.ledger.sent[c.token] += len(p)
	c.ledger.mu.Unlock()
	if len(p) <= c.left {
		c.left -= len(p)
		return c.Conn.Write(p)
	}
	n, _ := c.Conn.Write(p[:c.left])
	c.left = 0
	c.Conn.(*net.TCPConn).CloseWrite()
	return n, io.ErrClosedPipe
}

type cutListener struct {
	net.Listener
	ledger *cutLedger
}

func (l cutListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &cutConn{Conn: conn, ledger: l.ledger, left: math.MaxInt}, err
}

// cutConnKey is the context key for the *cutConn of a request.
type cutConnKey struct{}

func startCutLedger(t *testing.T) (l *cutLedger, url string) {
	t.Helper()
	l = &cutLedger{asked: map[string]int{}, sent: map[string]int{}}
	s := httptest.NewUnstartedServer(l)
	s.Listener = cutListener{s.Listener, l}
	s.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, cutConnKey{}, conn)
	}
	s.Start()
	t.Cleanup(s.Close)
	return l, s.URL
}

func (l *cutLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	end := strings.LastIndexByte(token, '-')
	l.mu.Lock()
	l.asked[token]++
	first := l.asked[token] == 1
	l.mu.Unlock()
	conn := r.Context().Value(cutConnKey{}).(*cutConn)
	conn.token, conn.left = token, math.MaxInt
	if most, err := strconv.Atoi(token[end+1:]); err == nil && first {
		conn.left = most
	}
	for _, x := range cutCases {
		if x.name == token[:end] {
			x.reply(w, r)
		}
	}
}

// cutCases are responses that are cut, and what a client must report for each. The
// last bytes may be missing if they carry no data.
var cutCases = []struct {
	name  string
	reply http.HandlerFunc
	spare int // number of last bytes that may be missing
	want  string
}{
	{"commit-length", cutReply(200, false, cutCommit), 0, "done 7"},
	{"commit-chunked", cutReply(200, true, cutCommit), len("\r\n0\r\n\r\n"), "done 7"},
	{"read-length", cutReply(200, false, cutRead), 0, "done 2550"},
	{"read-chunked", cutReply(200, true, cutRead), len("\r\n0\r\n\r\n"), "done 2550"},
	{"refusal-length", cutReply(422, false, cutRefusal), 0, "refused InsufficientBalance 0"},
	{"refusal-chunked", cutReply(422, true, cutRefusal), len("\r\n0\r\n\r\n"), "refused InsufficientBalance 0"},
	{"stream", cutStream, len("\r\n0\r\n\r\n"), "1=1 2=2"},
	{"feed", cutFeed, len("\n\n\r\n0\r\n\r\n"), "1 2 3"},
}

const (
	cutCommit  = `{"global_seq":7,"batch_seq":1,"minted_instances":[],"metadata":{"idempotency_key":"order-17"}}`
	cutRead    = `{"container_id":1,"class_id":1,"key":0,"quantity":2550}`
	cutRefusal = `{"error":{"code":"InsufficientBalance","message":"No.","details":{"available":0,"requested":1},"operation_index":0}}`
)

// cutReply responds with JSON. Its length is in the header, or it comes in two
// chunks.
func cutReply(status int, chunked bool, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Asset-Seq", "7")
		if !chunked {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		}
		w.WriteHeader(status)
		io.WriteString(w, body[:len(body)/2])
		if chunked {
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, body[len(body)/2:])
	}
}

// cutStream is a stream of commits whose idempotency keys are their global_seq.
func cutStream(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex()
	w.Header().Set("Content-Type", "application/x-ndjson")
	err := control.Flush()
	for in := bufio.NewScanner(r.Body); err == nil && in.Scan(); {
		var tx struct {
			Key string `json:"idempotency_key"`
		}
		if json.Unmarshal(in.Bytes(), &tx) == nil {
			fmt.Fprintf(w, `{"global_seq":%s,"batch_seq":1,"minted_instances":[],"metadata":{}}`+"\n", tx.Key)
			err = control.Flush()
		}
	}
	if err != nil {
		control.SetReadDeadline(time.Unix(1, 0)) // don't wait for the rest of the request
	}
}

// cutFeed is a feed of three commits.
func cutFeed(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	last, _ := strconv.Atoi(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after")))
	for seq := last + 1; seq <= 3; seq++ {
		fmt.Fprintf(w, "id: %d\ndata: {\"global_seq\":%d,\"batch_seq\":1,\"operations\":[]}\n\n", seq, seq)
		w.(http.Flusher).Flush()
	}
}

// TestClientsCutAnswers closes the connection after every possible number of bytes of a
// response, or every sixth in the short form. All clients must retry the request, with
// the same idempotency key, unless the response is complete.
func TestClientsCutAnswers(t *testing.T) {
	t.Parallel()
	eachClient(t, func(t *testing.T, language string, run clientRun) {
		l, url := startCutLedger(t)
		step := 1
		if !longtest.Form(t, "cuts at every byte of a response, instead of every sixth") {
			step = 6
		}
		args, size := []string{"cuts", url, strconv.Itoa(step)}, map[string]int{}
		for _, x := range cutCases {
			size[x.name] = l.measure(t, url, x.name+"-whole")
			args = append(args, x.name, strconv.Itoa(size[x.name]))
		}
		cmd := run("drive", args...)
		var words bytes.Buffer
		cmd.Stderr = &words
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		defer late.Stop()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("the driver failed: %v\n%s%s", err, out, words.String())
		}
		told := strings.Split(string(out), "\n")
		for _, x := range cutCases {
			n := size[x.name]/step + 1
			l.check(t, x.name, x.want, told[:n], size[x.name], step, x.spare)
			told = told[n:]
		}
	})
}

// check compares what a client reported with want, for a cut at every step-th byte up
// to the end of the response. The parameter spare is the number of last bytes that may
// be missing.
func (l *cutLedger) check(t *testing.T, name, want string, told []string, size, step, spare int) {
	t.Helper()
	wrong := 0
	for i, got := range told {
		at := size%step + i*step
		token := fmt.Sprint(name, "-", at)
		n := l.asked[token]
		good := n == 1 && at >= size-spare || n == 2 && at < size
		if good && got == token+" "+want {
			continue
		}
		if wrong++; wrong <= 3 {
			t.Errorf("cut to %d of %d bytes: %q after %d requests, want %q", at, size, got, n, want)
		}
	}
	if wrong > 3 {
		t.Errorf("%s: %d more are wrong", name, wrong-3)
	}
}

// measure returns the number of bytes in the response to a token.
func (l *cutLedger) measure(t *testing.T, url, token string) int {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"idempotency_key":"1"}`+"\n"+`{"idempotency_key":"2"}`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if a, err := read(http.DefaultClient.Do(req)); err != nil || a.body == "" {
		t.Fatalf("the whole response to %s has no body: %+v %v", token, a, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent[token]
}
