package wal

import (
	"io"
	"time"
)

// FS is the filesystem that contains a log. errors.Is matches its errors with those of
// io/fs (ErrExist, ErrNotExist) and, for a full disk, with syscall.ENOSPC.
//
// If the implementation is also a Mapper, readers map segments. Otherwise they use
// ReadAt.
type FS interface {
	// Create creates a new file and opens it for reading and writing.
	Create(name string) (File, error)
	// Open opens an existing file.
	Open(name string, write bool) (File, error)
	// Rename replaces newname if it exists. It is durable after SyncDir.
	Rename(oldname, newname string) error
	// Link gives a file a second name, which must not exist. It fails if the two
	// names are on different filesystems, and on filesystems without hard links.
	Link(oldname, newname string) error
	Remove(name string) error
	// Same reports whether two names refer to the same file or directory. It returns
	// false if either does not exist.
	Same(a, b string) (bool, error)
	// IsLink reports whether a name is a symbolic link. It returns false if the
	// name does not exist.
	IsLink(name string) (bool, error)
	// List returns the names in a directory, sorted.
	List(dir string) ([]string, error)
	// Mkdir creates a directory. It returns nil if the directory exists.
	Mkdir(dir string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(dir string) error

	// Lock opens a file, and creates it if necessary. It locks the file, against
	// other processes and other calls, until the file is closed. It returns
	// ErrLocked if the file is already locked. When Lock returns, the name refers to
	// the locked file.
	Lock(name string) (File, error)
	// Locked reports whether Lock would return ErrLocked.
	Locked(name string) (bool, error)
	// Share maps the first 4096 bytes of an existing file.
	Share(name string, write bool) (Page, error)

	// Boot returns the id of the current boot of the machine, or zero if it is unknown.
	Boot() (BootID, error)
	// CopyOnWrite reports whether the filesystem of dir writes every block to a new
	// place, so that writing zeroes in advance gains nothing.
	CopyOnWrite(dir string) bool
}

// A File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the written bytes and the size durable, as fdatasync does.
	Sync() error
	// Size returns the size in bytes.
	Size() (int64, error)
	// Grow sets the size of a new file without writing to it.
	Grow(size int64) error
}

// A Page is 4096 bytes of a file, shared by all processes that map it.
type Page interface {
	// Bytes returns the page itself, whose address is a multiple of 8.
	Bytes() []byte
	// Sync makes the page durable.
	Sync() error
	// Wait returns when the 32-bit word at the offset may differ from old, or after
	// the timeout. It may return early.
	Wait(at int, old uint32, timeout time.Duration)
	// Wake wakes the callers of Wait for the word at the offset.
	Wake(at int)
	// Stale reports whether the file's name no longer refers to the mapped file.
	Stale() bool
	Close() error
}

// A Mapper maps files for reading.
type Mapper interface {
	// Map maps size bytes of a file, which must never shrink. If the disk can't read
	// a mapped page, ReadAt returns an error.
	Map(name string, size int64) (View, error)
}

// A View gives random access to a file.
type View interface {
	io.ReaderAt
	io.Closer
}

// openView opens a segment for reading. It maps the segment if the FS can.
func openView(fs FS, name string, size int64) (View, error) {
	if m, ok := fs.(Mapper); ok {
		return m.Map(name, size)
	}
	return fs.Open(name, false)
}

// writeFile overwrites the beginning of a small file and syncs the file, but not
// its name.
func writeFile(f File, b []byte) error {
	if _, err := f.WriteAt(b, 0); err != nil {
		return err
	}
	return f.Sync()
}
