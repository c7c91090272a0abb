package wal_test

import (
	"errors"
	"syscall"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// These tests repair a copy whose END may not cover its last frames. If the sync of
// these frames failed, they are only in the page cache, and those that the repair keeps
// must survive a power cut. After a reboot, the frames come from the disk, and the
// repair writes none of them again.

// failedGroup fills a copy with one durable frame and a group of others, whose sync
// fails if fail is set. Then it damages the place after them. It returns the last
// global_seq before that place.
func failedGroup(t *testing.T, to *memfs.Disk, fail bool) (last uint64) {
	t.Helper()
	d, p := memfs.New(1), to.Process()
	defer p.Kill()
	var r run
	if err := r.work(d.Process(), 1, 5); err != nil {
		t.Fatal(err)
	}
	puts := 0
	err := fillCopyBy(func(w *wal.Writer, f *wal.Frame) error {
		if puts++; puts == 1 {
			return w.AppendCopy(f)
		}
		p.Plan(func(_ int, op memfs.Op, _ string) (fault memfs.Fault) {
			if fail && op == memfs.OpSync {
				fault.Err = syscall.EIO
			}
			return fault
		})
		if err := w.PutCopy(f); err != nil || f.Last() < r.acked {
			return err
		}
		if err := w.SyncCopy(); err != nil {
			return err
		}
		p.Kill() // before END is synced
		return errDone
	}, d.Process(), crashDir, p, copyDir)
	if want := map[bool]error{true: syscall.EIO, false: errDone}[fail]; !errors.Is(err, want) {
		t.Fatalf("got %v, want %v", err, want)
	}
	q := to.Process()
	defer q.Kill()
	at := int64(0)
	report, err := wal.Verify(copyDir, wal.VerifyOptions{FS: q, OnFrame: func(f *wal.FrameInfo) error { at = f.Offset + f.Size; return nil }})
	if err != nil || report.Frames < 3 || fail && report.End != 2 {
		t.Fatalf("Verify of the copy: %+v, %v; want at least 3 frames", report, err)
	}
	file, err := q.Open(copySegment, true)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 512)
	_, err = file.ReadAt(b, 4096) // a frame of this segment, which does not fit there
	if err == nil {
		_, err = file.WriteAt(b, at)
	}
	if err == nil && !fail {
		err = file.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	return report.LastSeq
}

var errDone = errors.New("done")

const copySegment = copyDir + "/wal/00000000000000000001.seg"

func TestRepairOfCopy(t *testing.T) {
	for seed := range uint64(20) {
		to := memfs.New(seed)
		last := failedGroup(t, to, true)
		report, err := wal.Repair(copyDir, wal.RepairOptions{FS: to.Process(), Accept: true})
		if err != nil || !report.Needed || report.Kept != last {
			t.Fatalf("repair: got %+v, %v; want Needed and Kept %d", report, err, last)
		}
		to.Crash()
		if report, err := wal.Verify(copyDir, wal.VerifyOptions{FS: to.Process()}); err != nil || report.LastSeq != last {
			t.Fatalf("seed %d: the repair kept commits up to %d, but after a power cut Verify returns %+v, %v", seed, last, report, err)
		}
	}
}

func TestRepairOfCopyInAnotherBoot(t *testing.T) {
	stale := 0
	for seed := range uint64(20) {
		to := memfs.New(seed)
		last := failedGroup(t, to, false)
		to.Crash()
		p := to.Process()
		if report, _ := wal.Verify(copyDir, wal.VerifyOptions{FS: p}); report.HasEnd && report.End < last {
			stale++
		}
		writes := 0
		p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
			if op == memfs.OpWrite && name == copySegment {
				writes++
			}
			return memfs.Fault{}
		})
		report, err := wal.Repair(copyDir, wal.RepairOptions{FS: p, Accept: true})
		if err != nil || report.Kept != last || writes != 1 { // zeroes over the damage
			t.Errorf("seed %d: %d writes, want 1; got %+v, %v, want Kept %d", seed, writes, report, err, last)
		}
	}
	if stale == 0 {
		t.Error("no END was behind the frames")
	}
}
