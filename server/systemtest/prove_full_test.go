package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProveFullDisk fills the disk under load. Requests must be rejected before
// the log's segment is full, health must report the full disk, and service must
// resume without a restart when there is room again.
func TestProveFullDisk(t *testing.T) {
	if !onMachineOfItsOwn(t) {
		return
	}
	t.Run("ext4", func(t *testing.T) {
		d := newDisk(t, t.TempDir(), 48<<20)
		outlivesFullDisk(t, d.at)
	})
	t.Run("tmpfs", func(t *testing.T) { outlivesFullDisk(t, newTmpfs(t, "32m")) })
}

func outlivesFullDisk(t *testing.T, at string) {
	r := newRig(t, filepath.Join(at, "log"), "262144", 3)
	r.start()
	life := r.write.cmd.Process.Pid
	filler := filepath.Join(at, "filler")
	for range proof(t, 2, 6) {
		r.load()
		r.fillUntilRefused(filler)
		r.mustRead()
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
		awaitStatus(t, r.write.url+"/v1/health", http.StatusOK)
		end := logEnd(t, r.write.url)
		awaits(t, "something is committed, because there is room again", func() bool { return logEnd(t, r.write.url) != end })
		r.endLoad()
		r.verify()
		if err := r.check(); err != nil {
			t.Error(err)
		}
	}
	if r.write.cmd.Process.Pid != life || r.write.ended == nil {
		t.Error("the write daemon was restarted")
	}
	done, open := r.acknowledged()
	t.Logf("%d commits acknowledged, %d requests with an unknown outcome; none lost", done, open)
}

// fillUntilRefused fills the disk until both health and commits report that it is
// full. It fills the disk repeatedly, because ext4 finds some more room after writing.
func (r *rig) fillUntilRefused(filler string) {
	r.t.Helper()
	const body = `{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"full-%d"}`
	var health, a answer
	var err error
	for n, deadline := 0, time.Now().Add(2*time.Minute); time.Now().Before(deadline); n++ {
		fill(r.t, filler)
		if health, err = get(http.DefaultClient, r.write.url+"/v1/health"); err != nil {
			r.t.Fatal(err)
		}
		if health.status != 503 {
			continue
		}
		if !strings.Contains(health.body, `"degraded"`) {
			r.t.Fatalf("on a full disk the health is %s, want degraded", health.body)
		}
		if a, err = post(http.DefaultClient, r.write.url+"/v1/commit", fmt.Sprintf(body, 77_000_000+n, n)); err != nil {
			r.t.Fatal(err)
		}
		if a.status == 503 && strings.Contains(a.body, `"LogUnavailable"`) && strings.Contains(a.body, "disk of the commit log is full") {
			return
		}
	}
	r.t.Fatalf("a full disk is not reported: the health is %d %s, the response to a commit is %d %s", health.status, health.body, a.status, a.body)
}

// mustRead checks that the read daemon serves reads.
func (r *rig) mustRead() {
	r.t.Helper()
	if a, err := get(http.DefaultClient, r.read.url+"/v1/read/classes"); err != nil || a.status != 200 {
		r.t.Errorf("the read daemon responds with %v %d %s, want 200", err, a.status, a.body)
	}
}
