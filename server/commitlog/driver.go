package commitlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"assetledger/ledger"
	"assetledger/wal"
)

// A Driver stores a log in one particular way. The package comment has the
// contract.
type Driver interface {
	Source
	// OpenWriter makes the caller the only writer of the log. It returns
	// wal.ErrLocked if there is another. It changes nothing except what it needs to
	// exclude other writers.
	OpenWriter() (Writer, error)
}

// A Source is what a read daemon opens its log from.
type Source interface {
	// Open opens the log for reading. It returns wal.ErrNoLog if there is none yet.
	Open() (Reader, error)
	// Register adds a read daemon to those that the writer lists. It returns
	// wal.ErrNameTaken if another live read daemon has the name, and wal.ErrNoLog if
	// there is no log yet.
	Register(name string) (Registration, error)
	// Checkpoints returns the checkpoints of the log, or NoCheckpoints if the
	// driver keeps none.
	Checkpoints() CheckpointStore
}

// A Writer is an open log, as the write daemon uses it.
type Writer interface {
	// Restore returns the state of the newest valid checkpoint, or the empty state.
	// Replay then continues after it. The argument keys is the number of idempotency keys
	// that the state remembers. Restore is called at most once, before Replay.
	Restore(keys int, log *slog.Logger) (*ledger.State, error)
	// Replay calls apply with every durable batch after the restored state, in
	// order. It is called before the first Append. It changes nothing in the log
	// until every apply has succeeded, so a log that can't be replayed stays as it
	// is.
	Replay(apply func(*wal.Frame) error) error
	// LastSeq returns the last durable commit, or 0 if there is none. It is known
	// before Replay.
	LastSeq() uint64
	// LastTime returns the time of the last durable frame in Unix nanoseconds, or 0
	// if there is none.
	LastTime() int64
	// MaxBody returns the maximum size of a batch's body, in bytes.
	MaxBody() int
	// Append appends a batch, and returns when it is durable. Readers see the batch
	// then, or a moment later.
	Append(*wal.Frame) error
	// Confirm returns nil if no other daemon had become the writer when Confirm was
	// called. The write daemon calls it before a response for which nothing is
	// appended, such as a rejection. It returns at once if the log can't have another
	// writer while this one is open.
	Confirm() error
	// Room returns nil if there is certainly space for one more batch, besides the
	// one being appended, if any. Otherwise it returns wal.ErrNoSpace, which may be
	// temporary, or the error that ended the log.
	Room() error
	// Space returns the free bytes of the current segment, and a directory on the
	// filesystem that the log fills. dir is "" if the log fills no filesystem of
	// this machine.
	Space() (free int64, dir string)
	// Commit reads a durable commit back and calls use with it. It may wait for the
	// disk.
	Commit(seq uint64, use func(*ledger.Record)) error
	// Readers returns the live read daemons of the log.
	Readers() []ReaderInfo
	// Driver returns the driver's name and the location of the log, for display.
	Driver() (name, path string)
	// Close releases the log.
	Close() error
}

// A Reader is an open log, as the read daemon uses it. It returns batches in order,
// and none beyond the durable end.
type Reader interface {
	LogID() wal.LogID
	// Next returns the next batch, or wal.ErrEnd if there is none yet.
	Next() (*wal.Frame, error)
	// Seek positions the reader before the batch that holds seq. If seq is the
	// first commit after the durable end, it positions the reader before the batch
	// that will be appended next.
	Seek(seq uint64) error
	// SeekAfter positions the reader after p. It checks that the log has a batch
	// that ends at p.
	SeekAfter(p wal.Place) error
	// Durable returns the last durable commit.
	Durable() uint64
	// Moved returns the time when the last durable commit became durable, in Unix
	// nanoseconds, or a slightly later time. It returns 0 if the time is unknown.
	Moved() int64
	// Wait returns when Durable() > after, or after the timeout.
	Wait(after uint64, timeout time.Duration)
	Close() error
}

// ReaderInfo describes a live read daemon.
type ReaderInfo struct {
	Name string
	Seq  uint64
}

// A Registration is an entry in the log's list of read daemons. It reports the last
// commit that the daemon has applied, until it is closed.
type Registration interface {
	Applied(seq uint64)
	Close() error
}

// A CheckpointStore stores the checkpoints of a log.
type CheckpointStore interface {
	// List returns the commits that have checkpoints, in ascending order.
	List() ([]uint64, error)
	// Name returns the checkpoint's name, for messages.
	Name(seq uint64) string
	// Open reads a checkpoint from its beginning.
	Open(seq uint64) (io.ReadCloser, error)
	// Claim acquires the duty of making checkpoints, until the result is closed. It
	// returns wal.ErrLocked if another daemon has the duty.
	Claim() (io.Closer, error)
	// Write stores a checkpoint durably and atomically. Only the daemon that has
	// the duty may call it.
	Write(seq uint64, write func(io.Writer) error) error
}

// NoCheckpoints is the CheckpointStore of drivers without checkpoints. It is always
// empty, and Claim returns wal.ErrLocked.
type NoCheckpoints struct{}

var (
	// ErrUnreachable means that it is unknown whether a frame was appended, or
	// which daemon is the writer. It may be temporary.
	ErrUnreachable = errors.New("the log can't be reached")
	// ErrTailFull wraps wal.ErrNoSpace. It means that the store of the newest part
	// of a log on several machines is full, and not a disk of this host.
	ErrTailFull = fmt.Errorf("the store of the newest part of the log is full: %w", wal.ErrNoSpace)
	// ErrFenced means that another daemon has become the writer. It is final.
	ErrFenced = errors.New("another daemon has become the writer of the log")
)

var errNoCheckpoints = errors.New("this log has no checkpoints")

func (NoCheckpoints) List() ([]uint64, error)                   { return nil, nil }
func (NoCheckpoints) Name(uint64) string                        { return "" }
func (NoCheckpoints) Open(uint64) (io.ReadCloser, error)        { return nil, errNoCheckpoints }
func (NoCheckpoints) Claim() (io.Closer, error)                 { return nil, wal.ErrLocked }
func (NoCheckpoints) Write(uint64, func(io.Writer) error) error { return errNoCheckpoints }
