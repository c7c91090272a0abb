package systemtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"assetledger/server/servertest/longtest"
)

// An answer is a daemon's response.
type answer struct {
	status int
	body   string
	hit    bool
}

func post(client *http.Client, url, body string) (answer, error) {
	res, err := client.Post(url, "application/json", strings.NewReader(body))
	return read(res, err)
}

func get(client *http.Client, url string) (answer, error) {
	res, err := client.Get(url)
	return read(res, err)
}

func read(res *http.Response, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, string(body), res.Header.Get("X-Asset-Idempotency") == "hit"}, err
}

// mustGet sends a GET request and decodes the response, which must have status 200.
func mustGet(t *testing.T, url string, into any) {
	t.Helper()
	a, err := get(http.DefaultClient, url)
	if err != nil || a.status != 200 {
		t.Fatalf("GET %s: %v %d %s", url, err, a.status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), into); err != nil {
		t.Fatal(err)
	}
}

// mustCommit commits, and returns the body of the response.
func mustCommit(t *testing.T, url, body string) string {
	t.Helper()
	a, err := post(http.DefaultClient, url+"/v1/commit", body)
	if err != nil || a.status != 200 {
		t.Fatalf("POST %s: %v %d %s", body, err, a.status, a.body)
	}
	return a.body
}

const (
	killRounds  = 3
	killClients = 6
)

// addOne returns the n-th transaction of a client, in a container of its own.
func addOne(client, n int) string {
	return fmt.Sprintf(`{"operations":[{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":0,"quantity":1}}],"idempotency_key":"c%d-%d"}`,
		client+1, client, n)
}

// TestKilledWriterLosesNothing repeatedly kills the write daemon under load,
// and looks for every acknowledged commit. A read daemon runs meanwhile.
func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	mustCommit(t, w.url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}]}`)
	for i := range killClients {
		mustCommit(t, w.url, fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`, i+1))
	}
	see := watch(r.url)
	var told [killClients]map[int]string // responses by client and number of the transaction
	var next [killClients]int            // each client's first transaction without a response
	for i := range told {
		told[i] = map[int]string{}
	}
	most := int64(400) // acknowledged commits per round
	if !longtest.Form(t, "400 commits before each kill, instead of 150") {
		most = 150
	}
	for range killRounds {
		underLoad(t, w, most, &told, &next)
		seen := see.highest.Load()
		w = startWriteProcess(t, dir)
		if end := logEnd(t, w.url); end < seen {
			t.Fatalf("a reader showed commit %d, but the log now ends at %d", seen, end)
		}
		askAgain(t, w.url, &told, &next)
	}
	for i := range killClients {
		var page struct {
			Balances []struct{ Quantity int }
		}
		mustGet(t, fmt.Sprintf("%s/v1/read/container/%d/balances?min_seq=%d&wait=20s", r.url, i+1, logEnd(t, w.url)), &page)
		if len(page.Balances) != 1 || page.Balances[0].Quantity != next[i] {
			t.Errorf("client %d made %d commits of 1, but its balance is %v", i, next[i], page.Balances)
		}
	}
	for _, fault := range see.stop() {
		t.Error(fault)
	}
	w.stop(t)
	r.stop(t)
}

// underLoad lets clients commit, and kills the daemon under this load once the given
// number of commits is acknowledged.
func underLoad(t *testing.T, w *process, most int64, told *[killClients]map[int]string, next *[killClients]int) {
	t.Helper()
	var acknowledged atomic.Int64
	var clients sync.WaitGroup
	enough := make(chan struct{})
	for i := range killClients {
		clients.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for {
				a, err := post(client, w.url+"/v1/commit", addOne(i, next[i]))
				if err != nil {
					return // the outcome is unknown
				}
				if a.status != 200 {
					t.Errorf("client %d got %d %s, want 200", i, a.status, a.body)
					return
				}
				told[i][next[i]] = a.body
				next[i]++
				if acknowledged.Add(1) == most {
					close(enough)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { clients.Wait(); close(ended) }()
	select {
	case <-enough:
	case <-ended:
		t.Error("the clients stopped before enough commits were acknowledged")
	}
	w.kill()
	<-ended
}

// askAgain repeats all acknowledged requests, which must get the same responses. It
// then repeats the requests that got no response.
func askAgain(t *testing.T, url string, told *[killClients]map[int]string, next *[killClients]int) {
	t.Helper()
	for i := range told {
		for n, was := range told[i] {
			a, err := post(http.DefaultClient, url+"/v1/commit", addOne(i, n))
			if err != nil {
				t.Fatal(err)
			}
			if !a.hit || a.body != was {
				t.Fatalf("client %d, commit %d: the response was\n%s\nand after the restart (hit: %t)\n%s", i, n, was, a.hit, a.body)
			}
		}
		told[i][next[i]] = mustCommit(t, url, addOne(i, next[i])) // it takes effect once, even if the killed daemon had committed it
		next[i]++
	}
}

// logEnd returns the end of the log, as the write daemon reports it.
func logEnd(t *testing.T, url string) int64 {
	t.Helper()
	var health struct {
		Log struct {
			End int64 `json:"end_seq"`
		} `json:"commit_log"`
	}
	mustGet(t, url+"/v1/health", &health)
	return health.Log.End
}

// A watcher reads a read daemon's freshness constantly.
type watcher struct {
	highest atomic.Int64 // highest visible commit
	end     chan struct{}
	done    chan []string
}

func watch(url string) *watcher {
	w := &watcher{end: make(chan struct{}), done: make(chan []string, 1)}
	go func() {
		var faults []string
		for len(faults) < 10 {
			select {
			case <-w.end:
				w.done <- faults
				return
			default:
			}
			var page struct {
				Freshness struct {
					Checkpoint int64 `json:"checkpoint_seq"`
					Log        int64 `json:"commit_log_seq"`
				}
			}
			a, err := get(http.DefaultClient, url+"/v1/read/freshness")
			if err != nil || a.status != 200 || json.Unmarshal([]byte(a.body), &page) != nil {
				faults = append(faults, fmt.Sprintf("the read daemon responded with %v %d %s", err, a.status, a.body))
				continue
			}
			f := page.Freshness
			if f.Checkpoint > f.Log {
				faults = append(faults, fmt.Sprintf("a read showed commit %d when the log's durable end was %d", f.Checkpoint, f.Log))
			}
			if before := w.highest.Load(); f.Checkpoint < before {
				faults = append(faults, fmt.Sprintf("a read showed commit %d, but a later one only %d", before, f.Checkpoint))
			}
			w.highest.Store(f.Checkpoint)
		}
		w.done <- faults
	}()
	return w
}

// stop stops watching, and returns the faults.
func (w *watcher) stop() []string {
	close(w.end)
	return <-w.done
}
