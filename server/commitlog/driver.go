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

// A Driver is one way to keep a log. The package comment has the contract.
type Driver interface {
	Source
	// OpenWriter makes the caller the only writer of the log: wal.ErrLocked if
	// there is another. Apart from what it needs for that, it changes nothing.
	OpenWriter() (Writer, error)
}

// A Source is where a read daemon finds its log.
type Source interface {
	// Open opens the log for reading: wal.ErrNoLog when there is none yet.
	Open() (Reader, error)
	// Register makes a read daemon known to the writer. The name must be unlike
	// those of the others that live.
	Register(name string) (Registration, error)
	// Checkpoints returns the checkpoints beside the log; NoCheckpoints if the
	// driver keeps none.
	Checkpoints() CheckpointStore
}

// A Writer is a log as the write daemon needs it.
type Writer interface {
	// Restore returns the state of the newest good checkpoint, after which
	// Replay then goes on, or the empty state. It is called at most once, before
	// Replay.
	Restore(keys int, log *slog.Logger) (*ledger.State, error)
	// Replay calls apply with every durable batch in order, before the first
	// Append. Nothing kept in the log is changed until it has succeeded: a log
	// that can't be replayed stays as it is.
	Replay(apply func(*wal.Frame) error) error
	// LastSeq is the last durable commit, 0 if there is none. It is known before
	// Replay.
	LastSeq() uint64
	// LastTime is the time of the last durable frame in Unix nanoseconds, 0 if none.
	LastTime() int64
	// MaxBody is the largest body of a batch, in bytes.
	MaxBody() int
	// Append returns when the batch is durable and readers may see it.
	Append(*wal.Frame) error
	// Confirm is nil if nobody else had become the writer when it was called. An
	// answer that appends nothing, such as a refusal, is given after it. A log
	// that has one writer for as long as it is open says so at once.
	Confirm() error
	// Room is nil when one more batch than the one being appended, if any,
	// surely finds space. Otherwise it says why not: wal.ErrNoSpace, which may
	// pass, or what has ended the log.
	Room() error
	// Space returns the free bytes of the present segment, and the directory
	// whose filesystem the log fills: "" if it fills none of this machine.
	Space() (free int64, dir string)
	// Commit reads a durable commit back, and may wait for the disk.
	Commit(seq uint64, use func(*ledger.Record)) error
	// Readers lists the read daemons of the log that live, by name.
	Readers() []ReaderInfo
	// Driver is the driver's name and where it keeps the log, for people.
	Driver() (name, path string)
	// Close releases the log.
	Close() error
}

// A Reader is a log as the read daemon needs it: batches in order, none beyond
// the durable end.
type Reader interface {
	LogID() wal.LogID
	// Next returns the next batch, wal.ErrEnd when there is none yet.
	Next() (*wal.Frame, error)
	// Seek makes Next return the batch that holds seq, or, after the durable
	// end, the next one to come.
	Seek(seq uint64) error
	// SeekAfter makes Next return the batch after p, and checks that the log has
	// a batch at p.
	SeekAfter(p wal.Place) error
	// Durable is the last durable commit.
	Durable() uint64
	// Moved is when that became durable, in Unix nanoseconds, or a little
	// later; 0 if unknown.
	Moved() int64
	// Wait returns when Durable() > after, or timeout has passed.
	Wait(after uint64, timeout time.Duration)
	Close() error
}

// ReaderInfo is a read daemon that lives, and the last commit that it has applied.
type ReaderInfo struct {
	Name string
	Seq  uint64
}

// A Registration says how far a read daemon is, until it is closed.
type Registration interface {
	Applied(seq uint64)
	Close() error
}

// A CheckpointStore is where the checkpoints of a log are.
type CheckpointStore interface {
	// List returns the commits at which there are checkpoints, rising.
	List() ([]uint64, error)
	// Name is the checkpoint's name, for people.
	Name(seq uint64) string
	// Open reads a checkpoint from its beginning.
	Open(seq uint64) (io.ReadCloser, error)
	// Claim takes the duty of making checkpoints until it is closed:
	// wal.ErrLocked if another daemon has it.
	Claim() (io.Closer, error)
	// Write makes a checkpoint durable, whole or not at all. Only the holder of
	// the duty calls it.
	Write(seq uint64, write func(io.Writer) error) error
}

// NoCheckpoints is the CheckpointStore of drivers that keep none: there is
// nothing in it, and nobody gets the duty.
type NoCheckpoints struct{}

var (
	// ErrUnreachable means that it is unknown whether a frame was appended, or
	// who the writer is. It may pass.
	ErrUnreachable = errors.New("the log can't be reached")
	// ErrTailFull is a wal.ErrNoSpace: what keeps the newest part of the log on
	// several machines is full, not a disk of this host.
	ErrTailFull = fmt.Errorf("what keeps the newest part of the log is full: %w", wal.ErrNoSpace)
	// ErrFenced means that another daemon has become the writer. It is final.
	ErrFenced = errors.New("another daemon has become the writer of the log")
)

var errNoCheckpoints = errors.New("this log keeps no checkpoints")

func (NoCheckpoints) List() ([]uint64, error)                   { return nil, nil }
func (NoCheckpoints) Name(uint64) string                        { return "" }
func (NoCheckpoints) Open(uint64) (io.ReadCloser, error)        { return nil, errNoCheckpoints }
func (NoCheckpoints) Claim() (io.Closer, error)                 { return nil, wal.ErrLocked }
func (NoCheckpoints) Write(uint64, func(io.Writer) error) error { return errNoCheckpoints }
