package wal

import (
	"errors"
	"syscall"
	"testing"
)

// TestNoDescriptors makes each opening of a file or directory during appends and
// rotations fail once for lack of file descriptors, in the writer and in a reader that
// follows it. The failure is temporary: both continue.
func TestNoDescriptors(t *testing.T) {
	for n := range 40 {
		dir := t.TempDir()
		o := small()
		f := &faultFS{FS: noSync{}}
		o.FS = f
		w := mustOpen(t, dir, o)
		r := mustReader(t, dir, o)
		left := n
		f.setFail(func(_ int, op, _ string) error {
			if op == "open" || op == "create" || op == "syncdir" {
				if left--; left == -1 {
					return syscall.EMFILE
				}
			}
			return nil
		})
		for range 40 {
			frame := testFrame(w.LastSeq()+1, 2, 2000)
			err := w.Append(frame)
			if errors.Is(err, ErrNoSpace) {
				err = w.Append(frame)
			}
			if err != nil {
				t.Fatalf("opening %d: append: %v", n, err)
			}
			_, err = r.Next()
			if FilesShort(err) {
				_, err = r.Next()
			}
			if err != nil {
				t.Fatalf("opening %d: read: %v", n, err)
			}
		}
		if left >= 0 {
			if n < 3 {
				t.Errorf("only %d openings, want at least 3", n)
			}
			return
		}
	}
}
