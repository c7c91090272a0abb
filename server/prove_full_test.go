package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProveFullDisk fills the disk under load: requests are refused before the
// log's segment ends, health says so, and service resumes, without a restart,
// when there is room again.
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
	r := newRig(t, filepath.Join(at, "log"), "1048576", 3)
	r.start()
	life := r.write.cmd.Process.Pid
	filler := filepath.Join(at, "filler")
	if err := os.Mkdir(filler, 0o700); err != nil {
		t.Fatal(err)
	}
	for range proof(t, 2, 6) {
		r.load()
		for n := 0; n < 100; n++ { // ext4 finds some room again when it has written
			fill(t, filepath.Join(filler, fmt.Sprint(n)))
			if a, err := get(http.DefaultClient, r.write.url+"/v1/health"); err != nil || a.status != 200 {
				break
			}
		}
		health := awaitHealth(t, r.write.url, http.StatusServiceUnavailable)
		if !strings.Contains(health, `"degraded"`) {
			t.Errorf("on a full disk the health is %s", health)
		}
		a, err := post(http.DefaultClient, r.write.url+"/v1/commit", `{"operations":[{"op":"CreateContainer","args":{"container_id":77777,"kind":"Standard"}}]}`)
		if err != nil || a.status != 503 || !strings.Contains(a.body, `"LogUnavailable"`) || !strings.Contains(a.body, "disk of the commit log is full") {
			t.Errorf("on a full disk a commit is answered %v %d %s", err, a.status, a.body)
		}
		r.mustRead()
		if err := errors.Join(os.RemoveAll(filler), os.Mkdir(filler, 0o700)); err != nil {
			t.Fatal(err)
		}
		awaitHealth(t, r.write.url, http.StatusOK)
		end := logEnd(t, r.write.url)
		for deadline := time.Now().Add(20 * time.Second); logEnd(t, r.write.url) == end; {
			if time.Now().After(deadline) {
				t.Fatal("nothing is committed, though there is room again")
			}
		}
		r.endLoad()
		r.verify()
		if err := r.check(); err != nil {
			t.Error(err)
		}
	}
	if r.write.cmd.Process.Pid != life || r.write.ended == nil {
		t.Error("the write daemon was started again")
	}
	done, open := r.acknowledged()
	t.Logf("%d commits acknowledged, %d requests of unknown outcome; none lost", done, open)
}

// awaitHealth waits until a daemon's health has a status, and returns it.
func awaitHealth(t *testing.T, url string, status int) string {
	t.Helper()
	var last answer
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		a, err := get(http.DefaultClient, url+"/v1/health")
		if err != nil {
			t.Fatal(err)
		}
		if a.status == status {
			return a.body
		}
		last = a
	}
	t.Errorf("the health stays %d %s", last.status, last.body)
	return ""
}

// mustRead sees to it that the read daemon serves.
func (r *rig) mustRead() {
	r.t.Helper()
	if a, err := get(http.DefaultClient, r.read.url+"/v1/read/classes"); err != nil || a.status != 200 {
		r.t.Errorf("the read daemon answers %v %d %s", err, a.status, a.body)
	}
}
