package logtest

import (
	"errors"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

// noLogYet tests that readers get wal.ErrNoLog before a writer has created the log.
func noLogYet(t *testing.T, l *log) {
	if _, err := l.Open(); !errors.Is(err, wal.ErrNoLog) {
		t.Errorf("Open: got %v, want ErrNoLog", err)
	}
	if _, err := l.Register("a"); !errors.Is(err, wal.ErrNoLog) {
		t.Errorf("Register: got %v, want ErrNoLog", err)
	}
	if seqs, err := l.Checkpoints().List(); err != nil || len(seqs) > 0 {
		t.Errorf("checkpoints: got %v, %v; want none", seqs, err)
	}
	if n := l.start(); n != 0 || l.w.LastSeq() != 0 || l.w.LastTime() != 0 || l.w.Room() != nil || l.w.MaxBody() < 1024 {
		t.Errorf("a new log: %d frames replayed, ends at %d, time %d, want 0; Room %v, want nil; MaxBody %d, want at least 1024", n, l.w.LastSeq(), l.w.LastTime(), l.w.Room(), l.w.MaxBody())
	}
	r := l.reader()
	if _, err := r.Next(); !errors.Is(err, wal.ErrEnd) || r.Durable() != 0 {
		t.Errorf("Next in an empty log: got %v, want ErrEnd; durable is %d, want 0", err, r.Durable())
	}
	if name, _ := l.w.Driver(); name == "" {
		t.Error("the driver has no name")
	}
}

// oneWriter tests that a second writer is rejected until the first is closed.
func oneWriter(t *testing.T, l *log) {
	for range 3 {
		l.start()
		if _, err := l.OpenWriter(); !errors.Is(err, wal.ErrLocked) {
			t.Fatalf("a second writer: got %v, want ErrLocked", err)
		}
		l.append(1)
		l.must(l.w.Close())
	}
}

// frames tests that readers opened before and after an append read what was
// appended.
func frames(t *testing.T, l *log) {
	l.start()
	early := l.reader()
	for i := range 20 {
		l.append(1 + i%3)
		l.wantNext(early, i)
		if early.Durable() != l.all[i].Last() || early.Moved() == 0 {
			t.Fatalf("Durable is %d, Moved %d, after commit %d", early.Durable(), early.Moved(), l.all[i].Last())
		}
	}
	late := l.reader()
	chains := map[uint32]bool{}
	for i := range l.all {
		l.wantNext(late, i)
		chains[l.all[i].Chain] = true
	}
	if len(chains) < len(l.all)-1 {
		t.Errorf("%d frames have %d different chains, want at least %d", len(l.all), len(chains), len(l.all)-1)
	}
	if late.LogID() != early.LogID() || late.LogID() == (wal.LogID{}) {
		t.Errorf("two readers have the log ids %v and %v, want the same, and not zero", early.LogID(), late.LogID())
	}
}

// refusedFrames tests that a frame that does not follow the last one is rejected
// and changes nothing.
func refusedFrames(t *testing.T, l *log) {
	l.start()
	l.append(2)
	l.append(1)
	f := *l.next(1)
	for name, change := range map[string]func(f *wal.Frame){
		"too early":          func(f *wal.Frame) { f.First-- },
		"too late":           func(f *wal.Frame) { f.First++ },
		"without commits":    func(f *wal.Frame) { f.Count, f.Body = 0, nil },
		"of an earlier time": func(f *wal.Frame) { f.Time = l.all[1].Time - 1 },
	} {
		bad := f
		change(&bad)
		if err := l.w.Append(&bad); err == nil || errors.Is(err, wal.ErrNoSpace) || l.w.LastSeq() != 3 {
			t.Errorf("a frame %s: got %v, want an error; the log ends at %d, want 3", name, err, l.w.LastSeq())
		}
	}
	f.Time = l.all[1].Time // the same time is allowed
	l.must(l.w.Append(&f))
	l.all = append(l.all, f)
	r := l.reader()
	for i := range l.all {
		l.wantNext(r, i)
	}
	if _, err := r.Next(); !errors.Is(err, wal.ErrEnd) {
		t.Errorf("got %v, want ErrEnd", err)
	}
}

// largestBody tests that a body of MaxBody bytes is accepted, that one more byte is
// rejected, and that the log then continues.
func largestBody(t *testing.T, l *log) {
	l.start()
	f := wal.Frame{First: 1, Count: 1, Time: 1}
	const prefix = 4
	f.Body = wal.AppendRecord(nil, make([]byte, l.w.MaxBody()-prefix+1))
	if err := l.w.Append(&f); err == nil || l.w.LastSeq() != 0 {
		t.Fatalf("a body with a byte too many: got %v, want an error; the log ends at %d, want 0", err, l.w.LastSeq())
	}
	f.Body = wal.AppendRecord(nil, make([]byte, l.w.MaxBody()-prefix))
	for i := range uint64(4) {
		f.First = 1 + i
		l.must(l.w.Room())
		l.must(l.w.Append(&f))
		l.all = append(l.all, f)
	}
	r := l.reader()
	for i := range l.all {
		l.wantNext(r, i)
	}
}

// replay tests that the next writer replays every frame, and can append.
func replay(t *testing.T, l *log) {
	for round := range 3 {
		if n := l.start(); n != len(l.all) {
			t.Fatalf("%d frames were replayed, but %d appended", n, len(l.all))
		}
		for i := range 3 + round {
			l.append(1 + i)
		}
		l.must(l.w.Close())
	}
	w, err := l.OpenWriter()
	l.must(err)
	defer w.Close()
	if last := l.all[len(l.all)-1]; w.LastSeq() != last.Last() || w.LastTime() != last.Time {
		t.Errorf("before Replay the log ends at %d, time %d, want %d and %d", w.LastSeq(), w.LastTime(), last.Last(), last.Time)
	}
	i := 0
	l.must(w.Replay(func(f *wal.Frame) error {
		l.wantFrame(f, i)
		i++
		return nil
	}))
}

// replayThatFails tests that Replay returns the error of apply, and that the log
// can be opened again.
func replayThatFails(t *testing.T, l *log) {
	l.start()
	l.append(1)
	l.append(1)
	l.must(l.w.Close())
	w, err := l.OpenWriter()
	l.must(err)
	mine := errors.New("mine")
	if err := w.Replay(func(f *wal.Frame) error {
		if f.First == 2 {
			return mine
		}
		return nil
	}); !errors.Is(err, mine) {
		t.Errorf("Replay: got %v, want %v", err, mine)
	}
	l.must(w.Close())
	if n := l.start(); n != 2 {
		t.Errorf("%d frames were replayed afterwards, want 2", n)
	}
}

// commit tests that each durable commit can be read back alone, in any order.
func commit(t *testing.T, l *log) {
	l.start()
	for range 5 {
		l.append(3)
	}
	for _, seq := range []uint64{1, 9, 8, 15, 2} {
		found := 0
		l.must(l.w.Commit(seq, func(rec *ledger.Record) {
			if id := rec.Tx.Ops[0].Args[0]; id != int64(seq) {
				t.Errorf("commit %d created container %d, want the same number", seq, id)
			}
			found++
		}))
		if found != 1 {
			t.Errorf("commit %d was found %d times, want once", seq, found)
		}
	}
	for _, seq := range []uint64{16, 17} {
		if err := l.w.Commit(seq, func(*ledger.Record) { t.Errorf("commit %d was found", seq) }); err == nil {
			t.Errorf("reading commit %d, which does not exist, returned no error", seq)
		}
	}
	l.append(1)
	l.must(l.w.Commit(16, func(*ledger.Record) {}))
}
