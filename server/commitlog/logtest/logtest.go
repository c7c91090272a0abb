// Package logtest has the tests that every driver of a commit log must pass. They
// check the contract of package commitlog point by point.
package logtest

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// Run tests a driver. Each call of open returns a driver whose log does not exist yet, and
// releases its resources when the test ends. The log must accept bodies of at least
// 1 KiB, and keep checkpoints.
func Run(t *testing.T, open func(t testing.TB) commitlog.Driver) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, l *log)
	}{
		{"no log yet", noLogYet},
		{"one writer", oneWriter},
		{"frames", frames},
		{"rejected frames", refusedFrames},
		{"largest body", largestBody},
		{"replay", replay},
		{"replay that fails", replayThatFails},
		{"seek", seek},
		{"seek after", seekAfter},
		{"end", end},
		{"wait", wait},
		{"wait ends with close", waitEndsWithClose},
		{"closed", closed},
		{"registrations", registrations},
		{"commit", commit},
		{"checkpoint duty", checkpointDuty},
		{"checkpoints", checkpoints},
		{"restore", restore},
		{"restore past a damaged checkpoint", restorePastDamage},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, &log{T: t, Driver: open(t)}) })
	}
}

const keys = 100 // number of idempotency keys that states remember

var silent = slog.New(slog.DiscardHandler)

// A log is a driver under test, with at most one writer and the state at the end of
// the log.
type log struct {
	*testing.T
	commitlog.Driver
	w     commitlog.Writer
	state *ledger.State
	all   []wal.Frame // appended frames
}

// must fails the test if err is not nil.
func (l *log) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// start opens the writer and replays the log into the state. It returns the number
// of replayed frames.
func (l *log) start() (replayed int) {
	l.Helper()
	w, err := l.OpenWriter()
	l.must(err)
	l.Cleanup(func() { w.Close() })
	l.w = w
	l.state, err = w.Restore(keys, silent)
	l.must(err)
	r := commitlog.NewReplayer(l.state)
	l.must(w.Replay(func(f *wal.Frame) error {
		replayed++
		return r.ReplayFrame(f)
	}))
	if l.state.Seq() != w.LastSeq() {
		l.Fatalf("replayed to commit %d, but the log ends at %d", l.state.Seq(), w.LastSeq())
	}
	return replayed
}

// next returns the next frame, with n commits. Each commit creates a container
// whose id is its global_seq.
func (l *log) next(n int) *wal.Frame {
	l.Helper()
	f := &wal.Frame{First: l.state.Seq() + 1, Count: uint32(n), Time: int64(1000 * (len(l.all) + 1))}
	for i := range n {
		op, err := ledger.ParseOpWords(fmt.Sprintf("CreateContainer container_id=%d kind=Standard", l.state.Seq()+1))
		l.must(err)
		tx, out := ledger.Transaction{Ops: []ledger.Op{op}}, ledger.Outcome{}
		if err := l.state.Apply(&tx, f.Time, &out); err != nil {
			l.Fatal(err)
		}
		l.state.Remember(&tx, &out, l.state.Seq(), uint32(i+1))
		f.Body = wal.AppendRecord(f.Body, ledger.AppendRecord(nil, &tx, &out))
	}
	f.Digest = l.state.Digest()
	return f
}

// append appends a frame of n commits.
func (l *log) append(n int) {
	l.Helper()
	f := l.next(n)
	before := *f
	l.must(l.w.Append(f))
	if f.Time != before.Time || f.First != before.First || f.Count != before.Count || f.Digest != before.Digest || !bytes.Equal(f.Body, before.Body) {
		l.Errorf("Append changed the frame from %+v to %+v", before, f)
	}
	f.Body = bytes.Clone(f.Body)
	l.all = append(l.all, *f)
	if l.w.LastSeq() != f.Last() || l.w.LastTime() != f.Time {
		l.Errorf("the log ends at commit %d, time %d, want %d, time %d", l.w.LastSeq(), l.w.LastTime(), f.Last(), f.Time)
	}
}

// reader opens a reader, which can see everything appended so far.
func (l *log) reader() commitlog.Reader {
	l.Helper()
	r, err := l.Open()
	l.must(err)
	l.Cleanup(func() { r.Close() })
	if l.w != nil && l.w.LastSeq() > 0 {
		r.Wait(l.w.LastSeq()-1, long)
	}
	return r
}

// wantFrame compares a frame that was read with the i-th appended frame.
func (l *log) wantFrame(f *wal.Frame, i int) {
	l.Helper()
	want := &l.all[i]
	if f.Place() != want.Place() || f.First != want.First || f.Count != want.Count || !bytes.Equal(f.Body, want.Body) {
		l.Fatalf("frame %d is %+v, want %+v", i, f, want)
	}
}

// wantNext reads the next frame and compares it with the i-th appended frame.
func (l *log) wantNext(r commitlog.Reader, i int) {
	l.Helper()
	r.Wait(l.all[i].Last()-1, long) // the reader may see the frame a moment after Append
	f, err := r.Next()
	l.must(err)
	l.wantFrame(f, i)
}

// checkpoint writes a checkpoint of the state at the end of the log.
func (l *log) checkpoint() {
	l.Helper()
	last := l.all[len(l.all)-1]
	place := ledger.CheckpointPlace{LogID: l.reader().LogID(), Chain: last.Chain, Time: last.Time}
	l.must(l.Checkpoints().Write(last.Last(), func(w io.Writer) error { return l.state.WriteCheckpoint(w, place) }))
}
