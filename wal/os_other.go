//go:build unix && !linux

package wal

import (
	"os"
	"sync/atomic"
	"time"
)

func datasync(f *os.File) error { return f.Sync() }

const pollEvery = time.Millisecond

// waitWord polls, for want of a futex that is the same on all systems.
func waitWord(w *atomic.Uint32, old uint32, timeout time.Duration) {
	for end := time.Now().Add(timeout); w.Load() == old; {
		left := time.Until(end)
		if left <= 0 {
			return
		}
		time.Sleep(min(left, pollEvery))
	}
}

// wakeWord has nothing to do: waitWord polls.
func wakeWord(*atomic.Uint32) {}

// Boot is unknown here; recovery then rewrites what it trusts.
func (OS) Boot() (BootID, error) { return BootID{}, nil }

func (OS) CopyOnWrite(string) bool { return false }
