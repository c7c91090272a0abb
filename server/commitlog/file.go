package commitlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"assetledger/wal"
)

// File is the driver "file": a log in a directory.
type File struct {
	Dir string
	Opt wal.Options
}

// OpenWriter creates the directory if it is missing, and locks it.
func (l File) OpenWriter() (Writer, error) {
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return nil, fmt.Errorf("finding the directory of the log: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory of the log: %w", err)
	}
	w, err := OpenFile(dir, l.Opt)
	if err != nil {
		return nil, err // not w, since an interface that holds a nil pointer is not nil
	}
	return w, nil
}

// CheckDir returns an error if dir can't be the directory of a log. It lets programs
// reject a wrong name with a clear message.
func CheckDir(dir string) error {
	if dir == "" {
		return nil // the in-memory driver of tests needs no directory
	}
	if at, err := os.Stat(dir); err == nil && !at.IsDir() {
		return fmt.Errorf("can't use %s as a log directory: it is a file", dir)
	}
	if _, err := os.Stat(dir + "/."); errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("can't use %s as a log directory: permission denied", dir)
	}
	return wal.NotPartOfLog(dir, wal.Options{})
}

// Open opens the log for reading.
func (l File) Open() (Reader, error) {
	r, err := wal.OpenReader(l.Dir, l.Opt)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Register registers a name in the directory.
func (l File) Register(name string) (Registration, error) {
	r, err := wal.Register(l.Dir, name, l.Opt)
	if errors.Is(err, wal.ErrNameTaken) {
		return nil, fmt.Errorf("another read daemon is named %q; give this one a -name of its own: %w", name, err)
	}
	if _, there := os.Stat(l.Dir); errors.Is(err, wal.ErrNoLog) && errors.Is(there, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", l.Dir, ErrNoDirYet)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ErrNoDirYet wraps wal.ErrNoLog. It means that the directory does not exist: the
// write daemon may still create it, or the configured name of the directory is wrong.
var ErrNoDirYet = fmt.Errorf("there is no such directory: %w", wal.ErrNoLog)

// Checkpoints returns the checkpoints in the log's directory.
func (l File) Checkpoints() CheckpointStore { return fileCheckpoints(l) }

// fileCheckpoints is the CheckpointStore of a File.
type fileCheckpoints File

func (c fileCheckpoints) List() ([]uint64, error)   { return wal.ListCheckpoints(c.Dir, c.Opt) }
func (c fileCheckpoints) Name(seq uint64) string    { return wal.CheckpointPath(c.Dir, seq) }
func (c fileCheckpoints) Claim() (io.Closer, error) { return wal.ClaimCheckpoints(c.Dir, c.Opt) }
func (c fileCheckpoints) Open(seq uint64) (io.ReadCloser, error) {
	return wal.OpenCheckpoint(c.Dir, seq, c.Opt)
}
func (c fileCheckpoints) Write(seq uint64, write func(io.Writer) error) error {
	return wal.WriteCheckpoint(c.Dir, seq, c.Opt, write)
}
