package systemtest

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd/etcdfake"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// TestHealthCountsCopies checks that the writer of a log on several machines is
// degraded while fewer than two copies on other hosts follow the log. Read daemons
// that copy the log over HTTP count, even if they copy it from a daemon that stands
// by.
func TestHealthCountsCopies(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	var later atomic.Int64 // nanoseconds by which the clock of host a's log is ahead
	a := startHost(t, store, "a", func(c *writer.Config) {
		d := c.Driver.(*etcdlog.Driver)
		d.Lease, d.Now = 300*time.Millisecond, func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	awaitStatus(t, a.url+"/v1/readyz", 200)
	mustCommit(t, a.url, standbyCommit)
	if h := awaitStatus(t, a.url+"/v1/health", 503); !strings.HasPrefix(h.body, `{"status":"degraded","role":"writer"`) || !strings.Contains(h.body, `"mirrors":[]`) {
		t.Errorf("health without copies must be degraded and list no mirrors: %s", h.body)
	}
	b := startHost(t, store, "b")
	c := startReader(t, t.TempDir()+"/log", func(c *reader.Config) { c.Mirror.From, c.Name, c.CheckpointEvery = b.url, "shop-eu", 0 })
	awaits(t, "both copies are in the metrics", func() bool {
		metrics, err := get(http.DefaultClient, a.url+"/v1/metrics")
		return err == nil && strings.Contains(metrics.body, "asset_ledger_write_mirror_seq{name=\"b\"} 1\n") &&
			strings.Contains(metrics.body, "asset_ledger_write_mirror_seq{name=\"shop-eu\"} 1\n")
	})
	h := awaitStatus(t, a.url+"/v1/health", 200)
	if !strings.HasPrefix(h.body, `{"status":"healthy","role":"writer"`) || !strings.Contains(h.body, `"mirrors":[{"name":"b","seq":1,"lag":0,`) || !strings.Contains(h.body, `{"name":"shop-eu","seq":1,`) {
		t.Errorf("health with a daemon that stands by and a mirror of it must be healthy and list both: %s", h.body)
	}
	awaitStatus(t, a.url+"/v1/readyz", 200)
	c.stop()
	b.stop()
	later.Store(int64(time.Minute)) // longer than the time for which a silent copy counts
	h = awaitStatus(t, a.url+"/v1/health", 503)
	if !strings.HasPrefix(h.body, `{"status":"degraded","role":"writer"`) {
		t.Errorf("health without copies again must be degraded: %s", h.body)
	}
	awaitStatus(t, a.url+"/v1/readyz", 200)
	mustCommit(t, a.url, strings.ReplaceAll(strings.ReplaceAll(standbyCommit, `"k"`, `"l"`), `:1,`, `:2,`))
}

// TestReadsWaitForTheCopy checks that a read with min_seq waits, on every host, for a
// commit that was just acknowledged. It must wait because a commit is durable before
// a copy has it.
func TestReadsWaitForTheCopy(t *testing.T) {
	t.Parallel()
	store := etcdfake.NewStore()
	dirs := map[string]string{}
	hosts := map[string]*daemon{}
	for _, name := range []string{"a", "b"} {
		hosts[name] = startHost(t, store, name, func(c *writer.Config) { dirs[name] = c.Dir })
		if name == "a" {
			awaitStatus(t, hosts[name].url+"/v1/readyz", 200)
		}
	}
	var readers []*daemon
	for _, name := range []string{"a", "b"} {
		readers = append(readers, startReader(t, dirs[name]))
	}
	for i := range 100 {
		mustCommit(t, hosts["a"].url, fmt.Sprintf(oneContainer, i+1))
		for _, r := range readers {
			a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/container/%d?min_seq=%d&wait=20s", r.url, i+1, i+1))
			if err != nil || a.status != 200 {
				t.Fatalf("reading commit %d: %d %s, %v; want 200", i+1, a.status, a.body, err)
			}
		}
	}
	a, err := get(http.DefaultClient, readers[0].url+"/v1/read/containers?min_seq=101&wait=1ms")
	if err != nil || a.status != 425 || !strings.Contains(a.body, "was not applied within 1ms") {
		t.Errorf("a commit that never arrives: %d %s, %v; want 425 after 1ms", a.status, a.body, err)
	}
}
