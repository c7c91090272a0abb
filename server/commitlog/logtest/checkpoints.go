package logtest

import (
	"errors"
	"io"
	"slices"
	"testing"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// checkpointDuty tests that only one daemon at a time has the duty of making
// checkpoints.
func checkpointDuty(t *testing.T, l *log) {
	l.start()
	store := l.Checkpoints()
	for range 2 {
		claim, err := store.Claim()
		l.must(err)
		if _, err := l.Checkpoints().Claim(); !errors.Is(err, wal.ErrLocked) {
			t.Fatalf("a second claim: got %v, want ErrLocked", err)
		}
		l.must(claim.Close())
	}
}

// checkpoints tests that checkpoints are read as they were written, and are written
// completely or not at all.
func checkpoints(t *testing.T, l *log) {
	l.start()
	store := l.Checkpoints()
	claim, err := store.Claim()
	l.must(err)
	defer claim.Close()
	for _, seq := range []uint64{30, 4} {
		l.must(store.Write(seq, func(w io.Writer) error {
			_, err := io.WriteString(w, store.Name(seq))
			return err
		}))
	}
	mine := errors.New("mine")
	err = store.Write(31, func(w io.Writer) error {
		io.WriteString(w, "half of it")
		return mine
	})
	if !errors.Is(err, mine) {
		t.Errorf("a write that fails: got %v, want %v", err, mine)
	}
	if seqs, err := l.Checkpoints().List(); err != nil || !slices.Equal(seqs, []uint64{4, 30}) {
		t.Fatalf("List: got %v, %v; want [4 30]", seqs, err)
	}
	for _, seq := range []uint64{4, 30} {
		r, err := store.Open(seq)
		l.must(err)
		b, err := io.ReadAll(r)
		if l.must(errors.Join(err, r.Close())); string(b) != store.Name(seq) {
			t.Errorf("checkpoint %d is %q, want %q", seq, b, store.Name(seq))
		}
	}
	if _, err := store.Open(31); err == nil {
		t.Error("a checkpoint whose write failed can be opened")
	}
}

// restore tests that a writer and a reader start from the newest checkpoint and
// replay what follows it.
func restore(t *testing.T, l *log) {
	l.start()
	l.append(2)
	l.checkpoint()
	l.append(3)
	l.checkpoint()
	l.append(1)
	l.append(1)
	want := l.state.Digest()
	l.must(l.w.Close())
	if n := l.start(); n != 2 || l.state.Digest() != want {
		t.Errorf("%d frames were replayed to the digest %x, want 2 and %x", n, l.state.Digest(), want)
	}
	r := l.reader()
	state, place, err := commitlog.Restore(l.Checkpoints(), r, keys, silent)
	if l.must(err); state.Seq() != 5 || place != l.all[1].Place() {
		t.Errorf("a reader begins at %+v, want %+v", place, l.all[1].Place())
	}
	l.wantNext(r, 2)
}

// restorePastDamage tests that a checkpoint that can't be used is skipped.
func restorePastDamage(t *testing.T, l *log) {
	l.start()
	l.append(2)
	l.checkpoint()
	l.append(1)
	l.must(l.Checkpoints().Write(3, func(w io.Writer) error {
		_, err := io.WriteString(w, "no checkpoint")
		return err
	}))
	l.must(l.w.Close())
	if n := l.start(); n != 1 {
		t.Errorf("%d frames were replayed, want 1", n)
	}
}
