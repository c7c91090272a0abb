package systemtest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongDirectory checks that a read daemon does not create a missing
// directory. The daemon reports that it waits for the directory, and serves the
// ledger once the write daemon has created it.
func TestWrongDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "log")
	r := startProcess(t, "ledger-read", "-dir", dir)
	for path, want := range map[string]string{"/v1/health": `"status":"degraded"`, "/v1/readyz": "does not exist"} {
		if a, err := get(http.DefaultClient, r.url+path); err != nil || a.status != 503 || !strings.Contains(a.body, want) {
			t.Errorf("%s: %v %d %s, want 503 and %s", path, err, a.status, a.body, want)
		}
	}
	if a, err := get(http.DefaultClient, r.url+"/v1/read/classes"); err != nil || a.status != 200 {
		t.Errorf("a read: %v %d %s, want 200", err, a.status, a.body)
	}
	if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
		t.Errorf("the read daemon created a directory: %v", err)
	}
	w := startWriteProcess(t, dir)
	mustCommit(t, w.url, goodContainers)
	if a, err := get(http.DefaultClient, r.url+"/v1/read/class/1?min_seq=1&wait=30s"); err != nil || a.status != 200 {
		t.Errorf("a read once the directory exists: %v %d %s, want 200", err, a.status, a.body)
	}
	if a, err := get(http.DefaultClient, r.url+"/v1/health"); err != nil || a.status != 200 {
		t.Errorf("health once the directory exists: %v %d %s, want 200", err, a.status, a.body)
	}
	for _, name := range []string{"ledger-write", "ledger-read"} {
		within := filepath.Join(dir, "ckpt", "new")
		code, _, words := runProgram(t, name, "-dir", within, "-listen", "127.0.0.1:0")
		if code != 2 || !strings.Contains(words, within+" is part of the log in "+dir) {
			t.Errorf("%s within the log: exit code %d, want 2 and the log: %s", name, code, words)
		}
	}
	w.stop(t)
	r.stop(t)
	if words := r.words.String(); !strings.Contains(words, "is -dir right?") || !strings.Contains(words, dir) {
		t.Errorf("standard error must ask whether -dir is right: %s", words)
	}
}
