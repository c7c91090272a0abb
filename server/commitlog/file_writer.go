package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"assetledger/ledger"
	"assetledger/wal"
)

// A FileWriter is the Writer of the driver "file".
type FileWriter struct {
	*wal.Writer // LastSeq, LastTime, MaxBody, Append, Room
	dir         string
	opt         wal.Options
	start       wal.Place // place of the checkpoint that Restore returned
	back        backReader
}

// A backReader reads single commits back, one at a time.
type backReader struct {
	mu sync.Mutex
	r  *PlacedReader // keeps its position; nil until the first use
}

// Commit reads a commit back with the same reader code that read daemons use.
func (l *FileWriter) Commit(seq uint64, use func(*ledger.Record)) error {
	l.back.mu.Lock()
	defer l.back.mu.Unlock()
	if l.back.r == nil {
		r, err := l.OpenReader()
		if err != nil {
			return err
		}
		l.back.r = &PlacedReader{Reader: r}
	}
	err := l.back.r.Commits(seq, seq, func(_ *wal.Frame, rec *ledger.Record, _ uint64) bool { use(rec); return false })
	if err != nil {
		l.back.close() // the next call opens a new reader
	}
	return err
}

func (b *backReader) close() {
	if b.r != nil {
		b.r.Close()
		b.r = nil
	}
}

// Close closes the log, and the reader that Commit uses.
func (l *FileWriter) Close() error {
	l.back.mu.Lock()
	defer l.back.mu.Unlock()
	l.back.close()
	return l.Writer.Close()
}

// OpenFile locks dir, which must be an absolute path. Replay then prepares the log
// for appending, or creates it.
func OpenFile(dir string, opt wal.Options) (*FileWriter, error) {
	w, err := wal.Prepare(dir, opt)
	if err != nil {
		return nil, err
	}
	return &FileWriter{Writer: w, dir: dir, opt: opt}, nil
}

// NewFileWriter returns a FileWriter for a wal.Writer that has been started, for
// drivers that keep a copy of their log in a directory.
func NewFileWriter(w *wal.Writer, dir string, opt wal.Options) *FileWriter {
	return &FileWriter{Writer: w, dir: dir, opt: opt}
}

// Confirm returns nil, since the lock on the directory excludes other writers.
func (l *FileWriter) Confirm() error { return nil }

// Driver returns "file" and the directory.
func (l *FileWriter) Driver() (name, path string) { return "file", l.dir }

// Space returns the free bytes of the segment being written, and the directory.
func (l *FileWriter) Space() (free int64, dir string) { return l.SegmentFree(), l.dir }

// Readers returns the live read daemons registered in the directory, ordered by name. It
// returns nil if the list can't be read.
func (l *FileWriter) Readers() (list []ReaderInfo) {
	all, err := wal.ListReaders(l.dir, l.opt)
	if err != nil {
		return nil
	}
	for _, r := range all {
		list = append(list, ReaderInfo{r.Name, r.Seq})
	}
	return list
}

// Restore returns the state of the newest valid checkpoint, or the empty state.
// Replay then continues after it.
func (l *FileWriter) Restore(keys int, log *slog.Logger) (*ledger.State, error) {
	r, err := l.OpenReader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	state, place, err := Restore(fileCheckpoints{l.dir, l.opt}, r, keys, log)
	l.start = place
	return state, err
}

// Replay reads the log back from disk with the same reader code that read daemons
// use, and then prepares it for appending.
func (l *FileWriter) Replay(apply func(*wal.Frame) error) error {
	if err := l.ReadBack(apply); err != nil {
		return err
	}
	return l.Start()
}

// ReadBack is Replay for a wal.Writer that has already been started.
func (l *FileWriter) ReadBack(apply func(*wal.Frame) error) error {
	r, err := l.OpenReader()
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.SeekAfter(l.start); err != nil {
		return err
	}
	last := l.start.Seq
	for {
		f, err := r.Next()
		if errors.Is(err, wal.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		last = f.Last()
		if err := apply(f); err != nil {
			return err
		}
	}
	if last != l.LastSeq() {
		return &ReplayError{last, fmt.Errorf("the log that was read back ends here, but commit %d was recovered", l.LastSeq())}
	}
	return nil
}
