package wal

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// TestSummarize compares the summary of a log with its files: while it is being written,
// after its front was archived, and after its writer has closed it. It also summarizes a
// missing directory.
func TestSummarize(t *testing.T) {
	dir, w := longLog(t)
	look := func(first uint64, open bool) {
		t.Helper()
		want := Summary{First: first, Open: open}
		files, err := filepath.Glob(join(segmentsPath(dir), "*"+segmentExt))
		if err != nil || len(files) < 2 {
			t.Fatalf("got segments %v, %v; want at least 2", files, err)
		}
		for _, f := range files {
			info, err := os.Stat(f)
			if err != nil {
				t.Fatal(err)
			}
			want.Segments++
			want.Bytes += info.Size()
		}
		if got, err := Summarize(dir, Options{}); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
	look(1, true)
	firsts, err := listSeqs(OS{}, segmentsPath(dir), segmentExt)
	if err != nil {
		t.Fatal(err)
	}
	checkpointAt(t, dir, firsts[2]-1)
	checkpointAt(t, dir, w.LastSeq())
	if _, err := Archive(dir, filepath.Join(t.TempDir(), "to"), firsts[2]-1, OS{}); err != nil {
		t.Fatal(err)
	}
	look(firsts[1], true)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	look(firsts[1], false)
	if s, err := Summarize(filepath.Join(dir, "missing"), Options{}); err != nil || s != (Summary{}) {
		t.Errorf("for a missing directory: got %+v, %v; want a zero Summary", s, err)
	}
}

func TestDiskFree(t *testing.T) {
	if free := DiskFree(t.TempDir()); !(free > 0) {
		t.Errorf("DiskFree is %v, want a positive number", free)
	}
	if free := DiskFree("/nowhere/at/all"); !math.IsNaN(free) {
		t.Errorf("DiskFree of a missing directory is %v, want NaN", free)
	}
}
