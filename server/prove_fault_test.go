package server_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// fileAndOffset is how damage is named.
var fileAndOffset = regexp.MustCompile(`wal/\d{20}\.seg at offset \d+`)

// TestCutSegment cuts the mapped segment under a read daemon that must read
// the missing part next, so that the kernel sends SIGBUS: it must stop with
// exit code 3, and name file and offset.
func TestCutSegment(t *testing.T) {
	r := newRig(t, filepath.Join(t.TempDir(), "log"), longSegment, 5)
	r.unreadable(func(segment string) {
		if err := os.Truncate(segment, 8192); err != nil {
			t.Fatal(err)
		}
	})
}

// unreadable puts the read daemon to sleep, commits, breaks the segment, and
// wakes it.
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
		r.t.Errorf("exit code %d, want 3, with file and offset, and no trace:\n%.4000s", code, words)
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	r.t.Log(lines[len(lines)-1])
}
