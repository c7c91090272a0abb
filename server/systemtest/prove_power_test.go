package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// TestProvePowerCut repeatedly cuts the power of the log's disk under load.
// Everything that was acknowledged must be there afterwards.
func TestProvePowerCut(t *testing.T) {
	if !onMachineOfItsOwn(t) {
		return
	}
	rounds := proof(t, 3, 20)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	d := newDisk(t, t.TempDir(), 512<<20)
	r := newRig(t, filepath.Join(d.at, "log"), "1048576", seed)
	for round := range rounds {
		r.start()
		r.cutUnderLoad(d, time.Duration(300+rng.IntN(1200))*time.Millisecond)
		r.verify()
		if err := r.check(); err != nil {
			t.Fatalf("after power cut %d: %v", round+1, err)
		}
	}
	done, open := r.acknowledged()
	t.Logf("%d power cuts; %d commits acknowledged, %d requests with an unknown outcome, %d reads; none lost, none undone", rounds, done, open, r.poller.count)
}

// cutUnderLoad cuts the power after some time, and mounts the disk again.
func (r *rig) cutUnderLoad(d *disk, after time.Duration) {
	r.t.Helper()
	r.load()
	time.Sleep(after)
	r.readAt.clear() // its disk is gone, so its responses no longer count
	d.cut()
	if code := r.write.exit(r.t); code != 1 {
		r.t.Errorf("without a disk the write daemon exited with code %d, want 1\n%s", code, r.write.words)
	}
	r.writeAt.clear() // only now, because without a commit the daemon would not notice the failure
	r.write = nil
	r.kill(false, true)
	r.endLoad()
	d.unmount()
	d.mount()
}

// TestProvePowerCutWithoutSync tests the test itself: with a sync that does
// nothing but report success, the same rig must find lost commits.
func TestProvePowerCutWithoutSync(t *testing.T) {
	if !onMachineOfItsOwn(t, "strace") {
		return
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for round := range proof(t, 1, 5) {
		d := newDisk(t, t.TempDir(), 512<<20)
		r := newRig(t, filepath.Join(d.at, "log"), "1048576", seed)
		r.start()
		inject(t, r.write, "fdatasync,fsync", "retval=0")
		r.cutUnderLoadSabotaged(d)
		err := r.check()
		done, _ := r.acknowledged()
		t.Logf("without a sync, %d commits acknowledged, %d found lost", done, lost(err))
		if lost(err) == 0 {
			t.Errorf("round %d: the rig did not find the loss of commits that were never synced: %v", round+1, err)
		}
		r.close()
		d.unmount()
	}
}

// cutUnderLoadSabotaged is like cutUnderLoad, but for a daemon that does not notice
// the cut.
func (r *rig) cutUnderLoadSabotaged(d *disk) {
	r.t.Helper()
	r.load()
	time.Sleep(time.Second)
	r.readAt.clear()
	d.cut()
	r.kill(true, true)
	r.endLoad()
	d.unmount()
	d.mount()
}

var attached = regexp.MustCompile(`Process \d+ attached`)

// inject makes strace change the result of system calls of a running daemon. It
// returns once strace is attached. strace ends with the daemon.
func inject(t *testing.T, p *process, calls, how string) {
	t.Helper()
	cmd := exec.Command("strace", "-f", "-p", fmt.Sprint(p.cmd.Process.Pid), "-o", "/dev/null",
		"-e", "trace="+calls, "-e", fmt.Sprintf("inject=%s:%s", calls, how))
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	buf := make([]byte, 1000)
	n, _ := said.Read(buf) // "strace: Process N attached with M threads"
	go func() {
		for err := error(nil); err == nil; {
			_, err = said.Read(buf)
		}
	}()
	if text := string(buf[:n]); !attached.MatchString(text) {
		t.Skipf("needs the right to trace processes: %s", text)
	}
}
