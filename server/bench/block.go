package main

import (
	"os"
	"sync"
	"syscall"
)

const blockSize = 4096

// A blockWriter writes and syncs one block after another in a file of syncFile
// bytes. At the end of the file it starts over.
type blockWriter struct {
	mu   sync.Mutex
	file *os.File
	off  int64
}

var block = func() (b [blockSize]byte) {
	for i := range b {
		b[i] = byte(i) | 1
	}
	return b
}()

func (w *blockWriter) next() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.WriteAt(block[:], w.off); err != nil {
		return err
	}
	w.off = (w.off + blockSize) % syncFile
	return syscall.Fdatasync(int(w.file.Fd()))
}
