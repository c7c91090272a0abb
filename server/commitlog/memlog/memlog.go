// Package memlog stores a commit log in memory, for tests. It is a driver, like "file"
// and "etcd", and passes the same tests (package logtest).
package memlog

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// DefaultMaxBody is the default maximum size of a batch's body, in bytes.
const DefaultMaxBody = 4 << 20

// A Log is a log in memory, and its driver. Closing a Writer loses nothing: the next one
// finds what was appended before.
type Log struct {
	id      wal.LogID
	maxBody int

	mu      sync.Mutex
	begun   bool // a writer has replayed the log, so it exists
	written bool // a writer is open
	frames  []wal.Frame
	moved   int64         // time of the last Append
	changed chan struct{} // closed and replaced by each Append
	readers map[string]*registration
	points  map[uint64][]byte
	claimed bool
}

// New returns an empty log. maxBody is the maximum size of a batch's body in bytes;
// 0 means DefaultMaxBody.
func New(maxBody int) *Log {
	l := &Log{maxBody: maxBody, changed: make(chan struct{}), readers: map[string]*registration{}, points: map[uint64][]byte{}}
	if maxBody == 0 {
		l.maxBody = DefaultMaxBody
	}
	rand.Read(l.id[:])
	return l
}

// Frames returns all durable frames.
func (l *Log) Frames() []wal.Frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.frames)
}

// Truncate removes all but the first n frames, as if the writer had been killed
// before it appended the others. No reader may be open.
func (l *Log) Truncate(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = l.frames[:n]
}

// last returns the place of the last durable commit. The caller holds mu.
func (l *Log) last() wal.Place {
	if n := len(l.frames); n > 0 {
		return l.frames[n-1].Place()
	}
	return wal.Place{}
}

// index returns the index of the first frame that ends at seq or later. The caller
// holds mu.
func (l *Log) index(seq uint64) int {
	i, _ := slices.BinarySearchFunc(l.frames, seq, func(f wal.Frame, seq uint64) int {
		if f.Last() < seq {
			return -1
		}
		return 1
	})
	return i
}

// Open opens the log for reading.
func (l *Log) Open() (commitlog.Reader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return nil, wal.ErrNoLog
	}
	return &reader{log: l, closed: make(chan struct{})}, nil
}

// A reader is positioned before a frame of the log.
type reader struct {
	log    *Log
	at     int
	frame  wal.Frame
	once   sync.Once
	closed chan struct{}
}

func (r *reader) isClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

func (r *reader) LogID() wal.LogID { return r.log.id }

func (r *reader) Next() (*wal.Frame, error) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	switch {
	case r.isClosed():
		return nil, wal.ErrClosed
	case r.at == len(r.log.frames):
		return nil, wal.ErrEnd
	}
	r.frame = r.log.frames[r.at]
	r.at++
	return &r.frame, nil
}

func (r *reader) Seek(seq uint64) error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if end := r.log.last().Seq; seq > end+1 {
		return fmt.Errorf("%w: commit %d, the log ends at %d", wal.ErrBeyond, seq, end)
	}
	r.at = r.log.index(seq)
	return nil
}

func (r *reader) SeekAfter(p wal.Place) error {
	if p.Seq == 0 {
		return r.Seek(1)
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if end := r.log.last().Seq; p.Seq > end {
		return fmt.Errorf("%w: commit %d, the log ends at %d", wal.ErrBeyond, p.Seq, end)
	}
	i := r.log.index(p.Seq)
	if got := r.log.frames[i].Place(); got != p {
		return wal.Mismatch(got, p)
	}
	r.at = i + 1
	return nil
}

func (r *reader) Durable() uint64 {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.last().Seq
}

func (r *reader) Moved() int64 {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.moved
}

func (r *reader) Wait(after uint64, timeout time.Duration) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		r.log.mu.Lock()
		end, changed := r.log.last().Seq, r.log.changed
		r.log.mu.Unlock()
		if end > after {
			return
		}
		select {
		case <-changed:
		case <-r.closed:
			return
		case <-t.C:
			return
		}
	}
}

func (r *reader) Close() error {
	r.once.Do(func() { close(r.closed) })
	return nil
}

// Register registers a read daemon.
func (l *Log) Register(name string) (commitlog.Registration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return nil, wal.ErrNoLog
	}
	if l.readers[name] != nil {
		return nil, fmt.Errorf("%w: %s", wal.ErrNameTaken, name)
	}
	r := &registration{log: l, name: name}
	l.readers[name] = r
	return r, nil
}

type registration struct {
	log  *Log
	name string
	seq  uint64 // guarded by log.mu
}

func (r *registration) Applied(seq uint64) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	r.seq = seq
}

func (r *registration) Close() error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	delete(r.log.readers, r.name)
	return nil
}

var errFrame = errors.New("memlog: the frame does not follow the last one, or is too large")
