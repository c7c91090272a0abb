package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// The scenes in this file move or copy whole segments: they archive a log and back it
// up.

const (
	archiveDir = "/archive"
	backupDir  = "/backup"
)

// TestDroppedCheckpointsStayAway checks that a power cut does not bring back the
// checkpoints of an interrupted attempt to begin a copy.
func TestDroppedCheckpointsStayAway(t *testing.T) {
	for seed := range uint64(20) {
		d := memfs.New(seed)
		p := d.Process()
		if err := errors.Join(p.Mkdir(copyDir), p.Mkdir(copyDir+"/ckpt"), p.SyncDir(copyDir), p.SyncDir("/")); err != nil {
			t.Fatal(err)
		}
		if err := d.WriteFile(wal.CheckpointPath(copyDir, 7), checkpointBytes(7)); err != nil {
			t.Fatal(err)
		}
		if err := wal.DropCheckpoints(copyDir, options(p, nil)); err != nil {
			t.Fatal(err)
		}
		d.Crash()
		if seqs, err := wal.ListCheckpoints(copyDir, options(d.Process(), nil)); err != nil || len(seqs) > 0 {
			t.Fatalf("seed %d: got checkpoints %d, %v; want none", seed, seqs, err)
		}
	}
}

// filesOf returns the files of a directory with the given extension, or none
// if the directory is missing.
func filesOf(d *memfs.Disk, dir, ext string) (map[string][]byte, error) {
	p := d.Process()
	defer p.Kill()
	names, err := p.List(dir)
	if errors.Is(err, syscall.ENOENT) {
		return nil, nil
	}
	files := map[string][]byte{}
	for _, name := range names {
		if strings.HasSuffix(name, ext) {
			if files[name], err = d.ReadFile(dir + "/" + name); err != nil {
				return nil, err
			}
		}
	}
	return files, err
}

// longLog writes a log of several segments with two checkpoints. The older
// checkpoint is in the last segment but one, so the segments before that may be
// archived.
func longLog(t *testing.T, d *memfs.Disk, r *run) (older uint64) {
	worked(1, 20)(t, d, r)
	p := d.Process()
	defer p.Kill()
	older = firstOf(t, d, 1)
	for _, seq := range []uint64{older, r.acked} {
		if err := d.WriteFile(wal.CheckpointPath(crashDir, seq), checkpointBytes(seq)); err != nil {
			t.Fatal(err)
		}
	}
	return older
}

// firstOf returns the first global_seq of the segment that has i segments after it.
func firstOf(t *testing.T, d *memfs.Disk, i int) (first uint64) {
	t.Helper()
	p := d.Process()
	defer p.Kill()
	names, err := p.List(crashDir + "/wal")
	if err != nil {
		t.Fatal(err)
	}
	var segments []string
	for _, name := range names {
		if strings.HasSuffix(name, ".seg") {
			segments = append(segments, name)
		}
	}
	if len(segments) < 4 {
		t.Fatalf("only %d segments, want at least 4", len(segments))
	}
	if _, err := fmt.Sscanf(segments[len(segments)-1-i], "%d.seg", &first); err != nil {
		t.Fatal(err)
	}
	return first
}

// An unlinkable is a disk that supports no hard links.
type unlinkable struct{ wal.FS }

func (unlinkable) Link(string, string) error { return syscall.EXDEV }

// archiveScene moves segments to an archive. After any failure, each segment is
// complete in at least one of the two places, the log can be used, and the next run
// completes the work.
func archiveScene(name string, over func(*memfs.Process) wal.FS) errorScene {
	var below uint64
	var before map[string][]byte
	return errorScene{
		name: name, long: true,
		prepare: func(t *testing.T, d *memfs.Disk, r *run) {
			below = longLog(t, d, r)
			var err error
			if before, err = filesOf(d, crashDir+"/wal", ".seg"); err != nil {
				t.Fatal(err)
			}
		},
		act: func(p *memfs.Process, _ *wal.Writer, _ *run) error {
			_, err := wal.Archive(crashDir, archiveDir, below, over(p))
			return err
		},
		again: func(d *memfs.Disk, r *run, _ error) error {
			if err := goesOn(d, crashDir, r.acked); err != nil {
				return err
			}
			p := d.Process()
			defer p.Kill()
			if _, err := wal.Archive(crashDir, archiveDir, below, over(p)); err != nil {
				return fmt.Errorf("archive again: %w", err)
			}
			return moveBack(d, before)
		},
	}
}

// goesOn checks that the log is complete and that a writer can open it.
func goesOn(d *memfs.Disk, dir string, acked uint64) error {
	p := d.Process()
	defer p.Kill()
	report, err := wal.Verify(dir, wal.VerifyOptions{FS: p})
	if err != nil || report.LastSeq != acked || report.Torn != 0 {
		return fmt.Errorf("%w: verify %s: %+v, %w", errLost, dir, report, err)
	}
	w, err := wal.Open(dir, options(p, nil))
	if err != nil {
		return fmt.Errorf("open %s: %w", dir, err)
	}
	if w.LastSeq() != acked {
		return fmt.Errorf("%w: %s ends at %d, need %d", errLost, dir, w.LastSeq(), acked)
	}
	return w.Close()
}

// moveBack checks that no segment is in both places, moves the archived segments back,
// and checks that everything is as before.
func moveBack(d *memfs.Disk, before map[string][]byte) error {
	archived, err := filesOf(d, archiveDir, ".seg")
	if err != nil {
		return err
	}
	if len(archived) < 2 {
		return fmt.Errorf("only %d segments were archived, want at least 2", len(archived))
	}
	for name, b := range archived {
		if _, err := d.ReadFile(crashDir + "/wal/" + name); err == nil {
			return fmt.Errorf("%s is in both places", name)
		}
		if err := errors.Join(d.WriteFile(crashDir+"/wal/"+name, b), d.RemoveFile(archiveDir+"/"+name)); err != nil {
			return err
		}
	}
	after, err := filesOf(d, crashDir+"/wal", ".seg")
	for name, b := range before {
		if !bytes.Equal(after[name], b) {
			return fmt.Errorf("%w: %s is gone or damaged", errLost, name)
		}
	}
	return err
}

// backupScene copies a log, or continues an earlier copy. After any failure, the
// log is unchanged, and an earlier copy stays complete. A new copy is complete
// or rejected. The next run completes the work.
func backupScene(name string, continued bool) errorScene {
	var earlier uint64 // where the earlier copy ended
	var before map[string][]byte
	backup := func(p *memfs.Process) error {
		_, err := wal.Backup(crashDir, backupDir, wal.BackupOptions{FS: p})
		return err
	}
	return errorScene{
		name: name, long: true,
		prepare: func(t *testing.T, d *memfs.Disk, r *run) {
			earlier = 0
			if continued {
				worked(1, 9)(t, d, r)
				if err := backup(d.Process()); err != nil {
					t.Fatal(err)
				}
				earlier = r.acked
			}
			longLog(t, d, r)
			var err error
			if before, err = filesOf(d, crashDir+"/wal", ".seg"); err != nil {
				t.Fatal(err)
			}
		},
		act: func(p *memfs.Process, _ *wal.Writer, _ *run) error { return backup(p) },
		again: func(d *memfs.Disk, r *run, _ error) error {
			if err := halfCopy(d, earlier, r.acked); err != nil {
				return err
			}
			after, err := filesOf(d, crashDir+"/wal", ".seg")
			for name, b := range before {
				if !bytes.Equal(after[name], b) {
					return fmt.Errorf("%w: %s of the original is gone or damaged", errLost, name)
				}
			}
			if err != nil {
				return err
			}
			if err := backup(d.Process()); err != nil {
				return fmt.Errorf("backup again: %w", err)
			}
			return goesOn(d, backupDir, r.acked)
		},
	}
}

// halfCopy checks what an interrupted backup has left: a complete log, which ends where
// the earlier copy or the new one ends, or, if there was no earlier copy, no log or one
// that is rejected.
func halfCopy(d *memfs.Disk, earlier, acked uint64) error {
	p := d.Process()
	defer p.Kill()
	report, err := wal.Verify(backupDir, wal.VerifyOptions{FS: p})
	switch {
	case err == nil && report.HasEnd && (report.End == acked || earlier > 0 && report.End == earlier):
		return nil
	case err == nil:
		return fmt.Errorf("%w: the copy counts as complete: %+v", errLost, report)
	case earlier > 0:
		return fmt.Errorf("%w: the earlier copy is damaged: %w", errLost, err)
	case errors.Is(err, wal.ErrNoLog):
		return nil
	}
	return wellRefused(err)
}
