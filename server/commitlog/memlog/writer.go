package memlog

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"log/slog"
	"slices"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// OpenWriter makes the caller the only writer.
func (l *Log) OpenWriter() (commitlog.Writer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.written {
		return nil, wal.ErrLocked
	}
	l.written = true
	return &writer{log: l}, nil
}

type writer struct {
	log     *Log
	start   wal.Place // place of the checkpoint that Restore returned
	started bool      // Replay has succeeded
	closed  bool      // guarded by log.mu
}

// reader returns a reader of the log. Unlike Log.Open, it works before the log
// exists.
func (w *writer) reader() *reader { return &reader{log: w.log, closed: make(chan struct{})} }

func (w *writer) Restore(keys int, log *slog.Logger) (state *ledger.State, err error) {
	state, w.start, err = commitlog.Restore(w.log.Checkpoints(), w.reader(), keys, log)
	return state, err
}

func (w *writer) Replay(apply func(*wal.Frame) error) error {
	r := w.reader()
	if err := r.SeekAfter(w.start); err != nil {
		return err
	}
	for _, f := range w.log.Frames()[r.at:] {
		if err := apply(&f); err != nil {
			return err
		}
	}
	w.started = true
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	w.log.begun = true
	return nil
}

func (w *writer) lastPlace() wal.Place {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	return w.log.last()
}

func (w *writer) LastSeq() uint64 { return w.lastPlace().Seq }
func (w *writer) LastTime() int64 { return w.lastPlace().Time }
func (w *writer) MaxBody() int    { return w.log.maxBody }

func (w *writer) Append(f *wal.Frame) error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	last := w.log.last()
	switch {
	case w.closed || !w.started:
		return wal.ErrClosed
	case f.First != last.Seq+1 || f.Count == 0 || f.Time < last.Time || len(f.Body) > w.log.maxBody:
		return errFrame
	}
	g := *f
	g.Body = slices.Clone(f.Body)
	g.Chain = crc32.ChecksumIEEE(fmt.Appendf(nil, "%x %d %d %d %d %x %x", w.log.id, last.Chain, g.First, g.Count, g.Time, g.Digest, g.Body))
	f.Chain = g.Chain
	w.log.frames = append(w.log.frames, g)
	w.log.moved = time.Now().UnixNano()
	close(w.log.changed)
	w.log.changed = make(chan struct{})
	return nil
}

// Confirm returns nil, since a writer stays the only one until it is closed.
func (w *writer) Confirm() error { return nil }

func (w *writer) Room() error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.closed {
		return wal.ErrClosed
	}
	return nil
}

func (w *writer) Space() (free int64, dir string) { return 0, "" }

func (w *writer) Commit(seq uint64, use func(*ledger.Record)) error {
	r := commitlog.PlacedReader{Reader: w.reader()}
	return r.Commits(seq, seq, func(_ *wal.Frame, rec *ledger.Record, _ uint64) bool { use(rec); return false })
}

func (w *writer) Readers() (list []commitlog.ReaderInfo) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	for _, r := range w.log.readers {
		list = append(list, commitlog.ReaderInfo{Name: r.name, Seq: r.seq})
	}
	slices.SortFunc(list, func(a, b commitlog.ReaderInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func (w *writer) Driver() (name, path string) { return "memory", "" }

func (w *writer) Close() error {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if !w.closed {
		w.closed, w.log.written = true, false
	}
	return nil
}
