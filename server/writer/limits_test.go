package writer

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/metrics"
	"assetledger/wal"
)

// A retry that arrives while the first request is being made durable waits for
// it, and gets the same response.
func TestRetryWhileInFlight(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	tx := transferTx(1, `,"idempotency_key":"k"`)
	first := w.later("/v1/commit", tx)
	<-entered
	var retries [5]<-chan answer
	for i := range retries {
		retries[i] = w.later("/v1/commit", tx)
	}
	w.untilQueued(7) // these six, and the one that made the world
	select {
	case a := <-first:
		t.Fatal("answered before it was durable:", a)
	case a := <-retries[0]:
		t.Fatal("a retry was answered before it was durable:", a)
	default:
	}
	proceed <- struct{}{}
	want := <-first
	if want.status != 200 || want.header.Get(headerHit) != "" {
		t.Fatalf("the first request: %+v, want 200 without %s", want, headerHit)
	}
	for _, retry := range retries {
		if a := <-retry; a.status != 200 || a.body != want.body || a.header.Get(headerHit) != "hit" || a.header.Get(httpserver.HeaderSeq) != "2" {
			t.Errorf("retry: %+v, want %s", a, want.body)
		}
	}
	if n := w.meters.hits.Value(); n != 5 {
		t.Errorf("%d hits are counted, want 5", n)
	}
}

// When the queue is full, requests are rejected at once. The queued ones get their
// responses when the log makes progress again.
func TestQueueFull(t *testing.T) {
	l := newRAMLog()
	l.maxBody = 300 // so that the sequencer soon waits for the log
	w := startWriter(t, l, func(c *Config) { c.Queue = 3 })
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	var waiting []<-chan answer
	big := batchOf("", slices.Repeat([]string{transferTx(1, "")}, 100)...)
	waiting = append(waiting, w.later("/v1/commit/batch", big))
	<-entered // the sequencer fills the next batch, and then waits with the remaining transactions
	for range 3 {
		waiting = append(waiting, w.later("/v1/commit", transferTx(1, "")))
	}
	until(t, "the queue is full", func() bool { return w.seq().intake.depth() == 3 })
	for _, path := range []string{"/v1/commit", "/v1/commit/batch", "/v1/commit/preflight"} {
		body := transferTx(1, "")
		if path == "/v1/commit/batch" {
			body = batchOf("", body)
		}
		if a := w.post(503, path, body); a.code() != "Overloaded" || a.header.Get("Retry-After") == "" {
			t.Errorf("%s with a full queue: %+v, want Overloaded with Retry-After", path, a)
		}
	}
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-entered:
			case proceed <- struct{}{}:
			case <-stop:
				return
			}
		}
	}()
	for _, c := range waiting {
		if a := <-c; a.status != 200 || a.code() != "" {
			t.Errorf("a request that waited: %+v, want 200", a)
		}
	}
	close(stop)
}

// A body over the budget is rejected, unless it is the only one.
func TestBudget(t *testing.T) {
	t.Parallel()
	l := newRAMLog()
	w := startWriter(t, l, func(c *Config) { c.MaxInflight = 1000 })
	alone := w.post(200, "/v1/commit", world+strings.Repeat(" ", 5000))
	if alone.code() != "" {
		t.Fatalf("a body over the budget, alone: %v, want no error", alone)
	}
	entered, proceed := l.gate()
	held := w.later("/v1/commit", transferTx(1, "")+strings.Repeat(" ", 700))
	<-entered
	if a := w.post(503, "/v1/commit", transferTx(1, "")+strings.Repeat(" ", 700)); a.code() != "Overloaded" || a.header.Get("Retry-After") == "" {
		t.Errorf("a second body over the budget: %v, want Overloaded with Retry-After", a)
	}
	proceed <- struct{}{}
	if a := <-held; a.status != 200 {
		t.Errorf("the first body: %v, want 200", a)
	}
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
	if a := w.do("POST", "/v1/commit", transferTx(2000, "")+strings.Repeat(" ", 700)); a.status != 422 {
		t.Errorf("after everything was released: %v, want 422", a)
	}
}

// When the log fails, every waiting request is told that the outcome is unknown, or,
// if it is a preflight, that it could not be judged. Later requests are rejected, and
// the daemon is asked to end.
func TestLogFailure(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	waiting := []<-chan answer{w.later("/v1/commit", transferTx(1, ""))}
	<-entered
	waiting = append(waiting, w.later("/v1/commit", transferTx(1, "")), w.later("/v1/commit", transferTx(9999, "")),
		w.later("/v1/commit/preflight", transferTx(1, "")), w.later("/v1/commit/batch", batchOf("", transferTx(1, ""), transferTx(1, ""))))
	w.untilQueued(6)
	l.set(errDisk, nil)
	proceed <- struct{}{}
	for i, c := range waiting {
		told := "unknown"
		if i == 3 { // the preflight
			told = "could not be judged"
		}
		if a := <-c; a.status != 503 || a.code() != "LogUnavailable" || !strings.Contains(a.body, told) || a.header.Get("Retry-After") == "" {
			t.Errorf("waiter %d: %+v, want LogUnavailable with %q and Retry-After", i, a, told)
		}
	}
	if err := <-w.seq().sync.failed; !errors.Is(err, errDisk) {
		t.Errorf("the daemon is told %v, want %v", err, errDisk)
	}
	<-w.seq().stopped
	for _, body := range []string{transferTx(1, ""), "not even JSON"} {
		if a := w.post(503, "/v1/commit", body); a.code() != "LogUnavailable" {
			t.Errorf("a later request: %v, want LogUnavailable", a)
		}
	}
	if a := w.do("GET", "/v1/health", ""); a.status != 503 || !strings.Contains(a.body, `"status":"degraded","commit_log":{"end_seq":1,`) {
		t.Errorf("health: %v, want 503, degraded, at commit 1", a)
	}
	if n := len(l.written()); n != 1 {
		t.Errorf("%d batches are in the log, want 1", n)
	}
}

// If the log has no room, no new commit is accepted, but requests that need no
// room are answered. Once there is room again, everything works as before.
func TestNoRoom(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	keyed := transferTx(1, `,"idempotency_key":"k"`)
	first := w.post(200, "/v1/commit", keyed)
	l.set(nil, wal.ErrNoSpace)
	a := w.post(503, "/v1/commit", transferTx(1, ""))
	if a.code() != "LogUnavailable" || !strings.Contains(a.body, "full; nothing was changed") || a.header.Get("Retry-After") == "" {
		t.Errorf("without room: %v, want LogUnavailable, that nothing was changed, and Retry-After", a)
	}
	if a := w.post(200, "/v1/commit/batch", batchOf("", transferTx(1, ""), keyed)); !strings.Contains(a.body, "LogUnavailable") ||
		!strings.Contains(a.body, `"replayed":true`) {
		t.Errorf("a batch without room: %v, want LogUnavailable and a replayed result", a)
	}
	if a := w.post(200, "/v1/commit", keyed); a.body != first.body {
		t.Errorf("a retry without room: %v, want %s", a, first.body)
	}
	w.post(200, "/v1/commit/preflight", transferTx(1, ""))
	if a := w.do("GET", "/v1/health", ""); a.status != 503 || !strings.Contains(a.body, "degraded") {
		t.Errorf("health without room: %v, want 503 and degraded", a)
	}
	l.set(nil, nil)
	if a := w.post(200, "/v1/commit", transferTx(1, "")); a.header.Get(httpserver.HeaderSeq) != "3" {
		t.Errorf("with room again: %v, want commit 3", a)
	}
	if a := w.do("GET", "/v1/health", ""); a.status != 200 {
		t.Errorf("health with room again: %v, want 200", a)
	}
}

// A panic in the sequencer ends the process.
func TestPanicEndsTheProcess(t *testing.T) {
	ended := make(chan struct{})
	l := newRAMLog()
	s := newSequencer(ledger.NewState(ledger.Config{}), l, 8, newMeters(new(metrics.Registry)), silent, func() { close(ended) })
	s.start()
	if _, err := s.intake.submit(&request{BatchRequest: ledger.BatchRequest{Txs: make([]ledger.Transaction, 1)}}); err != nil { // a request without room for its verdicts is a defect
		t.Fatal(err)
	}
	<-ended
}

// When the daemon stops, the requests that it has accepted get their responses, even on
// keep-alive connections. Later requests are rejected.
func TestStopping(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	conn, err := net.Dial("tcp", w.srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := transferTx(1, "")
	fmt.Fprintf(conn, "POST /v1/commit HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:10])
	until(t, "the request has begun", func() bool { return w.inflight.Load() == 1 })
	w.stopping.Store(true)
	if a := w.post(503, "/v1/commit", transferTx(1, "")); a.code() != "ShuttingDown" || a.header.Get("Retry-After") == "" {
		t.Errorf("while stopping: %v, want ShuttingDown with Retry-After", a)
	}
	fmt.Fprint(conn, body[10:])
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || resp.StatusCode != 200 || resp.Header.Get(httpserver.HeaderSeq) != "2" {
		t.Errorf("the request that had begun: %v, error %v; want 200 and commit 2", resp, err)
	}
}

// Many clients commit at once. Every response names a different commit, and the
// batches in the log contain all of them.
func TestManyClients(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	const clients, each = 16, 20
	seen := make(chan string, clients*each)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for i := range each {
				path, tx := "/v1/commit", transferTx(1, "")
				if i%5 == 4 {
					path, tx = "/v1/commit/batch", batchOf("", tx)
				}
				a, err := w.try("POST", path, tx)
				if err != nil || a.status != 200 {
					t.Errorf("%v, error %v; want 200", a, err)
				}
				seen <- a.header.Get(httpserver.HeaderSeq)
			}
		})
	}
	wg.Wait()
	close(seen)
	distinct := map[string]bool{}
	for seq := range seen {
		distinct[seq] = true
	}
	if len(distinct) != clients*each {
		t.Errorf("%d distinct commits, want %d", len(distinct), clients*each)
	}
	w.stop()
	last := l.written()[len(l.written())-1]
	if last.Last() != clients*each+1 {
		t.Errorf("the log ends at %d, want %d", last.Last(), clients*each+1)
	}
	startWriter(t, l) // replays the log, or fails the test
}
