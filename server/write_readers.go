package server

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// readerInfo is an attached read daemon and the last commit that it has applied.
type readerInfo struct {
	name string
	seq  uint64
}

// attachedReaders lists the read daemons of the log in dir that live, by name.
// Each keeps DIR/readers/<name>, which begins with its last applied global_seq
// (8 bytes, little-endian), under a flock while it lives. What can't be read is
// left out: a read daemon may come or go at any moment.
func attachedReaders(dir string) []readerInfo {
	entries, err := os.ReadDir(filepath.Join(dir, "readers")) // sorted by name
	if err != nil {
		return nil
	}
	var list []readerInfo
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if seq, ok := attachedReader(filepath.Join(dir, "readers", e.Name())); ok {
			list = append(list, readerInfo{e.Name(), seq})
		}
	}
	return list
}

// attachedReader reads one reader's file; ok is false if nobody holds it.
func attachedReader(path string) (seq uint64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close() // and with it the lock, if there was none
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, false
	}
	var b [8]byte
	if _, err := f.ReadAt(b[:], 0); err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[:]), true
}
