package wal

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestEndCutUnderWriter truncates END while the writer has it mapped, so that
// the kernel sends SIGBUS. The writer must fail and say why, and the next one
// must find everything.
func TestEndCutUnderWriter(t *testing.T) {
	for name, use := range map[string]func(w *Writer) error{
		"append": func(w *Writer) error { return w.Append(testFrame(w.LastSeq()+1, 2, 100)) },
		"sync":   (*Writer).SyncEnd,
		"close":  func(w *Writer) error { return w.Close() },
		"idle": func(w *Writer) error { // its background goroutine checks END by itself
			for w.Err() == nil {
				w.mu.Lock()
				changed, failed := w.sp.changed, w.err != nil
				w.mu.Unlock()
				if !failed {
					within(t, changed, "a failure of the writer")
				}
			}
			return w.Err()
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := small()
			if name == "idle" {
				o.Manual, o.endSync = false, time.Millisecond
			}
			dir := t.TempDir()
			w := mustOpen(t, dir, o)
			fill(t, w, 3, 100)
			if err := os.Truncate(join(dir, endName), 0); err != nil {
				t.Fatal(err)
			}
			if err := use(w); !errors.Is(err, ErrFailed) || !strings.Contains(err.Error(), endName) {
				t.Errorf("got %v, want ErrFailed with %s", err, endName)
			}
			if err := w.Append(testFrame(w.LastSeq()+1, 2, 100)); err == nil {
				t.Error("the writer continues after END was truncated")
			}
			end := w.LastSeq()
			w.Close()
			again := mustOpen(t, dir, small())
			if again.LastSeq() != end || readAll(t, mustReader(t, dir, small())) != end {
				t.Errorf("the log ends at %d, need %d", again.LastSeq(), end)
			}
		})
	}
}
