package reader

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"
)

// behind starts a read daemon that has applied one commit. A second commit is
// durable, but can't be applied until the log's release method is called.
func behind(t *testing.T) (*testReader, *memLog) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("CreateContainer container_id=1 kind=Standard")
	r := startReader(t, log)
	log.hold()
	w.commit("CreateContainer container_id=2 kind=Standard")
	return r, log
}

// untilWaiting yields until n requests are waiting.
func (r *testReader) untilWaiting(n int) {
	for r.proj.fresh.waiting() != n {
		runtime.Gosched()
	}
}

func TestMinSeqWaits(t *testing.T) {
	r, log := behind(t)
	const target = "/v1/read/container/2"
	var asked sync.WaitGroup
	for _, headers := range [][]string{nil, {"X-Asset-Min-Seq: 2"}} {
		query := "?wait=30s"
		if headers == nil {
			query += "&min_seq=2"
		}
		asked.Go(func() {
			rec := r.do(http.MethodGet, target+query, headers...)
			if rec.Code != 200 || rec.Header().Get("X-Asset-Seq") != "2" {
				t.Errorf("%v: %d %s, want 200 at commit 2", headers, rec.Code, rec.Body)
			}
		})
	}
	r.untilWaiting(2)
	if body := r.get(404, target); body != `{"error":{"code":"ContainerNotFound","message":"There is no container 2.","details":{"container_id":2}},"freshness":{"checkpoint_seq":1,"commit_log_seq":2}}` {
		t.Errorf("before commit 2 is applied: %s, want ContainerNotFound at commit 1", body)
	}
	log.release()
	asked.Wait()
	if r.proj.fresh.waiting() != 0 {
		t.Error("a request still waits")
	}
}

func TestMinSeqInVain(t *testing.T) {
	r, log := behind(t)
	defer log.release()
	for _, wait := range []string{"0s", "1ms"} {
		want := `{"error":{"code":"NotFresh","message":"Commit 2 was not applied within ` + wait + `.","details":{"checkpoint_seq":1,"commit_log_seq":2}}}`
		if got := r.get(425, "/v1/read/classes?min_seq=2&wait="+wait); got != want {
			t.Errorf("wait=%s: %s, want %s", wait, got, want)
		}
	}
	// Unless the log is a copy, a read does not wait for a commit beyond the end,
	// however large its wait parameter is.
	r.get(425, "/v1/read/classes?min_seq=3&wait=30s")
}

func TestClientGoneIsForgotten(t *testing.T) {
	r, log := behind(t)
	defer log.release()
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		req := httptest.NewRequest("GET", "/v1/read/classes?min_seq=2&wait=30s", nil).WithContext(ctx)
		r.api.ServeHTTP(httptest.NewRecorder(), req)
	}()
	r.untilWaiting(1)
	leave()
	<-done
	if n := r.proj.fresh.waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

func TestWaitersAreToldOfTheEnd(t *testing.T) {
	r, log := behind(t)
	defer log.release()
	done := make(chan string)
	go func() { done <- r.get(503, "/v1/read/classes?min_seq=2&wait=30s") }()
	r.untilWaiting(1)
	r.drain()
	if body := <-done; body != `{"error":{"code":"ShuttingDown","message":"This read daemon is stopping: ask another, or try again soon.","details":{}}}` {
		t.Errorf("%s, want ShuttingDown", body)
	}
}

// TestLag checks the lag that a daemon reports before, while and after its tailer
// applies batches. The test itself calls the tailer's step.
func TestLag(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	for id := range 3 {
		w.commit(fmt.Sprintf("CreateContainer container_id=%d kind=Standard", id+1))
	}
	d := newDaemon(log, Config{MaxLag: 2, Log: slog.New(slog.DiscardHandler)})
	r := &testReader{daemon: d, t: t}
	defer d.close()
	d.tail.now = func() time.Time { return time.Unix(0, testTime+5e9) }
	look := func(freshness, health string, healthStatus int) {
		t.Helper()
		if got := r.get(200, "/v1/read/freshness"); got != freshness {
			t.Errorf("freshness %s, want %s", got, freshness)
		}
		if got := r.get(healthStatus, "/v1/health"); got != health {
			t.Errorf("health %s, want %s", got, health)
		}
	}
	look(`{"data":{"lag":0,"lag_ms":0},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}`,
		`{"status":"healthy","freshness":{"checkpoint_seq":0,"commit_log_seq":0,"lag":0}}`, 200)

	source, _ := log.Open()
	d.tail.reader.Store(&source)
	d.tail.known = &memRegistration{}
	d.tail.behind.Store(testTime - 1e9) // at that time, everything was applied
	look(`{"data":{"lag":3,"lag_ms":6000},"freshness":{"checkpoint_seq":0,"commit_log_seq":3}}`,
		`{"status":"degraded","freshness":{"checkpoint_seq":0,"commit_log_seq":3,"lag":3}}`, 503)

	d.tail.pending.Store(testTime) // the tailer is applying the first batch
	look(`{"data":{"lag":3,"lag_ms":5000},"freshness":{"checkpoint_seq":0,"commit_log_seq":3}}`,
		`{"status":"degraded","freshness":{"checkpoint_seq":0,"commit_log_seq":3,"lag":3}}`, 503)

	if err := d.tail.step(source); err != nil {
		t.Fatal(err)
	}
	look(`{"data":{"lag":2,"lag_ms":5000},"freshness":{"checkpoint_seq":1,"commit_log_seq":3}}`,
		`{"status":"healthy","freshness":{"checkpoint_seq":1,"commit_log_seq":3,"lag":2}}`, 200)

	for range 2 {
		if err := d.tail.step(source); err != nil {
			t.Fatal(err)
		}
	}
	look(`{"data":{"lag":0,"lag_ms":0},"freshness":{"checkpoint_seq":3,"commit_log_seq":3}}`,
		`{"status":"healthy","freshness":{"checkpoint_seq":3,"commit_log_seq":3,"lag":0}}`, 200)
}

// Reads concurrent with the tailer see whole transactions, in order.
func TestReadsWhileApplying(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard",
		"AddFungible container_id=1 class_id=1 key=0 quantity=500", "AddFungible container_id=1 class_id=1 key=1 quantity=500")
	r := startReader(t, log)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			var last uint64
			for {
				select {
				case <-stop:
					return
				default:
				}
				var answer struct {
					Balances  []struct{ Quantity int64 }
					Freshness struct {
						Checkpoint uint64 `json:"checkpoint_seq"`
						End        uint64 `json:"commit_log_seq"`
					}
				}
				rec := r.do(http.MethodGet, fmt.Sprintf("/v1/read/container/1/balances?min_seq=%d", last))
				if err := json.Unmarshal(rec.Body.Bytes(), &answer); err != nil {
					t.Error(err)
					return
				}
				sum := int64(0)
				for _, b := range answer.Balances {
					sum += b.Quantity
				}
				at := answer.Freshness.Checkpoint
				if sum != 1000 || at < last || answer.Freshness.End < at || rec.Header().Get("X-Asset-Seq") != fmt.Sprint(at) {
					t.Errorf("a read after commit %d shows the sum %d, want 1000 and no earlier commit: %s", last, sum, rec.Body)
					return
				}
				last = at
			}
		})
	}
	there := transactionOf(t, "RemoveFungible container_id=1 class_id=1 key=0 quantity=5", "AddFungible container_id=1 class_id=1 key=1 quantity=5")
	back := transactionOf(t, "RemoveFungible container_id=1 class_id=1 key=1 quantity=5", "AddFungible container_id=1 class_id=1 key=0 quantity=5")
	for range 1000 {
		w.batch(there, there, back)
		w.batch(back)
	}
	r.until(w.state.Seq())
	close(stop)
	readers.Wait()
}
