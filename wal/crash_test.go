package wal_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"assetledger/wal"
	"assetledger/wal/memfs"
)

// The crash tests share these helpers: logs on a disk that can crash.

const (
	crashDir     = "/log"
	crashSegment = 64 << 10
)

// frameFor returns the frame that these tests append next. The parameter first is its
// first commit. The frame depends on nothing else, so the tests know what must be read
// back.
func frameFor(first uint64) *wal.Frame {
	count := 1 + int(first%3)
	size := []int{28000, 700, 20, 100, 1300, 900, 29000}[first%7] // the segment rotates before the seventh
	f := &wal.Frame{First: first, Count: uint32(count), Digest: first * 0x9e3779b97f4a7c15}
	for i := range count {
		f.Body = wal.AppendRecord(f.Body, bytes.Repeat([]byte{byte(first) + byte(i) + 1}, size/count))
	}
	return f
}

// A zeroReader provides the bytes of the log id.
type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// options returns the options of a log that is driven step by step.
func options(fs wal.FS, notices *[]string) wal.Options {
	var now int64
	return wal.Options{
		SegmentSize: crashSegment, FS: fs, Manual: true, Rand: zeroReader{},
		Now: func() int64 { now += 1000; return now },
		OnNotice: func(text string) {
			if notices != nil {
				*notices = append(*notices, text)
			}
		},
	}
}

// A run is a writer at work, as its client sees it.
type run struct {
	acked uint64 // last acknowledged commit
	begun uint64 // last commit that was passed to Append
}

// work opens the log, appends frames and closes the log, once per round. It returns the
// first error.
func (r *run) work(fs wal.FS, rounds, frames int) error {
	for range rounds {
		w, err := wal.Open(crashDir, options(fs, nil))
		if err != nil {
			return err
		}
		r.acked = max(r.acked, w.LastSeq())
		for range frames {
			if err := r.append(w); err != nil {
				return errors.Join(err, closeAfter(w, err))
			}
		}
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

// closeAfter closes a writer that has failed. Close must return an error too.
func closeAfter(w *wal.Writer, cause error) error {
	if err := w.Close(); err == nil && errors.Is(cause, wal.ErrFailed) {
		return errors.New("Close does not report that the writer failed")
	}
	return nil
}

func (r *run) append(w *wal.Writer) error {
	f := frameFor(w.LastSeq() + 1)
	if err := w.Room(); err != nil {
		return err
	}
	r.begun = max(r.begun, f.Last())
	if err := w.Append(f); err != nil {
		return err
	}
	r.acked = f.Last()
	return w.SyncEnd()
}

// readBack reads a log from its start to its durable end and checks every frame.
func readBack(fs wal.FS) (last uint64, err error) {
	r, err := wal.OpenReader(crashDir, options(fs, nil))
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if err == wal.ErrEnd {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		want := frameFor(last + 1)
		if f.First != last+1 || f.Count != want.Count || f.Digest != want.Digest || !bytes.Equal(f.Body, want.Body) {
			return last, fmt.Errorf("the frame of commit %d differs from the appended one", f.First)
		}
		last = f.Last()
	}
}

// recovers opens a log after a crash and uses it. Every acknowledged commit must
// be there, and no commit that was never begun. The log must continue.
func (r *run) recovers(d *memfs.Disk) error {
	p := d.Process()
	w, err := wal.Open(crashDir, options(p, nil))
	if err != nil {
		return err
	}
	if w.LastSeq() < r.acked || w.LastSeq() > r.begun {
		return fmt.Errorf("%w: the log ends at %d; commits up to %d were acknowledged, and up to %d begun", errLost, w.LastSeq(), r.acked, r.begun)
	}
	last, err := readBack(p)
	if err != nil || last != w.LastSeq() {
		return fmt.Errorf("%w: read back up to %d of %d: %w", errLost, last, w.LastSeq(), err)
	}
	next := run{acked: last, begun: last}
	if err := next.append(w); err != nil {
		return fmt.Errorf("after recovery: %w", err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	report, err := wal.Verify(crashDir, wal.VerifyOptions{FS: p})
	if err != nil || report.LastSeq != next.acked || report.Torn != 0 {
		return fmt.Errorf("verify after recovery: %+v, %w", report, err)
	}
	return nil
}

var errLost = errors.New("commits are lost or wrong")

// newLog writes a log of three batches and closes it.
func newLog(t testing.TB, seed uint64) (*memfs.Disk, run) {
	t.Helper()
	d := memfs.New(seed)
	var r run
	if err := r.work(d.Process(), 1, 3); err != nil {
		t.Fatal(err)
	}
	return d, r
}

// wellRefused returns an error unless err is a rejection that tells people what
// they need to know.
func wellRefused(err error) error {
	var c *wal.CorruptError
	switch {
	case !errors.As(err, &c):
		return fmt.Errorf("not a CorruptError: %w", err)
	case c.File == "" || c.Rule == "" || c.Offset < 0 || c.Offset > crashSegment:
		return fmt.Errorf("a rejection that does not name the place: %+v", c)
	}
	return nil
}
