package systemtest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"assetledger/server/servertest/longtest"
)

// These tests act as clients that attack real daemons, or seem to. During each
// attack, a well-behaved client continues and must notice nothing. At the end,
// everything that was acknowledged to it must be there, and the daemons must never
// have used more memory than this:
const (
	mostWriteMemory = 512 << 20 // peak resident memory, in bytes
	mostReadMemory  = 256 << 20
)

const (
	goodContainers = `{"operations":[{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard"}},` +
		`{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}]}`
	goodCommit = `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}]}`
)

const getHealth = "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n"

func TestHostileClients(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	v.scale = 2
	if longtest.Form(t, "bodies of a million fields, and others that are larger still") {
		v.scale = 10
	}
	t.Cleanup(v.finish) // after all attacks, which run at the same time
	// The responses must be larger than sockets can hold.
	bulk := `{"transactions":[` + strings.Repeat(`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":1,"quantity":1}}],"metadata":{"a":"`+
		strings.Repeat("x", 16000)+`"}},`, 599) + `{"operations":[]}]}`
	if a, err := post(http.DefaultClient, v.w.url+"/v1/commit/batch", bulk); err != nil || a.status != 200 {
		t.Fatalf("the large batch got %v %d, want 200", err, a.status)
	}
	attacks := map[string]func(v *victim){}
	one := func(name string, attack func(v *victim)) { attacks[name] = attack }
	both := func(name string, attack func(v *victim, p *process)) {
		for _, p := range []*process{v.w, v.r} {
			one(name+"/"+p.name, func(v *victim) { attack(v, p) })
		}
	}
	both("silent", func(v *victim, p *process) {
		if said := v.dial(p).isDropped(); said != "" {
			v.Errorf("the daemon sent %q before it closed the connection", said)
		}
	})
	both("slow header", func(v *victim, p *process) {
		c := v.dial(p)
		c.send("GET /v1/health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		go c.drip('a')
		if said := c.isDropped(); said != "" {
			v.Errorf("the daemon sent %q before it closed the connection", said)
		}
	})
	one("slow body", func(v *victim) {
		c := v.dial(v.w)
		c.send(postHead("/v1/commit", "Content-Length: 100000"))
		go c.drip(' ')
		if said := c.isDropped(); said != "" && !strings.HasPrefix(said, "HTTP/1.1 400 ") {
			v.Errorf("the daemon sent %q before it closed the connection", said)
		}
	})
	one("slow chunks", func(v *victim) {
		c := v.dial(v.w)
		c.send(postHead("/v1/commit", "Transfer-Encoding: chunked") + "fff\r\n")
		go c.drip(' ')
		if said := c.isDropped(); said != "" && !strings.HasPrefix(said, "HTTP/1.1 400 ") {
			v.Errorf("the daemon sent %q before it closed the connection", said)
		}
	})
	both("silent between requests", func(v *victim, p *process) {
		c := v.dial(p)
		c.send(getHealth)
		if status, _ := c.answer(); status != 200 {
			v.Errorf("status %d, want 200", status)
		}
		if said := c.isDropped(); said != "" {
			v.Errorf("the daemon sent %q before it closed the connection", said)
		}
	})
	one("never reading", (*victim).neverReading)
	one("event streams that are not read", (*victim).deafStreams)
	both("half closed", (*victim).halfClosed)
	one("half a body, then closed", func(v *victim) {
		c := v.dial(v.w)
		c.send(postHead("/v1/commit", "Content-Length: 500") + goodCommit)
		c.CloseWrite()
		if status, body := c.answer(); status != 400 || errorCode(body) != "MalformedJSON" {
			v.Errorf("half a body got %d %s, want 400 MalformedJSON", status, body)
		}
		c.isDropped()
	})
	one("pipelining", (*victim).pipelines)
	both("headers without end", func(v *victim, p *process) {
		for _, line := range []string{"X-A: " + strings.Repeat("a", 1000) + "\r\n", "X: y\r\n", strings.Repeat("a", 1000)} {
			c := v.dial(p)
			go func() {
				c.send("GET /v1/health HTTP/1.1\r\nHost: x\r\n")
				for {
					if _, err := io.WriteString(c, line); err != nil {
						return
					}
				}
			}()
			if said := c.isDropped(); said != "" && !strings.HasPrefix(said, "HTTP/1.1 431 ") {
				v.Errorf("the daemon sent %.100q, want nothing or 431", said)
			}
		}
	})
	one("compressed", (*victim).compressed)
	one("deep and wide JSON", (*victim).deepAndWide)
	one("idempotency keys", (*victim).floodOfKeys)
	together(t, slices.Sorted(maps.Keys(attacks)), func(t *testing.T, name string) {
		sub := *v
		sub.T = t
		attacks[name](&sub)
	})
}

// neverReading sends requests for large responses and reads none of them, until the
// daemon closes the connection.
func (v *victim) neverReading() {
	var all sync.WaitGroup
	for path, p := range map[string]*process{"/v1/read/commits": v.r, "/v1/openapi.json": v.r, "/v1/metrics": v.w} {
		c := v.dial(p)
		c.SetReadBuffer(4096)
		all.Go(func() {
			request := "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n"
			var err error
			for err == nil {
				_, err = io.WriteString(c, request)
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				v.Errorf("%s: the daemon did not close the connection", path)
			}
		})
	}
	all.Wait()
}

// deafStreams opens streams of commits and reads nothing.
func (v *victim) deafStreams() {
	const streams = 50
	for range streams {
		c := v.dial(v.r)
		c.SetReadBuffer(4096)
		c.send("GET /v1/read/commits HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
	}
	awaits(v.T, "all streams are dropped", func() bool {
		return v.metric(v.r, `asset_ledger_read_requests_total{route="/v1/read/commits",status="200"}`) >= streams &&
			v.metric(v.r, "asset_ledger_read_streams") == 0
	})
}

// halfClosed sends a request and closes its sending side. A complete request is
// answered.
func (v *victim) halfClosed(p *process) {
	c := v.dial(p)
	c.send(getHealth)
	c.CloseWrite()
	if status, body := c.answer(); status != 200 {
		v.Errorf("a complete request got %d %s, want 200", status, body)
	}
	c.isDropped()
	c = v.dial(p)
	c.send(getHealth[:20])
	c.CloseWrite()
	if said := c.isDropped(); said != "" && !strings.HasPrefix(said, "HTTP/1.1 400 ") {
		v.Errorf("half a request got %q, want nothing or 400", said)
	}
}

// pipelines sends many requests before it reads. The responses come in order.
func (v *victim) pipelines() {
	c := v.dial(v.w)
	commit := `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":2,"quantity":1}}]}`
	const times = 50
	go c.send(strings.Repeat(postHead("/v1/commit", fmt.Sprintf("Content-Length: %d", len(commit)))+commit+
		"GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n", times))
	last := 0
	for range times {
		status, body := c.answer()
		seq, err := strconv.Atoi(seqOf(body))
		if status != 200 || err != nil || seq <= last {
			v.Fatalf("the response after that of commit %d is %d %s, want 200 with a later commit", last, status, body)
		}
		last = seq
		if status, body := c.answer(); status != 404 || errorCode(body) != "NotFound" {
			v.Fatalf("the response to the unknown path is %d %s, want 404 NotFound", status, body)
		}
	}
}

// compressed sends a decompression bomb: 100 MiB of zeroes in 100 KiB, a fifth
// of that in the short form.
func (v *victim) compressed() {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeroes := make([]byte, 1<<20)
	for range 10 * v.scale {
		z.Write(zeroes)
	}
	z.Close()
	for _, encoding := range []string{"gzip", "deflate", "br", "gzip, gzip", "identity"} {
		c := v.dial(v.w)
		c.send(postHead("/v1/commit", "Content-Encoding: "+encoding, fmt.Sprintf("Content-Length: %d", bomb.Len())) + bomb.String())
		if status, body := c.answer(); status != 415 || errorCode(body) != "UnsupportedMediaType" {
			v.Errorf("%s: %d %s, want 415 UnsupportedMediaType", encoding, status, body)
		}
	}
}

// deepAndWide sends bodies that would be a lot of work for a careless parser.
func (v *victim) deepAndWide() {
	million := 100_000 * v.scale
	fields := func(of string) string {
		var b strings.Builder
		for i := range million {
			fmt.Fprintf(&b, `"%s%d":0,`, of, i)
		}
		return b.String()
	}
	wide := "{" + fields("f") + `"last":0}`
	for _, c := range []struct {
		about, path, body string
		status            int
		code              string
	}{
		{"a million brackets", "/v1/commit/batch", strings.Repeat("[", million), 400, "MalformedJSON"},
		{"a million braces", "/v1/commit/batch", strings.Repeat(`{"transactions":`, million), 400, "MalformedJSON"},
		{"a million brackets, closed, in metadata", "/v1/commit/batch", `{"transactions":[{"operations":[],"metadata":{"a":` +
			strings.Repeat("[", million) + strings.Repeat("]", million) + `}}]}`, 400, "MalformedJSON"},
		{"a million fields", "/v1/commit/batch", wide, 400, "InvalidRequest"},
		{"a million fields in a transaction", "/v1/commit/batch", `{"transactions":[` + wide + `]}`, 200, "InvalidRequest"},
		{"a million fields in arguments", "/v1/commit/batch", `{"transactions":[{"operations":[{"op":"CreateContainer","args":` + wide + `}]}]}`, 200, "InvalidRequest"},
		{"a million fields in metadata", "/v1/commit/batch", `{"transactions":[{"operations":[],"metadata":` + wide + `}]}`, 200, "InvalidRequest"},
		{"the same field a million times", "/v1/commit/batch", `{` + strings.Repeat(`"transactions":[],`, million) + `"a":0}`, 400, "MalformedJSON"},
		{"a million transactions", "/v1/commit/batch", `{"transactions":[` + strings.Repeat("{},", million) + `{}]}`, 400, "InvalidRequest"},
		{"a body that is too long", "/v1/commit", wide, 413, "PayloadTooLarge"},
		{"half a million brackets", "/v1/commit", strings.Repeat("[", million/2), 400, "MalformedJSON"},
		{"a number of a million digits", "/v1/commit", `{"operations":[{"op":"RemoveContainer","args":{"container_id":` + strings.Repeat("9", million) + `}}]}`, 400, "InvalidRequest"},
	} {
		a, err := post(http.DefaultClient, v.w.url+c.path, c.body)
		for tries := 0; err != nil && tries < 10; tries++ { // on a busy machine, sending this much can take longer than permitted
			a, err = post(http.DefaultClient, v.w.url+c.path, c.body)
		}
		if code := errorCode(strings.TrimSuffix(strings.TrimPrefix(a.body, `{"results":[`), `]}`)); err != nil || a.status != c.status || code != c.code || len(a.body) > 2000 {
			v.Errorf("%s: %v %d %.300s, want %d %s", c.about, err, a.status, a.body, c.status, c.code)
		}
	}
}

// floodOfKeys commits with many more idempotency keys, of the maximum length,
// than the daemon remembers.
func (v *victim) floodOfKeys() {
	const each = 2000
	batches := 2 * v.scale
	key := func(n int) string { return fmt.Sprintf("%0255d", n) }
	var first, last string
	for b := range batches {
		var txs []string
		for i := range each {
			txs = append(txs, fmt.Sprintf(`{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":3,"quantity":1}}],"idempotency_key":"%s"}`,
				key(b*each+i)))
		}
		a, err := post(http.DefaultClient, v.w.url+"/v1/commit/batch", `{"transactions":[`+strings.Join(txs, ",")+`]}`)
		if err != nil || a.status != 200 || strings.Contains(a.body, `"error"`) {
			v.Fatalf("batch %d got %v %d, want 200 without an error", b, err, a.status)
		}
		if b == 0 {
			first = txs[0]
		}
		last = txs[each-1]
	}
	a, err := post(http.DefaultClient, v.w.url+"/v1/commit", last)
	if err != nil || !a.hit {
		v.Errorf("the last key is forgotten: %v %s", err, a.body)
	}
	a, err = post(http.DefaultClient, v.w.url+"/v1/commit", first)
	if err != nil || a.status != 200 || a.hit {
		v.Errorf("the first key is still remembered: %v %s", err, a.body)
	}
	if a, err := get(http.DefaultClient, v.r.url+"/v1/read/container/1/balances?class_id=1&key=3&wait=20s&min_seq="+seqOf(a.body)); err != nil ||
		!strings.Contains(a.body, fmt.Sprintf(`"quantity":%d}`, batches*each+1)) {
		v.Errorf("the balance is %v %s, want %d", err, a.body, batches*each+1)
	}
}

// TestTenThousandIdleConnections opens ten thousand idle connections to each daemon,
// or 2000 in the short form.
func TestTenThousandIdleConnections(t *testing.T) {
	most := 10_000
	if !longtest.Form(t, "more than 2000 idle connections") {
		most = 2000
	}
	t.Run("ledger-write", func(t *testing.T) { idle(t, most, func(v *victim) *process { return v.w }) })
	t.Run("ledger-read", func(t *testing.T) { idle(t, most, func(v *victim) *process { return v.r }) })
}

func idle(t *testing.T, most int, choose func(*victim) *process) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < uint64(most)+1000 {
		t.Skipf("needs a limit of %d open files, but it is %d (%v): raise it with ulimit -Hn", most+1000, limit.Max, err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	v := newVictim(t, "-header-timeout", "5m", "-idle-timeout", "5m")
	p := choose(v)
	before := statusBytes(t, p, "VmRSS")
	conns := make([]net.Conn, most)
	for i := range conns {
		conns[i] = v.dial(p)
		if i%2 == 0 { // half of them have sent a request
			conns[i].(*rawConn).send("GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
		}
	}
	awaits(v.T, "all connections are open", func() bool { return v.metric(p, "process_open_fds") >= float64(most) })
	seen := v.acked.Load()
	awaits(v.T, "the well-behaved client continued", func() bool { return v.acked.Load() > seen+5 })
	t.Logf("%d connections take %d MiB", most, (statusBytes(t, p, "VmRSS")-before)>>20)
	for _, c := range conns {
		c.Close()
	}
	awaits(v.T, "all are gone", func() bool { return v.metric(p, "process_open_fds") < 100 })
	v.finish()
}
