//go:build unix && !linux

package wal

import (
	"os"
	"sync/atomic"
	"time"
)

func datasync(f *os.File) error { return f.Sync() }

const pollEvery = time.Millisecond

// waitWord polls, because there is no portable futex.
func waitWord(w *atomic.Uint32, old uint32, timeout time.Duration) {
	for end := time.Now().Add(timeout); w.Load() == old; {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, pollEvery))
	}
}

// wakeWord does nothing: waitWord polls.
func wakeWord(*atomic.Uint32) {}

// Boot returns zero, since the boot is unknown here. Recovery then rewrites the valid
// frames that may not be synced.
func (OS) Boot() (BootID, error) { return BootID{}, nil }

func (OS) CopyOnWrite(string) bool { return false }
