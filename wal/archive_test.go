package wal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// An otherDisk is a filesystem whose directories are on different disks.
type otherDisk struct{ FS }

func (o otherDisk) Link(a, b string) error {
	return &os.LinkError{Op: "link", Old: a, New: b, Err: syscall.EXDEV}
}

func TestArchive(t *testing.T) {
	for name, fsys := range map[string]FS{"same disk": OS{}, "other disk": otherDisk{OS{}}} {
		t.Run(name, func(t *testing.T) {
			dir, w := longLog(t)
			firsts, _ := listSeqs(OS{}, segmentsPath(dir), segmentExt)
			old := mustReader(t, dir, small())
			if _, err := old.Next(); err != nil {
				t.Fatal(err)
			}
			inside := mustReader(t, dir, small())
			if _, err := inside.Next(); err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(t.TempDir(), "to")
			// The second segment ends with this commit, not before it, and so stays.
			below := firsts[2] - 1
			checkpointAt(t, dir, below)
			checkpointAt(t, dir, w.LastSeq())
			report, err := Archive(dir, to, below, fsys)
			moved := report.Moved
			if err != nil || len(moved) != 1 {
				t.Fatalf("moved %v, %v; want one segment", moved, err)
			}
			if err := checkSealed(OS{}, &segmentFile{path: join(to, moved[0]), head: mustHead(t, join(to, moved[0]))},
				&segmentFile{path: join(segmentsPath(dir), segmentName(firsts[1])), head: mustHead(t, join(segmentsPath(dir), segmentName(firsts[1])))}); err != nil {
				t.Error(err)
			}
			fill(t, w, 10, 2000) // the writer continues
			if got := readAll(t, old); got != w.LastSeq() {
				t.Errorf("a reader that had mapped the segment reached commit %d, want %d", got, w.LastSeq())
			}
			fresh := mustReader(t, dir, small())
			var gone *ArchivedError
			if _, err := fresh.Next(); !errors.As(err, &gone) || gone.First != firsts[1] {
				t.Errorf("Next from the start: got %v, want an ArchivedError with First %d", err, firsts[1])
			}
			if err := fresh.Seek(1); !errors.As(err, &gone) || gone.Seq != 1 {
				t.Errorf("Seek(1): got %v, want an ArchivedError with Seq 1", err)
			}
			if err := inside.Seek(1); !errors.As(err, &gone) || gone.Seq != 1 {
				t.Errorf("Seek(1) by a reader in the archived segment: got %v, want an ArchivedError with Seq 1", err)
			}
			if err := fresh.Seek(firsts[1]); err != nil {
				t.Errorf("Seek to the first commit that is left: %v", err)
			}
			if _, err := Verify(dir, VerifyOptions{}); err != nil {
				t.Error(err)
			}
			w.Close()
			again := mustOpen(t, dir, small())
			fill(t, again, 1, 10)
			again.Close()
			for _, seq := range []uint64{below, w.LastSeq()} {
				os.Remove(CheckpointPath(dir, seq))
			}
			os.Remove(CheckpointPath(dir, 120))
			_, err = Open(dir, small())
			wantRule(t, err, "front of the log missing")
		})
	}
}

func mustHead(t *testing.T, path string) segmentHeader {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var h segmentHeader
	if err := h.Unmarshal(b[:segmentHeaderSize]); err != nil {
		t.Fatal(err)
	}
	return h
}

// TestArchiveKeepsWhatReadersNeed archives while a reader is far behind.
func TestArchiveKeepsWhatReadersNeed(t *testing.T) {
	dir, w := longLog(t)
	firsts, _ := listSeqs(OS{}, segmentsPath(dir), segmentExt)
	to := filepath.Join(t.TempDir(), "to")
	g, err := Register(dir, "slow", Options{})
	if err != nil {
		t.Fatal(err)
	}
	report, err := Archive(dir, to, w.LastSeq(), nil)
	if err != nil || len(report.Moved) > 0 || report.Held != "slow" || report.Below != 0 {
		t.Errorf("with a reader that has applied nothing: got %+v, %v; want nothing moved", report, err)
	}
	r := mustReader(t, dir, small())
	for applied := uint64(0); applied < firsts[2]-1; { // to the end of the second segment
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		applied = f.Last()
		g.Applied(applied)
	}
	report, err = Archive(dir, to, w.LastSeq(), nil)
	if err != nil || len(report.Moved) != 1 || report.Held != "slow" || report.Below != firsts[2]-1 {
		t.Errorf("with a slow reader: got %+v, %v; want one segment moved, below %d", report, err, firsts[2]-1)
	}
	if err := r.checkLast(); err != nil {
		t.Errorf("checkLast of the reader at the end of a segment: %v", err)
	}
	if got := readAll(t, r); got != w.LastSeq() {
		t.Errorf("the reader reached commit %d, want %d", got, w.LastSeq())
	}
	g.Close()
	report, err = Archive(dir, to, w.LastSeq(), nil)
	if err != nil || len(report.Moved) != len(firsts)-2 || report.Held != "" {
		t.Errorf("after the reader has closed: got %+v, %v; want %d segments moved", report, err, len(firsts)-2)
	}
}

func TestArchiveRefusesDamage(t *testing.T) {
	dir, w := longLog(t)
	patch(t, segPath(t, dir, 0), segmentHeaderSize+100, flip, 1)
	if report, err := Archive(dir, filepath.Join(t.TempDir(), "to"), w.LastSeq(), nil); err == nil || len(report.Moved) > 0 {
		t.Errorf("archive of a damaged log: got %+v, %v; want an error and nothing moved", report, err)
	}
	if _, err := os.Stat(segPath(t, dir, 0)); err != nil {
		t.Error(err)
	}
}
