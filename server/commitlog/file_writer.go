package commitlog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"assetledger/ledger"
	"assetledger/wal"
)

// A Writer is the log as the write daemon needs it, whatever keeps it: a
// replicated log can stand where the directory stands now.
type Writer interface {
	// Replay calls apply with every durable batch in order, before the first
	// Append. The frame is valid during the call. Nothing kept in the log is
	// changed until it has succeeded: a log that can't be replayed stays as it is.
	Replay(apply func(*wal.Frame) error) error
	// LastTime is the time of the last durable frame in Unix nanoseconds, 0 if none.
	LastTime() int64
	// MaxBody is the largest body of a batch, in bytes.
	MaxBody() int
	// Append returns when the batch is durable and readers may see it. The
	// frame keeps its Time, which must not be below LastTime. One
	// call at a time. An error that wraps wal.ErrNoSpace says that nothing was
	// written and the same batch may be tried again; any other is final, and
	// whether the batch is durable is unknown.
	Append(*wal.Frame) error
	// Room is nil when one more batch than the one being appended, if any,
	// surely finds space. Otherwise it says why not: wal.ErrNoSpace, which may
	// pass, or what has ended the log. Any goroutine may ask.
	Room() error
	// Commit reads a durable commit back; the record is valid during use. Any
	// goroutine may call it, and it may wait for the disk. A *wal.ArchivedError
	// says that the commit was moved away.
	Commit(seq uint64, use func(*ledger.Record)) error
	// Readers lists the read daemons of the log that live, by name.
	Readers() []ReaderInfo
	// Driver is the driver's name and where it keeps the log, for people.
	Driver() (name, path string)
	// Close releases the log. Not during Append.
	Close() error
}

// FileWriter is the log in a directory: the driver "file".
type FileWriter struct {
	*wal.Writer // LastTime, MaxBody, Append, Room
	dir         string
	opt         wal.Options
	start       wal.Place // of the checkpoint that Restore gave
	back        backReader
}

// A backReader reads single commits back, one at a time.
type backReader struct {
	mu sync.Mutex
	r  *PlacedReader // left where it stopped; nil until it is needed
}

// Commit reads a commit back through the reader that read daemons use.
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
	var rec ledger.Record
	err := l.back.r.Commits(seq, seq, &rec, func(*wal.Frame, uint64) bool { use(&rec); return false })
	if err != nil {
		l.back.close() // begin anew with the next
	}
	return err
}

func (b *backReader) close() {
	if b.r != nil {
		b.r.Close()
		b.r = nil
	}
}

// Close releases the log, and what it was read back with.
func (l *FileWriter) Close() error {
	l.back.mu.Lock()
	defer l.back.mu.Unlock()
	l.back.close()
	return l.Writer.Close()
}

// OpenFile locks dir, which must be absolute. Replay readies its log for
// appending, or makes one.
func OpenFile(dir string, opt wal.Options) (*FileWriter, error) {
	w, err := wal.Prepare(dir, opt)
	if err != nil {
		return nil, err
	}
	return &FileWriter{Writer: w, dir: dir, opt: opt}, nil
}

// Driver names the driver "file" and the directory.
func (l *FileWriter) Driver() (name, path string) { return "file", l.dir }

// ReaderInfo is a read daemon that lives, and the last commit that it has applied.
type ReaderInfo struct {
	Name string
	Seq  uint64
}

// Readers lists those registered in the directory. What can't be read is left
// out: a read daemon may come or go at any moment.
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

// Restore gives the state of the newest good checkpoint, from which Replay then
// goes on, or the empty state.
func (l *FileWriter) Restore(keys int, log *slog.Logger) (*ledger.State, error) {
	r, err := l.OpenReader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	state, place, err := Restore(FileCheckpoints{l.dir, l.opt}, r, keys, log)
	l.start = place
	return state, err
}

// Replay reads the log back from disk, through the same reader that read
// daemons use, and then readies it for appending.
func (l *FileWriter) Replay(apply func(*wal.Frame) error) error {
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
		return &ReplayError{last, fmt.Errorf("the log read back ends here, and commit %d was recovered", l.LastSeq())}
	}
	return l.Start()
}
