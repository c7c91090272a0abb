package wal

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReaderShortOfFiles checks that a reader that can't open the next segment
// can do so later, and misses nothing.
func TestReaderShortOfFiles(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fsys := &faultFS{FS: OS{}}
	r := mustReader(t, dir, Options{FS: fsys})
	fill(t, w, 100, 2000)
	want, failures := uint64(1), 0
	for want < w.LastSeq() {
		fsys.setFail(func(_ int, op, name string) error {
			if filepath.Ext(name) == ".seg" {
				return syscall.EMFILE
			}
			return nil
		})
		f, err := r.Next()
		fsys.setFail(nil)
		if errors.Is(err, syscall.EMFILE) {
			failures++
			f, err = r.Next()
		}
		if err != nil || f.First != want {
			t.Fatalf("got %[2]v, %[3]v; want the frame that begins at commit %[1]d", want, f, err)
		}
		want = f.Last() + 1
	}
	if failures < 2 {
		t.Errorf("only %d segments could not be opened, want at least 2", failures)
	}
}
