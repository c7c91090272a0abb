package wal

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// datasync makes a file's bytes and size durable, but not its times.
func datasync(f *os.File) error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// From linux/futex.h. The private variants don't apply, since the word is in a
// shared file.
const (
	futexWait = 0
	futexWake = 1
)

// waitWord sleeps in the kernel until wakeWord is called or the timeout has passed. If
// the word already differs from old, it returns at once. It occupies an operating
// system thread. The word may be mapped read-only.
func waitWord(w *atomic.Uint32, old uint32, timeout time.Duration) {
	ts := syscall.NsecToTimespec(max(0, timeout.Nanoseconds()))
	// After any error (changed already, timeout, interrupted), the caller checks
	// again.
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWait, uintptr(old), uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// wakeWord wakes all waiters for the word, in all processes.
func wakeWord(w *atomic.Uint32) {
	syscall.Syscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(w)), futexWake, 1<<30, 0, 0, 0)
}

const bootIDPath = "/proc/sys/kernel/random/boot_id"

func (OS) Boot() (id BootID, err error) {
	text, err := os.ReadFile(bootIDPath)
	if err != nil {
		return id, err
	}
	digits := strings.ReplaceAll(strings.TrimSpace(string(text)), "-", "")
	n, err := hex.Decode(id[:], []byte(digits)[:min(len(digits), 2*len(id))])
	if err != nil || n != len(id) {
		return BootID{}, fmt.Errorf("%s holds %q, not an id", bootIDPath, text)
	}
	return id, nil
}

// From linux/magic.h and, for ZFS, from OpenZFS.
const (
	magicBtrfs    = 0x9123683e
	magicBcachefs = 0xca451a4e
	magicZFS      = 0x2fc12fc1
)

func (OS) CopyOnWrite(dir string) bool {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return false
	}
	switch uint32(st.Type) {
	case magicBtrfs, magicBcachefs, magicZFS:
		return true
	}
	return false
}
