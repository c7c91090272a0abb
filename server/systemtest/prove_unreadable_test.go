package systemtest

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/wal"
)

// TestProveUnreadable makes the disk answer reads of the log with EIO. If a read daemon
// has the log mapped, the kernel then sends SIGBUS.
func TestProveUnreadable(t *testing.T) {
	if !onMachineOfItsOwn(t) {
		return
	}
	l := newLogToBreak(t)
	t.Run("what follows", l.breaksAhead)
	t.Run("what follows, once", l.hiccups)
	t.Run("at the start", l.brokenAtStart)
	t.Run("old commits", l.breaksBehind)
	t.Run("the header of an old segment", l.breaksHeader)
}

// A logToBreak is a log of several segments whose write daemon has stopped.
type logToBreak struct {
	dir    string        // of the log; bad disks are mounted on its folder wal
	folder string        // the folder that the bad disks show
	name   string        // of the first segment
	second uint64        // first commit of the second segment
	end    uint64        // of the log
	middle wal.FrameInfo // a frame in the middle of the first segment
}

func newLogToBreak(t *testing.T) *logToBreak {
	r := newRig(t, filepath.Join(t.TempDir(), "log"), "65536", 8)
	r.start()
	r.load()
	for logEnd(t, r.write.url) < 3000 {
	}
	r.endLoad()
	r.poller.stop()
	r.poller = nil
	r.write.stop(t)
	r.read.stop(t) // it writes a checkpoint
	r.write, r.read = nil, nil
	l := &logToBreak{dir: r.dir, folder: r.dir + ".wal"}
	report, err := wal.Verify(r.dir, wal.VerifyOptions{OnFrame: func(f *wal.FrameInfo) error {
		switch {
		case f.Seal && l.second == 0:
			l.second, l.name = f.Frame.First, filepath.Base(f.File)
		case l.second == 0 && f.Offset < 24<<10:
			l.middle = *f
		}
		return nil
	}})
	if err != nil || report.Segments < 3 {
		t.Fatalf("the log must have at least 3 segments: %+v, %v", report, err)
	}
	l.end = report.End
	if err := os.Rename(filepath.Join(l.dir, "wal"), l.folder); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(l.dir, "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	return l
}

// mount mounts a disk without faults, with an empty cache.
func (l *logToBreak) mount(t *testing.T) *badDisk {
	t.Helper()
	at := filepath.Join(l.dir, "wal")
	d := mountBadDisk(t, l.folder, at)
	t.Cleanup(func() { d.unmount(t, at) })
	return d
}

// setEnd stores a durable end in END, as a write daemon does.
func (l *logToBreak) setEnd(t *testing.T, seq uint64) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(l.dir, "END"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	word := func(at int64, v uint64) {
		if _, err := f.WriteAt(binary.LittleEndian.AppendUint64(nil, v), at); err != nil {
			t.Fatal(err)
		}
	}
	word(80, ^seq)
	word(64, seq)
	word(88, ^seq)
}

// withoutCheckpoints starts a read daemon that has no checkpoint, and so must read
// the log. Until the next setEnd, the log ends in the middle of its first segment.
func (l *logToBreak) withoutCheckpoints(t *testing.T) *process {
	t.Helper()
	kept := filepath.Join(l.dir, "ckpt")
	if err := os.Rename(kept, kept+".kept"); err != nil {
		t.Fatal(err)
	}
	l.setEnd(t, l.middle.Frame.Last())
	t.Cleanup(func() {
		os.RemoveAll(kept)
		if err := os.Rename(kept+".kept", kept); err != nil {
			t.Fatal(err)
		}
		l.setEnd(t, l.end)
	})
	reader := startProcess(t, "ledger-read", "-dir", l.dir, "-checkpoint-every", "0")
	mustShow(t, reader.url, 1, int64(l.middle.Frame.Last()))
	return reader
}

// breaksAhead makes reads fail on the pages that the daemon needs next.
func (l *logToBreak) breaksAhead(t *testing.T) {
	d := l.mount(t)
	reader := l.withoutCheckpoints(t)
	from := l.middle.Offset + l.middle.Size + 8192
	d.fail(func(name string, _, to int64) bool { return name == l.name && to > from })
	began := time.Now()
	l.setEnd(t, l.end)
	for {
		a, err := get(http.DefaultClient, reader.url+"/v1/health")
		if err != nil || a.status == 503 {
			t.Logf("reported after %v: %v %d %s", time.Since(began).Round(time.Millisecond), err, a.status, a.body)
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatalf("the health is still %d %s after 20 s, want 503", a.status, a.body)
		}
	}
	l.mustEndDamaged(t, d, reader.exit(t), reader.words.String())
}

func (l *logToBreak) mustEndDamaged(t *testing.T, d *badDisk, code int, words string) {
	t.Helper()
	if code != 3 || !fileAndOffset.MatchString(words) || !strings.Contains(words, "input/output error") || strings.Contains(words, "goroutine ") {
		t.Errorf("exit code %d, want 3, with file and offset, and without a stack trace:\n%.4000s", code, words)
	}
	if d.faults.Load() == 0 {
		t.Error("the disk never returned an error, so this tests nothing")
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	t.Log(lines[len(lines)-1])
}

// hiccups makes one read through the mapping fail. The file itself can still be
// read.
func (l *logToBreak) hiccups(t *testing.T) {
	d := l.mount(t)
	reader := l.withoutCheckpoints(t)
	var failed atomic.Bool
	d.fail(func(name string, _, to int64) bool {
		return name == l.name && to > l.middle.Offset+l.middle.Size+8192 && !failed.Swap(true)
	})
	l.setEnd(t, l.end)
	mustShow(t, reader.url, 1, int64(l.end))
	if d.faults.Load() != 1 {
		t.Errorf("%d reads failed, want 1", d.faults.Load())
	}
	awaitStatus(t, reader.url+"/v1/health", 200)
	reader.stop(t)
}

// brokenAtStart starts a daemon after the disk has failed. It checks that the daemon
// never serves, and that wal verify reports the place of the failure.
func (l *logToBreak) brokenAtStart(t *testing.T) {
	d := l.mount(t)
	d.fail(func(name string, _, to int64) bool { return name == l.name && to > 40<<10 })
	code, _, words := runProgram(t, "ledgerctl", "wal", "verify", "-dir", l.dir)
	if code != 6 || !fileAndOffset.MatchString(words) || !strings.Contains(words, "input/output error") {
		t.Errorf("wal verify: exit code %d, want 6, with file, offset and an input/output error\n%s", code, words)
	}
	kept := filepath.Join(l.dir, "ckpt")
	os.Rename(kept, kept+".kept")
	defer os.Rename(kept+".kept", kept)
	code, out, words := runProgram(t, "ledger-read", "-dir", l.dir, "-listen", "127.0.0.1:0")
	if out != "" {
		t.Errorf("the read daemon printed %q, want nothing", out)
	}
	l.mustEndDamaged(t, d, code, words)
}

// breaksBehind checks commits that were applied long ago and can no longer be
// read back.
func (l *logToBreak) breaksBehind(t *testing.T) {
	l.readsBack(t, 1, func(name string, _, to int64) bool { return name == l.name && to > 40<<10 })
}

func (l *logToBreak) breaksHeader(t *testing.T) {
	l.readsBack(t, 0, func(name string, from, _ int64) bool { return name == l.name && from == 0 })
}

// readsBack checks that balances are served as before, because they do not
// depend on the lost bytes. Reads of commits in those bytes are rejected, and
// health is degraded.
func (l *logToBreak) readsBack(t *testing.T, readable int, fails func(string, int64, int64) bool) {
	// Without a folder for it, the history index is not built. Building it would read
	// the old segments.
	history := filepath.Join(l.dir, "history")
	os.RemoveAll(history)
	if err := os.WriteFile(history, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(history)
	d := l.mount(t)
	reader := startProcess(t, "ledger-read", "-dir", l.dir) // from its checkpoint
	const balances = "/v1/read/container/1/balances"
	before, err := get(http.DefaultClient, reader.url+balances)
	if err != nil || before.status != 200 {
		t.Fatalf("the balances before: %v %d %s, want 200", err, before.status, before.body)
	}
	for seq := range readable {
		var page struct{}
		mustGet(t, fmt.Sprintf("%s/v1/read/commit/%d", reader.url, seq+1), &page)
	}
	awaitStatus(t, reader.url+"/v1/health", 200)
	d.fail(fails)
	a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/commit/%d", reader.url, l.second-1))
	if err != nil || a.status != 503 || !strings.Contains(a.body, "LogUnavailable") || d.faults.Load() == 0 {
		t.Errorf("a commit that can't be read: %v %d %s, want 503 LogUnavailable", err, a.status, a.body)
	}
	health, err := get(http.DefaultClient, reader.url+"/v1/health") // immediately
	if err != nil || health.status != 503 || !strings.Contains(health.body, "degraded") {
		t.Errorf("the health is %v %d %s, want 503 and degraded", err, health.status, health.body)
	}
	if now, err := get(http.DefaultClient, reader.url+balances); err != nil || now.status != 200 || now.body != before.body {
		t.Errorf("the balances are %v %d %s, want %s", err, now.status, now.body, before.body)
	}
	reader.stop(t)
}
