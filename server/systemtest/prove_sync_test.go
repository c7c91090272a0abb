package systemtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// longSegment is so large that no test here needs a second segment.
const longSegment = "67108864"

// TestProveFailingSync makes the syncs of the log begin to fail under load, in two
// ways. The responses to all waiting and all later requests must say that the
// outcome is unknown, the daemon must exit with code 1, and the next one must
// settle the outcome.
func TestProveFailingSync(t *testing.T) {
	if !onMachineOfItsOwn(t, "strace", "fallocate") {
		return
	}
	t.Run("injected error", func(t *testing.T) {
		d := newDisk(t, t.TempDir(), 256<<20)
		r := newRig(t, filepath.Join(d.at, "log"), longSegment, 1)
		r.start()
		r.failing(func() { inject(t, r.write, "fdatasync", "error=EIO") })
		r.outlives(d)
	})
	t.Run("full device", func(t *testing.T) {
		for n := range proof(t, 2, 10) {
			r := newRigOnFullDevice(t, uint64(n))
			r.close()
		}
	})
}

// newRigOnFullDevice makes the syncs of a log fail because its device, an image
// in a tmpfs, has no room. A loop device counts a short write there as complete
// (seen on Linux 6.18), so it lies about acknowledged frames. Therefore, either
// everything that was acknowledged must be there, or the log must be rejected.
func newRigOnFullDevice(t *testing.T, seed uint64) *rig {
	t.Helper()
	memory := newTmpfs(t, "128m")
	d := newDiskWithoutJournal(t, memory, 256<<20)
	r := newRig(t, filepath.Join(d.at, "log"), longSegment, seed)
	// The log's segment is full of zeroes. fallocate turns them into holes, so that
	// the device must find room for every new frame.
	r.start()
	r.kill(true, true)
	d.unmount()
	run(t, "fallocate", "--dig-holes", d.image)
	d.mount()
	r.start()
	filler := filepath.Join(memory, "filler")
	r.failing(func() { fill(t, filler) })
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if !r.refused() {
		r.start()
		r.kill(true, true)
		d.unmount()
		d.mount()
	}
	if r.refused() {
		return r
	}
	r.outlives(d)
	return r
}

// refused reports whether the log is found to be damaged, first by verify and then
// by the write daemon too.
func (r *rig) refused() bool {
	r.t.Helper()
	code, _, words := runProgram(r.t, "ledgerctl", "wal", "verify", "-dir", r.dir)
	if code == 0 {
		return false
	}
	if code, _, _ := runProgram(r.t, "ledger-write", "-dir", r.dir, "-listen", "127.0.0.1:0"); code != 3 {
		r.t.Errorf("on a log that verify rejects, the write daemon exited with code %d, want 3", code)
	}
	if code != 6 || !fileAndOffset.MatchString(words) {
		r.t.Errorf("verify exited with code %d, want 6, with file and offset: %s", code, words)
	}
	r.t.Logf("the device lied, and the log is rejected: %s", words)
	return true
}

// failing makes the disk fail under load, and checks what clients are told.
func (r *rig) failing(fail func()) {
	r.t.Helper()
	r.load()
	time.Sleep(300 * time.Millisecond)
	fail()
	if code := r.write.exit(r.t); code != 1 {
		r.t.Errorf("exit code %d, want 1\n%s", code, r.write.words)
	}
	r.writeAt.clear()
	r.write = nil
	r.endLoad()
	told := 0
	for _, c := range r.clients {
		if c.refused == nil {
			continue // it was between two requests when the daemon exited
		}
		told++
		if !strings.Contains(c.refused.body, `"LogUnavailable"`) || !strings.Contains(c.refused.body, "It is unknown whether this request took effect: send it again with the same idempotency key") {
			r.t.Errorf("client %d was told %d %s, want LogUnavailable and that the outcome is unknown", c.id, c.refused.status, c.refused.body)
		}
	}
	if told < rigClients/2 {
		r.t.Errorf("only %d of %d clients were told that the outcome is unknown, want at least half", told, rigClients)
	}
	r.t.Logf("%d of %d clients were told that the outcome is unknown, the others found no daemon", told, rigClients)
}

// outlives starts a daemon on the log whose sync failed, without a reboot, so
// the page cache has bytes that are not on disk. Everything that the daemon
// then counts as durable must be there after the page cache is gone.
func (r *rig) outlives(d *disk) {
	r.t.Helper()
	r.verify()
	r.start()
	end := logEnd(r.t, r.write.url)
	r.kill(true, true)
	d.unmount()
	d.mount()
	r.verify()
	r.start()
	if now := logEnd(r.t, r.write.url); now < end {
		r.t.Errorf("the log ended at commit %d, but at commit %d when it was read from the disk", end, now)
	}
	r.load() // which repeats the pending jobs
	time.Sleep(300 * time.Millisecond)
	r.endLoad()
	if err := r.check(); err != nil {
		r.t.Error(err)
	}
	done, open := r.acknowledged()
	r.t.Logf("%d commits acknowledged, %d requests with an unknown outcome; none lost", done, open)
}
