package server

import (
	"errors"

	"assetledger/wal"
)

// A writeLog is the log as the write daemon needs it, whatever keeps it: a
// replicated log can stand where the directory stands now.
type writeLog interface {
	// Replay calls apply with every durable batch in order, before the first
	// Append. The frame is valid during the call.
	Replay(apply func(*wal.Frame) error) error
	// MaxBody is the largest body of a batch, in bytes.
	MaxBody() int
	// Append returns when the batch is durable and readers may see it. One
	// call at a time. An error that wraps wal.ErrNoSpace says that nothing was
	// written and the same batch may be tried again; any other is final, and
	// whether the batch is durable is unknown.
	Append(*wal.Frame) error
	// Room is nil when the next batch surely finds space, and otherwise says
	// why not. Any goroutine may ask, also during Append.
	Room() error
	// Driver is the driver's name and where it keeps the log, for people.
	Driver() (name, path string)
	// Close releases the log. Not during Append.
	Close() error
}

// fileWriteLog is the log in a directory: the driver "file".
type fileWriteLog struct {
	*wal.Writer
	dir string
	opt wal.Options
}

// openFileLog locks dir, which must be absolute, and recovers its log or makes one.
func openFileLog(dir string, opt wal.Options) (*fileWriteLog, error) {
	w, err := wal.Open(dir, opt)
	if err != nil {
		return nil, err
	}
	return &fileWriteLog{Writer: w, dir: dir, opt: opt}, nil
}

// Room asks the writer.
func (l *fileWriteLog) Room() error { return nil }

// Driver names the driver "file" and the directory.
func (l *fileWriteLog) Driver() (name, path string) { return "file", l.dir }

// Replay reads the log back from disk, through the same reader that read
// daemons use.
func (l *fileWriteLog) Replay(apply func(*wal.Frame) error) error {
	r, err := wal.OpenReader(l.dir, l.opt)
	if errors.Is(err, wal.ErrNoLog) && l.LastSeq() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := apply(f); err != nil {
			return err
		}
	}
}
