package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"assetledger/wal"
)

// A Reader is the log as the read daemon needs it, whatever keeps it:
// batches in order, none beyond the durable end. Durable, Moved and Wait may be
// called by any goroutine, the others by one at a time.
type Reader interface {
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

// A Source is where a read daemon finds its log.
type Source interface {
	// Open opens the log for reading; wal.ErrNoLog when there is none yet.
	Open() (Reader, error)
	// Register makes a read daemon known to those who watch the log. The name
	// must be unlike those of the others that live.
	Register(name string) (Registration, error)
}

// A Registration says how far a read daemon is, until it is closed.
type Registration interface {
	Applied(seq uint64)
	Close() error
}

// FileSource is the log in a directory: the driver "file".
type FileSource struct{ Dir string }

// Open maps the log.
func (l FileSource) Open() (Reader, error) {
	r, err := wal.OpenReader(l.Dir, wal.Options{})
	if err != nil {
		return nil, err // not r: an interface that holds a nil pointer is not nil
	}
	return r, nil
}

// Checkpoints are in the same directory.
func (l FileSource) Checkpoints() CheckpointStore { return FileCheckpoints{Dir: l.Dir} }

// Register takes a name in the directory.
func (l FileSource) Register(name string) (Registration, error) {
	r, err := wal.Register(l.Dir, name, wal.Options{})
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

// ErrNoDirYet is a wal.ErrNoLog for a directory that does not exist. The write
// daemon may make it, or its name may be wrong.
var ErrNoDirYet = fmt.Errorf("there is no such directory: %w", wal.ErrNoLog)
