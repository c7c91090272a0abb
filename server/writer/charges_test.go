package writer

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// heapInUse returns the number of live bytes on the heap.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// respelled returns n requests with metadata of 16 KiB, and a retry of each with
// the same metadata in another spelling, which takes a sixth of the bytes.
func respelled(n int) (first, again []string) {
	for i := range n {
		tx := `{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"%d","metadata":{"a":"%s"}}`
		first = append(first, fmt.Sprintf(tx, 100+i, i, strings.Repeat(`\u006e`, 2700)))
		again = append(again, fmt.Sprintf(tx, 100+i, i, strings.Repeat(`n`, 2700)))
	}
	return first, again
}

// TestBatchesTakeWhatIsCharged checks that batch requests of many kinds take at most
// the memory that is charged for them, when they are judged and when they are
// answered.
func TestBatchesTakeWhatIsCharged(t *testing.T) {
	const detach = `{"op":"Detach","args":{"instance_id":1}}`
	many := func(n int, tx string) string { return batchOf("", strings.Repeat(tx+",", n-1)+tx) }
	first, again := respelled(200)
	var short, shortAgain []string
	for i := range 2000 {
		tx := `{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"%d","metadata":%s}`
		short = append(short, fmt.Sprintf(tx, 100+i, i, `{"a":1,"b":"`+strings.Repeat("x", 200)+`"}`))
		shortAgain = append(shortAgain, fmt.Sprintf(tx, 100+i, i, `{"b":"`+strings.Repeat("x", 200)+`","a":1}`))
	}
	for _, c := range []struct{ name, before, body string }{
		{"wrong shapes", "", many(10_000, "1")},
		{"empty objects", "", many(10_000, "{}")},
		{"one operation each, rejected", "", many(10_000, `{"operations":[`+detach+`]}`)},
		{"many operations, rejected", "", many(100, `{"operations":[`+strings.Repeat(detach+",", 159)+detach+`]}`)},
		{"long metadata, rejected", "", many(1000, `{"operations":[`+detach+`],"metadata":{"a":"`+strings.Repeat(`x\n`, 2000)+`"}}`)},
		{"replayed, with short metadata", batchOf("", short...), batchOf("", shortAgain...)},
		{"replayed, with long metadata in another spelling", batchOf("", first...), batchOf("", again...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := startWriter(t, newRAMLog())
			if c.before != "" {
				w.post(200, "/v1/commit/batch", c.before)
			}
			body := []byte(c.body)
			before := heapInUse()
			r, x := &request{bulk: true}, &httpserver.Exchange{}
			x.Claim = httpserver.NewBudget(1 << 30).Claim()
			if err := ledger.ParseBatch(body, &r.BatchRequest, ledger.ParseLimits{}); err != nil {
				t.Fatal(err)
			}
			if err := w.settle(r); err != nil {
				t.Fatal(err)
			}
			judged := heapInUse() - before
			others := w.budget.Claim()
			others.Force(1 << 30) // so that the memory of the operations is not kept for reuse
			w.appendResults(x, r)
			if r.Txs[0].Ops != nil {
				t.Error("operations are kept though others need memory")
			}
			answered := heapInUse() - before
			charged := batchSize(body, int64(len(r.Txs))) + x.Claim.Held
			t.Logf("%d bytes in the body, %d judged, %d answered; %d charged", len(body), judged, answered, charged)
			if max(judged, answered) > charged {
				t.Errorf("a batch takes %d bytes, and %d are charged", max(judged, answered), charged)
			}
			runtime.KeepAlive(body)
			runtime.KeepAlive(r)
			runtime.KeepAlive(x)
		})
	}
}

// TestShortBatchesAreCharged checks that a batch request of few bytes is charged for
// the memory that it takes, while it is in progress.
func TestShortBatchesAreCharged(t *testing.T) {
	l := newRAMLog()
	entered, proceed := l.gate()
	w := startWriter(t, l)
	first := w.later("/v1/commit", world)
	<-entered
	second := w.later("/v1/commit/batch", batchOf("", strings.Repeat("1,", 1999)+"1"))
	until(t, "the batch is judged, and charged", func() bool {
		return w.inflight.Load() == 2 && w.budget.Used() >= 2000*(refusalSize+memberSize)
	})
	proceed <- struct{}{}
	for _, got := range []<-chan answer{first, second} {
		if a := <-got; a.status != 200 {
			t.Errorf("status %d, want 200: %.200s", a.status, a.body)
		}
	}
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
}

// A batch that needs too much memory, given what other requests hold, is rejected
// before it is parsed.
func TestShortBatchesNeedRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := httpserver.NewBudget(16 << 20)
		others := b.Claim()
		if !others.Grow(10 << 20) {
			t.Fatal("no room in an empty budget")
		}
		x := &httpserver.Exchange{W: httptest.NewRecorder(), Body: []byte(batchOf("", strings.Repeat("1,", 9999)+"1")), Claim: b.Claim()}
		if _, err := chargeBatch(x); err != httpserver.Overloaded {
			t.Errorf("without room: error %v and %d bytes charged, want Overloaded", err, x.Claim.Held)
		}
		others.Release()
		if _, err := chargeBatch(x); err != nil {
			t.Error(err)
		}
	})
}

// TestReplayedResultsNeedRoom sends short retries of requests whose results are
// large. If there is no room for a result, the response says so.
func TestReplayedResultsNeedRoom(t *testing.T) {
	w := startWriter(t, newRAMLog(), func(c *Config) { c.MaxInflight = 8 << 20 })
	first, again := respelled(2)
	told := w.post(200, "/v1/commit", first[0])
	w.post(200, "/v1/commit", first[1])
	r, x := &request{bulk: true}, &httpserver.Exchange{}
	if err := ledger.ParseBatch([]byte(batchOf("", again...)), &r.BatchRequest, ledger.ParseLimits{}); err != nil {
		t.Fatal(err)
	}
	if err := w.settle(r); err != nil {
		t.Fatal(err)
	}
	tight := httpserver.NewBudget(20 << 10)
	others := tight.Claim()
	if !others.GrowNow(1) {
		t.Fatal("no room in an empty budget")
	}
	x.Claim = tight.Claim()
	w.appendResults(x, r)
	want := `{"results":[` + strings.TrimSuffix(told.body, "}") + `,"replayed":true},{"error":{"code":"Overloaded"`
	if !strings.HasPrefix(string(x.Out), want) || !strings.Contains(string(x.Out), `"details":{"global_seq":2}`) {
		t.Errorf("the response is %.100s … %s, want one result and one Overloaded for commit 2", x.Out, x.Out[max(0, len(x.Out)-300):])
	}
}
