package wal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestGrownPastReader restores a log in place, of the time before a reader
// came, and lets it grow in another way, less far than the reader was, as far,
// and further: the reader must notice, though log id and epoch are the same.
func TestGrownPastReader(t *testing.T) {
	for _, c := range []struct {
		name string
		grow int // frames after the backup; the reader saw 10
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
			if _, err := r.Next(); err != ErrEnd { // it waits, and looks again
				t.Fatal(err)
			}
			w.Close()
			restoreInPlace(t, backup, dir)
			w = mustOpen(t, dir, small())
			for range c.grow {
				f := testFrame(w.LastSeq()+1, 2, 100)
				f.Digest++ // another history
				if err := w.Append(f); err != nil {
					t.Fatal(err)
				}
			}
			if f, err := r.Next(); !errors.Is(err, ErrReplaced) {
				t.Errorf("got %v, %v", f, err)
			}
			if f, err := mustReader(t, dir, small()).Next(); err != nil || f.First != 1 {
				t.Errorf("a new reader: %v, %v", f, err)
			}
		})
	}
}

// restoreInPlace writes the bytes of a copy into the files that are there.
func restoreInPlace(t *testing.T, from, to string) {
	t.Helper()
	for _, pattern := range []string{"END", "wal/*.seg"} {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
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

// TestLastFrameGone: damage in the place of the frame that was read last is
// told by a reader that waits.
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
