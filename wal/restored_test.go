package wal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestGrownPastReader restores a log in place from a backup that is older than
// the reader's position. The log then grows differently: less far than the
// reader had read, as far, and further. The reader must notice, though log id
// and epoch are the same.
func TestGrownPastReader(t *testing.T) {
	for _, c := range []struct {
		name string
		grow int // frames after the backup; the reader has read 10
	}{{"less", 5}, {"as far", 10}, {"further", 15}} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w := mustOpen(t, dir, small())
			fill(t, w, 10, 100)
			w.Close()
			backup := copyDir(t, dir)
			w = mustOpen(t, dir, small())
			fill(t, w, 10, 100)
			r := mustReader(t, dir, small())
			readAll(t, r)
			if _, err := r.Next(); err != ErrEnd { // the next call checks the last frame
				t.Fatal(err)
			}
			w.Close()
			restoreInPlace(t, backup, dir)
			w = mustOpen(t, dir, small())
			for range c.grow {
				f := testFrame(w.LastSeq()+1, 2, 100)
				f.Digest++ // a different history
				if err := w.Append(f); err != nil {
					t.Fatal(err)
				}
			}
			if f, err := r.Next(); !errors.Is(err, ErrReplaced) {
				t.Errorf("Next: got %v, %v; want ErrReplaced", f, err)
			}
			if f, err := mustReader(t, dir, small()).Next(); err != nil || f.First != 1 {
				t.Errorf("Next of a new reader: got %v, %v; want the frame of commit 1", f, err)
			}
		})
	}
}

// restoreInPlace writes the bytes of a copy into the existing files.
func restoreInPlace(t *testing.T, from, to string) {
	t.Helper()
	for _, pattern := range []string{"END", "wal/*.seg"} {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(from, file)
			if err := os.WriteFile(filepath.Join(to, rel), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLastFrameGone checks that a waiting reader reports damage to the frame
// that it read last.
func TestLastFrameGone(t *testing.T) {
	dir := t.TempDir()
	w := mustOpen(t, dir, small())
	fill(t, w, 3, 100)
	r := mustReader(t, dir, small())
	readAll(t, r)
	if err := os.Truncate(segPath(t, dir, 0), segmentHeaderSize); err != nil {
		t.Fatal(err)
	}
	_, err := r.Next()
	wantRule(t, err, ruleUnreadable)
}
