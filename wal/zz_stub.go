// Package wal keeps batches of opaque records on disk and brings them back.
package wal

import (
	"errors"
	"time"
)

// A Frame is one batch of commits: what one sync makes durable.
type Frame struct {
	First  uint64 // global_seq of the first record
	Count  uint32
	Time   int64  // unix nanoseconds, never decreasing
	Digest uint64 // state digest after the batch
	Body   []byte // for each record a 4-byte length and the record; aliases the log when read
}

// Last is the global_seq of the last record.
func (f *Frame) Last() uint64 { return f.First + uint64(f.Count) - 1 }

// AppendRecord appends the 4-byte length and the record to a body.
func AppendRecord(body, record []byte) []byte { panic("stub") }

// Each calls fn for every record of the frame in order.
func (f *Frame) Each(fn func(seq uint64, record []byte) error) error { panic("stub") }

// Options of a log; zero fields take the defaults.
type Options struct {
	SegmentSize int64        // bytes; default 64 MiB; fixed for each segment at its birth
	Now         func() int64 // unix nanoseconds; default the system clock
	FS          FS           // default the operating system's
}

// FS is the filesystem below a log. (Shape decided by wal.)
type FS interface{}

// Writer appends to a log. One goroutine at a time.
type Writer struct{ _ int }

// Open locks DIR, recovers its log (or makes one) and readies it for appending.
func Open(dir string, o Options) (*Writer, error) { panic("stub") }

// LastSeq, LastTime and LastDigest are those of the last durable frame (0 if none).
func (w *Writer) LastSeq() uint64    { panic("stub") }
func (w *Writer) LastTime() int64    { panic("stub") }
func (w *Writer) LastDigest() uint64 { panic("stub") }

// MaxBody is the largest body that Append takes.
func (w *Writer) MaxBody() int { panic("stub") }

// Append makes the frame durable and moves END; when it returns nil the frame
// survives a crash and readers see it. f.Time is set by the writer. Any error is final (ErrFailed ever after),
// except ErrNoSpace, which is given before anything was written and may pass.
func (w *Writer) Append(f *Frame) error { panic("stub") }

// Close seals nothing, syncs END, and unlocks.
func (w *Writer) Close() error { panic("stub") }

var (
	ErrLocked   = errors.New("wal: another write daemon owns the directory")
	ErrFailed   = errors.New("wal: an earlier write or sync failed; the log must be reopened")
	ErrNoSpace  = errors.New("wal: no space for the next segment")
	ErrEnd      = errors.New("wal: no further durable frame")
	ErrNoLog    = errors.New("wal: there is no log in the directory yet")
	ErrReplaced = errors.New("wal: the log was replaced by another")
)

// CorruptError says where the log is damaged and which rule found it.
type CorruptError struct {
	File   string
	Offset int64
	Seq    uint64 // last good global_seq before the damage
	Rule   string
	Err    error
}

func (e *CorruptError) Error() string { panic("stub") }

// Reader follows a log, also one that another process writes. One goroutine at a time, except Durable and Wait.
type Reader struct{ _ int }

// OpenReader maps the log of DIR; ErrNoLog if there is none yet.
func OpenReader(dir string, o Options) (*Reader, error) { panic("stub") }

// Durable is the last durable global_seq (END). Any goroutine.
func (r *Reader) Durable() uint64 { panic("stub") }

// Wait returns when Durable() > after, or timeout has passed, or Close was called. Any goroutine.
func (r *Reader) Wait(after uint64, timeout time.Duration) { panic("stub") }

// Next returns the next durable frame, ErrEnd when there is none yet. Its body is valid until the next call.
func (r *Reader) Next() (*Frame, error) { panic("stub") }

// Seek sets the reader so that Next returns the frame that holds seq.
func (r *Reader) Seek(seq uint64) error { panic("stub") }

// Close unmaps.
func (r *Reader) Close() error { panic("stub") }
