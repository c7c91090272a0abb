package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"assetledger/wal"
)

// A logReader is the log as the read daemon needs it, whatever keeps it:
// batches in order, none beyond the durable end. Durable, Moved and Wait may be
// called by any goroutine, the others by one at a time.
type logReader interface {
	// Next is the next batch, wal.ErrEnd when there is none yet. The frame is
	// valid until the next call.
	Next() (*wal.Frame, error)
	// Seek makes Next return the batch that holds seq.
	Seek(seq uint64) error
	// Durable is the last durable commit.
	Durable() uint64
	// Moved is when that became durable, in Unix nanoseconds, or a little
	// later; 0 if unknown.
	Moved() int64
	// Wait returns when Durable() > after, or timeout has passed.
	Wait(after uint64, timeout time.Duration)
	Close() error
}

// A logSource is where a read daemon finds its log.
type logSource interface {
	// Open opens the log for reading; wal.ErrNoLog when there is none yet.
	Open() (logReader, error)
	// Register makes a read daemon known to those who watch the log. The name
	// must be unlike those of the others that live.
	Register(name string) (registration, error)
}

// A registration says how far a read daemon is, until it is closed.
type registration interface {
	Applied(seq uint64)
	Close() error
}

// fileLog is the log in a directory: the driver "file".
type fileLog struct{ dir string }

// Open maps the log.
func (l fileLog) Open() (logReader, error) {
	r, err := wal.OpenReader(l.dir, wal.Options{})
	if err != nil {
		return nil, err // not r: an interface that holds a nil pointer is not nil
	}
	return r, nil
}

// Checkpoints are in the same directory.
func (l fileLog) Checkpoints() checkpointStore { return fileCheckpoints{dir: l.dir} }

// Register takes a name in the directory.
func (l fileLog) Register(name string) (registration, error) {
	r, err := wal.Register(l.dir, name, wal.Options{})
	if errors.Is(err, wal.ErrNameTaken) {
		return nil, fmt.Errorf("another read daemon is named %q; give this one a -name of its own: %w", name, err)
	}
	if _, there := os.Stat(l.dir); errors.Is(err, wal.ErrNoLog) && errors.Is(there, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", l.dir, errNoDirYet)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// errNoDirYet is a wal.ErrNoLog for a directory that does not exist. The write
// daemon may make it, or its name may be wrong.
var errNoDirYet = fmt.Errorf("there is no such directory: %w", wal.ErrNoLog)
