package systemtest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/server/etcd/etcdtest"
)

// TestUpgradeWhileInUse performs an upgrade and a downgrade as docs/ops.md
// describes, while a client commits with idempotency keys and retries failed
// requests. Nothing may be lost or committed twice.
func TestUpgradeWhileInUse(t *testing.T) {
	t.Parallel()
	before, after := buildPrograms(t), filepath.Join(builtOnce(t), "bin") // the programs in after have the version "unknown"
	dir, writeAt, readAt := t.TempDir(), etcdtest.FreeAddress(t), etcdtest.FreeAddress(t)
	writer := func(folder string) *process {
		return startProcessFrom(t, folder, writeAt, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(testSegment))
	}
	reader := func(folder string) *process {
		return startProcessFrom(t, folder, readAt, "ledger-read", "-dir", dir, "-checkpoint-every", "50")
	}
	w, r := writer(before), reader(before)
	mustCommit(t, w.url, goodContainers)

	var acked atomic.Int64
	stop, ended := make(chan struct{}), make(chan struct{})
	url := w.url
	go func() {
		defer close(ended)
		pause := time.NewTicker(5 * time.Millisecond)
		defer pause.Stop()
		for n := 1; ; n++ {
			body := strings.TrimSuffix(goodCommit, "}") + fmt.Sprintf(`,"idempotency_key":"client-%d"}`, n)
			for {
				<-pause.C
				a, err := post(http.DefaultClient, url+"/v1/commit", body)
				if err == nil && a.status == 200 {
					break
				}
				if err == nil && a.status != 503 {
					t.Errorf("the client got %d %s, want 200 or 503", a.status, a.body)
					return
				}
			}
			acked.Add(1)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	more := func() {
		t.Helper()
		seen := acked.Load()
		awaits(t, "the client continues", func() bool {
			select {
			case <-ended:
				t.Fatal("the client gave up")
			default:
			}
			return acked.Load() >= seen+20
		})
	}
	is := func(version string, urls ...string) {
		t.Helper()
		for _, url := range urls {
			if a, err := get(http.DefaultClient, url+"/v1/metrics"); err != nil || !strings.Contains(a.body, `asset_ledger_build_info{version="`+version) {
				t.Errorf("%s does not run version %s: %v", url, version, err)
			}
		}
	}
	more()
	is("v0-test", w.url, r.url)
	ctl(t, 0, "backup", dir, t.TempDir()+"/backup")
	r.stop(t)
	r = reader(after)
	more()
	w.stop(t)
	w = writer(after)
	more()
	is("unknown", w.url, r.url)
	r.stop(t)
	w.stop(t)
	w, r = writer(before), reader(before)
	more()
	is("v0-test", w.url, r.url)
	close(stop)
	<-ended
	awaitSeq(t, r.url, int(acked.Load())+1)
	if got := balance(t, r.url); int64(got) != acked.Load() {
		t.Errorf("the balance is %d, want %d", got, acked.Load())
	}
}
