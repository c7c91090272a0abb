package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"assetledger/server/servertest/longtest"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// An errorScene is one action on a log, with everything that comes before it.
type errorScene struct {
	name    string
	prepare func(t *testing.T, d *memfs.Disk, r *run)           // on a disk without faults; may be nil
	open    bool                                                // the scene begins with an open writer
	again   func(d *memfs.Disk, r *run, failed error) error     // completes the work on a disk without faults; may be nil
	check   func(d *memfs.Disk) error                           // at the end; may be nil
	noCut   bool                                                // a power cut during the scene may lose commits, so none is simulated
	long    bool                                                // has many operations: only -exhaustive makes each of them fail in every way
	rereads bool                                                // a failed read is tried once more before it counts
	act     func(p *memfs.Process, w *wal.Writer, r *run) error // on the failing disk
}

var errorScenes = []errorScene{
	{name: "create", act: openAndAppend},
	{name: "append", prepare: worked(1, 2), open: true, act: appendOne},
	{name: "cut", prepare: worked(1, 6), open: true, act: appendOne},
	{name: "close", prepare: worked(1, 2), open: true, act: func(_ *memfs.Process, w *wal.Writer, _ *run) error { return w.Close() }},
	{name: "open", prepare: worked(2, 2), act: openAndAppend},
	{name: "recover after a kill", prepare: killedAtWrite(false), act: openAndAppend},
	{name: "recover after a power cut", prepare: killedAtWrite(true), act: openAndAppend},
	{name: "recover in a cut", prepare: killedInCut, act: openAndAppend},
	{name: "recover without END", prepare: withoutEnd(true), act: openAndAppend},
	{name: "recover without END in the same boot", prepare: withoutEnd(false), act: openAndAppend, noCut: true},
	{name: "read", prepare: worked(1, 7), rereads: true, act: readAllBack},
	{name: "verify", prepare: worked(1, 7), act: func(p *memfs.Process, _ *wal.Writer, _ *run) error {
		_, err := wal.Verify(crashDir, wal.VerifyOptions{FS: p})
		return err
	}},
	{name: "checkpoint and prune", prepare: worked(1, 3), act: writeCheckpoints, check: wholeCheckpoints},
	{name: "repair", prepare: damagedTail, act: func(p *memfs.Process, _ *wal.Writer, r *run) error {
		report, err := wal.Repair(crashDir, wal.RepairOptions{FS: p, Accept: true})
		r.acked = 0 // this scene may lose commits
		if err == nil {
			r.acked = report.Kept
		}
		return err
	}, again: repairAgain},
	archiveScene("archive", func(p *memfs.Process) wal.FS { return p }),
	archiveScene("archive to another disk", func(p *memfs.Process) wal.FS { return unlinkable{p} }),
	backupScene("backup", false),
	backupScene("continued backup", true),
}

func repairAgain(d *memfs.Disk, r *run, failed error) error {
	if failed == nil {
		return nil
	}
	p := d.Process()
	defer p.Kill()
	report, err := wal.Repair(crashDir, wal.RepairOptions{FS: p, Accept: true})
	if err != nil {
		return fmt.Errorf("repair again: %w", err)
	}
	r.acked = report.Kept
	if !report.Needed {
		r.acked = 0
	}
	return nil
}

func readAllBack(p *memfs.Process, _ *wal.Writer, r *run) error {
	last, err := readBack(p)
	if err == nil && last != r.acked {
		return fmt.Errorf("%w: read up to %d of %d", errLost, last, r.acked)
	}
	return err
}

// checkpointBytes returns the content of a checkpoint, which package wal does not
// interpret.
func checkpointBytes(seq uint64) []byte { return bytes.Repeat([]byte{byte(seq)}, 3000) }

func writeCheckpoints(p *memfs.Process, _ *wal.Writer, _ *run) error {
	for _, seq := range []uint64{2, 3, 5} {
		err := wal.WriteCheckpoint(crashDir, seq, options(p, nil), func(w io.Writer) error {
			_, err := w.Write(checkpointBytes(seq))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// wholeCheckpoints checks that each file with a checkpoint's name is complete.
func wholeCheckpoints(d *memfs.Disk) error {
	seqs, err := wal.ListCheckpoints(crashDir, options(d.Process(), nil))
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		if b, err := d.ReadFile(wal.CheckpointPath(crashDir, seq)); err != nil || !bytes.Equal(b, checkpointBytes(seq)) {
			return fmt.Errorf("%w: checkpoint %d: %d bytes, %v", errLost, seq, len(b), err)
		}
	}
	return nil
}

func worked(rounds, frames int) func(t *testing.T, d *memfs.Disk, r *run) {
	return func(t *testing.T, d *memfs.Disk, r *run) {
		if err := r.work(d.Process(), rounds, frames); err != nil {
			t.Fatal(err)
		}
	}
}

// killedAtWrite leaves a frame that was written but not synced. A power cut may tear it.
func killedAtWrite(powerCut bool) func(t *testing.T, d *memfs.Disk, r *run) {
	return func(t *testing.T, d *memfs.Disk, r *run) {
		killedIn(t, d, r, 2, memfs.OpSync)
		if powerCut {
			d.Crash()
		}
	}
}

// killedInCut leaves a sealed segment, with or without an empty successor.
func killedInCut(t *testing.T, d *memfs.Disk, r *run) { killedIn(t, d, r, 6, memfs.OpRename) }

func killedIn(t *testing.T, d *memfs.Disk, r *run, frames int, in memfs.Op) {
	worked(1, frames)(t, d, r)
	p := d.Process()
	w, err := wal.Open(crashDir, options(p, nil))
	if err != nil {
		t.Fatal(err)
	}
	p.Plan(func(_ int, op memfs.Op, name string) memfs.Fault {
		spare := strings.HasSuffix(name, "next.tmp") && op == memfs.OpSync
		return memfs.Fault{Kill: op == in && !spare}
	})
	if memfs.Survives(func() { r.append(w) }) {
		t.Fatal("the process was not killed")
	}
}

// withoutEnd leaves a log without END, as if a person or a power cut had
// removed it.
func withoutEnd(powerCut bool) func(t *testing.T, d *memfs.Disk, r *run) {
	return func(t *testing.T, d *memfs.Disk, r *run) {
		worked(1, 3)(t, d, r)
		d.RemoveFile(crashDir + "/END")
		if powerCut {
			d.Crash()
		}
	}
}

func damagedTail(t *testing.T, d *memfs.Disk, r *run) {
	worked(1, 3)(t, d, r)
	b, _ := d.ReadFile(firstSegment)
	b[4096+1024+100] ^= 1
	d.WriteFile(firstSegment, b)
}

func openAndAppend(p *memfs.Process, _ *wal.Writer, r *run) error { return r.work(p, 1, 1) }

func appendOne(_ *memfs.Process, w *wal.Writer, r *run) error {
	err := r.append(w)
	if errors.Is(err, wal.ErrFailed) {
		for range 2 { // the error is final, even if the disk works again
			if again := r.append(w); !errors.Is(again, wal.ErrFailed) {
				return fmt.Errorf("%w: after %v: %v", errNotSticky, err, again)
			}
		}
	}
	return err
}

var errNotSticky = errors.New("a failed writer continues")

// harmless reports whether the failure of an operation changes nothing that
// matters: closing a file, checking whether a file is locked, or removing a file that
// the next start removes.
func harmless(op memfs.Op, name string) bool {
	return op == memfs.OpClose || op == memfs.OpRemove && strings.HasSuffix(name, "next.tmp") || op == memfs.OpLocked
}

// TestErrorAtEveryStep makes operation n fail, alone or with all later ones, for n = 0,
// 1, 2 … until there is no operation n. It does so in every scene. Each error must be
// reported, unless the operation is harmless or is a read that is tried again. The next
// open, with or without a power cut before it, must find every acknowledged commit, and
// the log must continue.
func TestErrorAtEveryStep(t *testing.T) {
	every := 1
	if !longtest.Form(t, "five of six operations in each failure mode") {
		every = 6
	}
	var faults atomic.Int64
	t.Cleanup(func() { t.Logf("%d errors in %d scenes", faults.Load(), len(errorScenes)) })
	for _, scene := range errorScenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			for mode := range 8 {
				faults.Add(scene.failInMode(t, mode, every))
			}
		})
	}
}

// failInMode makes operations of the scene fail, in one of eight modes, and returns
// the number of faults. If every is 6, for example, it tries one operation in six.
func (s *errorScene) failInMode(t *testing.T, mode, every int) (faults int64) {
	lasting, cut, full := mode&1 != 0, mode&2 != 0 && !s.noCut, mode>>2
	cause := []error{syscall.EIO, syscall.ENOSPC}[full]
	n, step := 0, 1
	switch {
	case s.long && raceFactor > 1:
		n, step = 11*mode, 89
	case raceFactor > 1:
		n, step = mode, 11
	case s.long && !*exhaustive:
		n, step = (2*full+mode)%4, 4
	}
	if raceFactor == 1 {
		n, step = n+mode%every*step, every*step
	}
	for s.failAt(t, n, cause, lasting, cut) {
		n += step
		faults++
	}
	if n < 3 && raceFactor == 1 {
		t.Errorf("only %d operations, want at least 3", n)
	}
	return faults
}

// failAt returns false if there is no operation n.
func (s *errorScene) failAt(t *testing.T, n int, cause error, lasting, cut bool) bool {
	d := memfs.New(uint64(n))
	var r run
	if s.prepare != nil {
		s.prepare(t, d, &r)
	}
	p := d.Process()
	var w *wal.Writer
	if s.open {
		var err error
		if w, err = wal.Open(crashDir, options(p, nil)); err != nil {
			t.Fatal(err)
		}
	}
	fired, excused := "", true
	fail := memfs.FailFrom(n, cause, lasting)
	p.Plan(func(i int, op memfs.Op, name string) memfs.Fault {
		f := fail(i, op, name)
		if f.Err != nil {
			fired += fmt.Sprintf(" %s %s;", op, name)
			excused = excused && (harmless(op, name) || s.rereads && op == memfs.OpRead && !lasting)
		}
		return f
	})
	err := s.act(p, w, &r)
	where := fmt.Sprintf("%s: %v, lasting %v, power cut %v, at operation %d:%s", s.name, cause, lasting, cut, n, fired)
	switch {
	case fired == "":
		if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		return false
	case err == nil && !excused:
		t.Fatalf("%s: the failure was not reported", where)
	case errors.Is(err, errNotSticky) || err != nil && !errors.Is(err, cause):
		t.Fatalf("%s: %v", where, err)
	}
	p.Kill()
	if cut {
		d.Crash()
	}
	if s.again != nil {
		if err := s.again(d, &r, err); err != nil {
			t.Fatalf("%s: afterwards: %v", where, err)
		}
	}
	if err := r.recovers(d); err != nil {
		t.Fatalf("%s: afterwards: %v", where, err)
	}
	if s.check != nil {
		if err := s.check(d); err != nil {
			t.Fatalf("%s: afterwards: %v", where, err)
		}
	}
	return true
}
