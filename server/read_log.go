package server

import (
	"time"

	"assetledger/wal"
)

// A logReader is the log as the read daemon needs it, whatever keeps it:
// batches in order, none beyond the durable end. Durable and Wait may be
// called by any goroutine, the others by one at a time.
type logReader interface {
	// Next is the next batch, wal.ErrEnd when there is none yet. The frame is
	// valid until the next call.
	Next() (*wal.Frame, error)
	// Seek makes Next return the batch that holds seq.
	Seek(seq uint64) error
	// Durable is the last durable commit.
	Durable() uint64
	// Wait returns when Durable() > after, or timeout has passed.
	Wait(after uint64, timeout time.Duration)
	Close() error
}

// A logSource is where a read daemon finds its log.
type logSource interface {
	// Open opens the log for reading; wal.ErrNoLog when there is none yet.
	Open() (logReader, error)
}

// fileLog is the log in a directory: the driver "file".
type fileLog struct{ dir string }

// Open maps the log.
func (l fileLog) Open() (logReader, error) {
	r, err := wal.OpenReader(l.dir, wal.Options{})
	if err != nil {
		return nil, err
	}
	return r, nil
}
