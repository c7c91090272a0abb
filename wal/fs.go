package wal

import (
	"io"
	"time"
)

// FS is the filesystem below a log. Errors satisfy errors.Is with those of
// io/fs (ErrExist, ErrNotExist), and with syscall.ENOSPC for a full disk.
//
// An implementation that also has the method of Mapper gives readers mapped
// segments; the others are read by ReadAt.
type FS interface {
	// Create makes a new file, open for reading and writing.
	Create(name string) (File, error)
	// Open opens an existing file.
	Open(name string, write bool) (File, error)
	// Rename replaces newname if it exists. It is durable after SyncDir.
	Rename(oldname, newname string) error
	// Link gives a file a second name, which must be free. Between some
	// directories, and on some filesystems, it can't.
	Link(oldname, newname string) error
	Remove(name string) error
	// Same reports whether two names lead to the same file or directory. A
	// name that does not exist is the same as no other.
	Same(a, b string) (bool, error)
	// List gives the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Mkdir makes a directory; no error if it is there already.
	Mkdir(dir string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error

	// Lock opens a file, making it if need be, and locks it against other
	// processes and other calls until it is closed: ErrLocked if it is. When
	// Lock returns, the name leads to the file that is locked.
	Lock(name string) (File, error)
	// Locked tells whether Lock would give ErrLocked.
	Locked(name string) (bool, error)
	// Share maps the first 4096 bytes of a file, which must be there.
	Share(name string, write bool) (Page, error)

	// Boot names the present boot of the machine; zero if unknown.
	Boot() (BootID, error)
	// CopyOnWrite tells whether writing zeroes ahead gains nothing in dir.
	CopyOnWrite(dir string) bool
}

// A File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes what was written durable, and the size (fdatasync).
	Sync() error
	// Size in bytes.
	Size() (int64, error)
	// Grow sets the size of a new file without writing.
	Grow(size int64) error
}

// A Page is 4096 bytes of a file, shared by all who map it.
type Page interface {
	// Bytes are the page itself, beginning at a multiple of 8.
	Bytes() []byte
	// Sync makes the page durable.
	Sync() error
	// Wait returns when the 32-bit word at the offset may no longer be old, or
	// after the timeout; it may return early.
	Wait(at int, old uint32, timeout time.Duration)
	// Wake wakes those who wait for the word at the offset.
	Wake(at int)
	// Stale tells that the file's name no longer leads to this page.
	Stale() bool
	Close() error
}

// A Mapper maps files for reading.
type Mapper interface {
	// Map gives size bytes of a file that never shrinks. ReadAt turns faults
	// of the disk into errors.
	Map(name string, size int64) (View, error)
}

// A View reads a file.
type View interface {
	io.ReaderAt
	io.Closer
}

// openView opens a segment for reading by the best way that the FS has.
func openView(fs FS, name string, size int64) (View, error) {
	if m, ok := fs.(Mapper); ok {
		return m.Map(name, size)
	}
	return fs.Open(name, false)
}

// writeFile makes or rewrites a small file and syncs it, but not its name.
func writeFile(f File, b []byte) error {
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}
