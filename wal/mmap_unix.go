//go:build unix

package wal

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A mapping reads a file through a read-only memory map. ReadAt copies, so that the
// bytes that were checked are the bytes that are used, and so that a fault can
// occur only there. Segments never shrink, so a fault means a read error, or that
// another program truncated the file.
type mapping struct {
	name string
	b    []byte
}

func (OS) Map(name string, size int64) (View, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Size() < size || size <= 0 {
		return nil, &fs.PathError{Op: "map", Path: name, Err: fmt.Errorf("file has %d bytes, need %d", st.Size(), size)}
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, &fs.PathError{Op: "mmap", Path: name, Err: err}
	}
	return &mapping{name: name, b: b}, nil
}

func (m *mapping) ReadAt(p []byte, off int64) (n int, err error) {
	if off < 0 || off > int64(len(m.b)) {
		return 0, io.EOF
	}
	if !touch(func() { n = copy(p, m.b[off:]) }) {
		return 0, &fs.PathError{Op: "read map", Path: m.name, Err: syscall.EIO}
	}
	if n < len(p) {
		err = io.EOF
	}
	return n, err
}

// Close unmaps the file. The caller must ensure that no call to ReadAt is running.
func (m *mapping) Close() error {
	b := m.b
	m.b = nil
	if b == nil {
		return nil
	}
	return syscall.Munmap(b)
}
