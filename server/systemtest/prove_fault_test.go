package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// fileAndOffset matches the place of damage in a message.
var fileAndOffset = regexp.MustCompile(`wal/\d{20}\.seg at offset \d+`)

// TestCutSegment truncates the mapped segment of a read daemon that must read
// the missing part next, so that the kernel sends SIGBUS. The daemon must stop
// with exit code 3, and name the file and the offset.
func TestCutSegment(t *testing.T) {
	t.Parallel()
	r := newRig(t, filepath.Join(t.TempDir(), "log"), longSegment, 5)
	r.unreadable(func(segment string) {
		if err := os.Truncate(segment, 8192); err != nil {
			t.Fatal(err)
		}
	})
}

// unreadable suspends the read daemon with SIGSTOP, commits, damages the segment,
// and resumes the daemon. The daemon must then exit with code 3, and name the file
// and the offset.
func (r *rig) unreadable(breaks func(segment string)) {
	r.t.Helper()
	r.start()
	reader := r.read
	mustShow(r.t, reader.url, 1, 1)
	r.readAt.clear()
	reader.cmd.Process.Signal(syscall.SIGSTOP)
	r.load()
	for logEnd(r.t, r.write.url) < 2000 {
	}
	r.endLoad()
	r.write.stop(r.t)
	r.writeAt.clear()
	r.write = nil
	breaks(filepath.Join(r.dir, "wal", "00000000000000000001.seg"))
	reader.cmd.Process.Signal(syscall.SIGCONT)
	code := reader.exit(r.t)
	r.read = nil
	words := reader.words.String()
	if code != 3 || !fileAndOffset.MatchString(words) || strings.Contains(words, "goroutine ") {
		r.t.Errorf("exit code %d, want 3, with file and offset, and without a stack trace:\n%.4000s", code, words)
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	r.t.Log(lines[len(lines)-1])
}

// TestCutEnd truncates the mapped END of a write daemon, so that the kernel
// sends SIGBUS. The next commit must get 503 LogUnavailable. The daemon must stop
// with exit code 1 and a message that names END, and the next daemon must have all
// commits.
func TestCutEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "log")
	w := startWriteProcess(t, dir)
	mustCommit(t, w.url, setUp())
	end := filepath.Join(dir, "END")
	if err := os.Truncate(end, 0); err != nil {
		t.Fatal(err)
	}
	const add = `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}],"idempotency_key":"k"}`
	a, err := post(http.DefaultClient, w.url+"/v1/commit", add)
	if err != nil || a.status != 503 || !strings.Contains(a.body, `"LogUnavailable"`) {
		t.Errorf("the response to a commit is %v %d %s, want 503 LogUnavailable", err, a.status, a.body)
	}
	code := w.exit(t)
	words := w.words.String()
	if code != 1 || !strings.Contains(words, end) || strings.Contains(words, "goroutine ") {
		t.Errorf("exit code %d, want 1, with the name of END, and without a stack trace:\n%.4000s", code, words)
	}
	w = startWriteProcess(t, dir)
	mustCommit(t, w.url, add) // takes effect only once, even if the first attempt was committed
	var balances struct{ Balances []struct{ Quantity int } }
	r := startProcess(t, "ledger-read", "-dir", dir)
	mustGet(t, fmt.Sprintf("%s/v1/read/container/1/balances?min_seq=%d&wait=20s", r.url, logEnd(t, w.url)), &balances)
	if n := logEnd(t, w.url); n != 2 || len(balances.Balances) != 1 || balances.Balances[0].Quantity != 1 {
		t.Errorf("the log ends at %d with %+v, want 2 and a quantity of 1", n, balances)
	}
}
