package wal_test

import (
	"errors"
	"syscall"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// TestCopyCrashes interrupts the filling of a copy at each operation: it kills the
// process, crashes the machine, or makes the operation fail. The copy then continues,
// and must end up with the same bytes as the original.
func TestCopyCrashes(t *testing.T) {
	step := raceFactor
	if !longtest.Form(t, "nine of ten operations of a copy") {
		step *= 10
	}
	for name, appendCopy := range map[string]func(*wal.Writer, *wal.Frame) error{
		"at once": (*wal.Writer).AppendCopy, "in halves": appendInHalves, "in groups": (*wal.Writer).PutCopy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copyCrashes(t, step, appendCopy)
		})
	}
}

// copyEnds are the ways in which filling a copy can end at one operation. In the last
// one, the copy is opened again, and the frames that Open finds must survive a crash.
var copyEnds = []struct {
	name string
	plan func(n int) memfs.Plan
	then func(*memfs.Disk) error
}{
	{"the process ends", memfs.KillAt, func(*memfs.Disk) error { return nil }},
	{"the machine crashes", memfs.KillAt, func(d *memfs.Disk) error { d.Crash(); return nil }},
	{"the operation fails", func(n int) memfs.Plan { return memfs.FailFrom(n, syscall.EIO, false) }, func(d *memfs.Disk) error {
		o := options(d.Process(), nil)
		o.Copy = true
		w, err := wal.Open(copyDir, o)
		if err == nil {
			err = w.Close()
		}
		d.Crash()
		return err
	}},
}

func copyCrashes(t *testing.T, step int, appendCopy func(*wal.Writer, *wal.Frame) error) {
	d, from := original(t)
	for _, end := range copyEnds {
		n := 0
		for ; ; n += step {
			to := memfs.New(uint64(n))
			p := to.Process()
			p.Plan(end.plan(n))
			var durable uint64 // as reported by the copy
			put := func(w *wal.Writer, f *wal.Frame) error {
				err := appendCopy(w, f)
				durable = w.Durable()
				return err
			}
			var err error
			alive := memfs.Survives(func() { err = fillCopyBy(put, from, crashDir, p, copyDir) })
			if alive && p.Operations() <= n {
				break
			}
			if alive && err != nil && !errors.Is(err, syscall.EIO) {
				t.Fatalf("got %v, want EIO or nil", err)
			}
			p.Kill()
			if err := end.then(to); err != nil {
				t.Fatalf("%s at operation %d: %v", end.name, n, err)
			}
			if report, err := wal.Verify(copyDir, wal.VerifyOptions{FS: to.Process()}); durable > 0 && (err != nil || report.LastSeq < durable) {
				t.Fatalf("%s at operation %d: commit %d was durable, but Verify reports %+v, %v", end.name, n, durable, report, err)
			}
			if err := errors.Join(fillCopy(from, crashDir, to.Process(), copyDir), sameSegments(d, to)); err != nil {
				t.Fatalf("%s at operation %d: %v", end.name, n, err)
			}
		}
		if n < 150 {
			t.Errorf("%s: only %d operations, want at least 150", end.name, n)
		}
	}
}
