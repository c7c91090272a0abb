package systemtest

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func spoil(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 4
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestBackupUnderLoad makes two backups of a log in use, both into the same directory,
// and starts a write daemon on the copy after each. Everything that was acknowledged
// before a backup began must be in it.
func TestBackupUnderLoad(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	w := writeSmall(t, dir)
	r := readEvery(t, dir, 20)
	var load sync.WaitGroup
	var mu sync.Mutex
	last, quit := 0, make(chan struct{})
	load.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-quit:
				return
			default:
			}
			if a, err := post(http.DefaultClient, w.url+"/v1/commit", wide(i)); err != nil || a.status != 200 {
				t.Errorf("commit %d: %v %d %s", i, err, a.status, a.body)
				return
			}
			mu.Lock()
			last = i
			mu.Unlock()
		}
	})
	acknowledged := func(atLeast int) int {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			mu.Lock()
			n := last
			mu.Unlock()
			if n >= atLeast {
				return n
			}
		}
		t.Fatalf("%d commits were not acknowledged in a minute", atLeast)
		return 0
	}
	for _, least := range []int{60, 120} {
		n := acknowledged(least)
		report, _ := ctl(t, 0, "backup", dir, out, "-o", "json")
		if continued := strings.Contains(report, `"continued":true`); continued != (least == 120) {
			t.Errorf("only the second backup continues a copy: %s", report)
		}
		ctl(t, 0, "wal", "verify", "-dir", out)
		again := acknowledged(n + 1)
		copyWriter := writeSmall(t, out)
		for _, i := range []int{1, n / 2, n} {
			if a, err := post(http.DefaultClient, copyWriter.url+"/v1/commit", wide(i)); err != nil || !a.hit {
				t.Errorf("commit %d of %d on the copy: %v %+v", i, again, err, a)
			}
		}
		copyWriter.stop(t)
	}
	close(quit)
	load.Wait()
	other := t.TempDir()
	x := writeSmall(t, other)
	if _, words := ctl(t, 1, "backup", other, out); !strings.Contains(words, "a log other than") {
		t.Errorf("the error of a backup of another log does not say so: %s", words)
	}
	x.stop(t)
	r.stop(t)
	w.stop(t)
}

// TestRepairAcceptsLoss damages a log in the middle, and repairs it.
func TestRepairAcceptsLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := writeSmall(t, dir)
	fillLog(t, w.url, 1, 30)
	if code, _, _ := runProgram(t, "ledgerctl", "wal", "repair", "-dir", dir, "-accept-loss"); code == 0 {
		t.Error("a log in use was repaired")
	}
	w.stop(t)
	if _, words := ctl(t, 0, "wal", "repair", "-dir", dir); !strings.Contains(words, "needs no repair") {
		t.Errorf("a good log needs no repair: %s", words)
	}
	f, err := os.OpenFile(files(t, dir, "wal", ".seg")[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const frame = 15872 // size of the frame of one wide commit, in bytes
	if _, err := f.WriteAt([]byte("damage"), 4096+2*frame+300); err != nil {
		t.Fatal(err)
	}
	f.Close()
	ctl(t, 6, "wal", "verify", "-dir", dir)
	plan, words := ctl(t, 6, "wal", "repair", "-dir", dir, "-o", "json")
	if !strings.Contains(plan, `{"global_seq":3,"idempotency_key":null,"readable":false}`) ||
		!strings.Contains(plan, `{"global_seq":4,"idempotency_key":"k4","readable":true}`) ||
		!strings.Contains(plan, `{"global_seq":30,"idempotency_key":"k30","readable":true}`) || strings.Count(plan, "\n") != 28 {
		t.Errorf("the plan must have commits 3 to 30, of which 3 is unreadable:\n%s%s", plan, words)
	}
	ctl(t, 6, "wal", "verify", "-dir", dir) // nothing was changed
	did, _ := ctl(t, 0, "wal", "repair", "-dir", dir, "-accept-loss", "-o", "json")
	if did != plan {
		t.Errorf("planned:\n%s\ndone:\n%s", plan, did)
	}
	ctl(t, 0, "wal", "verify", "-dir", dir)
	w = writeSmall(t, dir)
	if end := logEnd(t, w.url); end != 2 {
		t.Errorf("the log ends at %d, want 2", end)
	}
	fillLog(t, w.url, 3, 3)
	w.stop(t)
}
