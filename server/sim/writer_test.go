package sim

import (
	"context"
	"encoding/binary"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/writer"
	"assetledger/wal"
	"assetledger/wal/memfs"
)

// A simWriter is the write daemon without HTTP or goroutines. Its methods do
// nothing on a nil simWriter.
type simWriter struct {
	*simWorld
	p    *memfs.Process
	log  *commitlog.FileWriter
	core *writer.Core
}

// startWriter opens the log and replays it.
func (w *simWorld) startWriter() {
	s := &simWriter{simWorld: w, p: w.disk.Process()}
	s.p.Plan(w.plan(true))
	var err error
	if alive := memfs.Survives(func() { err = s.open() }); !alive {
		w.mayCrash()
		return
	}
	if err != nil {
		if !injected(err) {
			w.failf("the writer can't start: %v", err)
		}
		s.p.Kill()
		return
	}
	w.writer, w.virgin = s, false
	if !w.sabotage.endEarly {
		w.catchUp()
	}
}

func (s *simWriter) open() (err error) {
	var fs wal.FS = s.p
	if s.sabotage.endEarly {
		fs = &earlyEnd{Process: s.p}
	}
	s.log, err = commitlog.OpenFile(simDir, wal.Options{
		SegmentSize: 64 << 10, FS: fs, Now: s.clock, Manual: true, Rand: zeroes{},
		OnNotice: func(text string) {
			if strings.Contains(text, "torn") {
				s.stats.torn++
			} else {
				s.stats.ends++
			}
		},
	})
	if err != nil {
		return err
	}
	state, err := s.log.Restore(simKeys, simLog)
	if err != nil {
		return err
	}
	if err := commitlog.Replay(context.Background(), state, s.log, simLog, new(atomic.Uint64)); err != nil {
		return err
	}
	durable := func(f *wal.Frame) { s.modelFrame(f) }
	if s.sabotage.replyEarly {
		s.core = writer.NewCore(&lateLog{Writer: s.log, written: durable}, state, 8, s.clock, func(*wal.Frame) {})
	} else {
		s.core = writer.NewCore(s.log, state, 8, s.clock, durable)
	}
	return nil
}

// simLog discards the log lines of the daemons.
var simLog = slog.New(slog.DiscardHandler)

// simKeys is greater than the number of requests, so no idempotency key is
// forgotten.
const simKeys = 10_000

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// catchUp applies the rest of the log to the model, through a disk without
// faults.
func (w *simWorld) catchUp() {
	p := w.disk.Process()
	defer p.Kill()
	if err := readFrames(p, w.modelFrame); err != nil {
		w.failf("reading back what was recovered: %v", err)
	}
}

// modelFrame applies a durable batch to the model.
func (w *simWorld) modelFrame(f *wal.Frame) error {
	w.saw("the daemon that opened the log", f.Last(), f.Digest)
	return f.Each(func(seq uint64, record []byte) error {
		if seq <= w.model.Seq() {
			return nil
		}
		var rec ledger.Record
		if err := rec.Decode(slices.Clone(record)); err != nil {
			return err
		}
		if _, refusal := w.model.Apply(&rec.Tx); refusal != nil {
			w.failf("the model does not allow commit %d: %v", seq, refusal)
		}
		w.records = append(w.records, &rec)
		return nil
	})
}

// mayCrash is called after a process has died during an operation. In three cases
// out of four, the whole machine goes down with it.
func (w *simWorld) mayCrash() {
	w.writer.leave()
	if w.rng.IntN(4) > 0 {
		w.crash()
	}
}

// run calls the function do in the writer's process, and notices if that ends the
// process.
func (s *simWriter) run(do func()) {
	if s == nil {
		return
	}
	if !memfs.Survives(do) {
		s.mayCrash()
		return
	}
	if s.core.Failed() { // the daemon would exit too
		memfs.Survives(func() { s.log.Close() })
		s.p.Kill()
		s.leave()
	}
}

// judge makes the sequencer judge the oldest group.
func (s *simWriter) judge() {
	s.run(func() { s.core.Judge() })
}

// sync makes the batch in flight durable.
func (s *simWriter) sync() {
	if s != nil && s.core.InFlight() && !s.calm && s.rng.IntN(15) == 0 {
		s.doom = 1 + s.rng.IntN(3)
	}
	s.run(func() { s.core.Sync() })
}

func (s *simWriter) syncEnd() {
	s.run(func() {
		if err := s.log.SyncEnd(); err != nil {
			s.core.Fail(err)
		}
	})
}

// stop ends the writer as a daemon ends on request.
func (s *simWriter) stop() {
	for s != nil && s.simWorld.writer == s {
		if s.core.Stop() {
			s.run(func() { s.log.Close() })
			s.p.Kill()
			s.leave()
			return
		}
		s.judge()
		s.writer.sync()
	}
}

// leave makes all clients notice that the writer is gone.
func (s *simWriter) leave() {
	if s == nil {
		return
	}
	s.simWorld.writer, s.doom = nil, 0
	for _, t := range s.streams {
		t.leave()
	}
	for _, c := range s.clients {
		c.collect()
		c.abandon(s.core)
	}
}

// A lateLog confirms that a batch is durable, but writes it only when the next one is
// appended.
type lateLog struct {
	commitlog.Writer
	late    *wal.Frame
	written func(*wal.Frame)
}

func (l *lateLog) Append(f *wal.Frame) (err error) {
	if l.late != nil {
		if err = l.Writer.Append(l.late); err == nil {
			l.written(l.late)
		}
	}
	if err == nil {
		g := *f
		g.Body = slices.Clone(f.Body)
		l.late = &g
	}
	return err
}

// earlyEnd stores END when a frame is written, before it is synced.
type earlyEnd struct {
	*memfs.Process
	end wal.Page
}

func (e *earlyEnd) Share(name string, write bool) (wal.Page, error) {
	p, err := e.Process.Share(name, write)
	if filepath.Base(name) == "END" && write {
		e.end = p
	}
	return p, err
}

func (e *earlyEnd) Create(name string) (wal.File, error) {
	f, err := e.Process.Create(name)
	return earlyFile{f, e}, err
}

func (e *earlyEnd) Open(name string, write bool) (wal.File, error) {
	f, err := e.Process.Open(name, write)
	return earlyFile{f, e}, err
}

type earlyFile struct {
	wal.File
	e *earlyEnd
}

func (f earlyFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(b, off)
	if err == nil && f.e.end != nil && off >= 4096 && len(b) >= 64 && b[4] == 1 {
		last := binary.LittleEndian.Uint64(b[8:]) + uint64(binary.LittleEndian.Uint32(b[16:])) - 1
		(*atomic.Uint64)(unsafe.Pointer(&f.e.end.Bytes()[64])).Store(last)
	}
	return n, err
}
