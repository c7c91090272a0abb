package commitlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/wal"
)

// A ReplayError says that the log, though every byte of it is as it was
// written, does not lead to the state that it led to when it was written. To
// serve on would be to serve wrong balances.
type ReplayError struct {
	Seq uint64 // last commit of the batch at fault, or the commit at fault
	Err error
}

// Error names the commit and what to do.
func (e *ReplayError) Error() string {
	return fmt.Sprintf("replaying commit %d of the log: %v; nothing was changed: check the log with `ledgerctl wal verify`, "+
		"and start the version of the daemon that wrote it", e.Seq, e.Err)
}

// Unwrap is the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// IsDamage reports whether err says that the log is damaged, or leads to
// another state than the one it was written with.
func IsDamage(err error) bool {
	_, damage := errors.AsType[*wal.CorruptError](err)
	_, divergence := errors.AsType[*ReplayError](err)
	return damage || divergence
}

// ProgressAfter is how long a replay is silent, and how often it then tells
// how far it is.
const ProgressAfter = 5 * time.Second

// PrefetchAhead is how many transactions, of a batch request or of the log,
// have what they need prefetched before the first of them is applied.
const PrefetchAhead = 32

// A Replayer applies the batches of a log to a state, and compares digests
// after each.
type Replayer struct {
	state  *ledger.State
	Ops    uint64 // operations applied so far
	first  uint64 // global_seq of the batch's first commit
	last   uint64 // of the last one to be applied
	at     int64  // time of the batch
	record func(seq uint64, record []byte) error

	// Records that are decoded, with what they need prefetched, and not applied
	// yet, the first of them as commit state.Seq()+1; reused.
	ahead   [PrefetchAhead]ledger.Record
	decoded int
}

func NewReplayer(state *ledger.State) *Replayer {
	r := &Replayer{state: state}
	r.record = r.replayRecord // made once: a method value allocates
	return r
}

// State is the state that batches are applied to.
func (r *Replayer) State() *ledger.State { return r.state }

// Replay brings a state to the end of the log; at is moved along. The error is
// a ReplayError, the log's own, or ctx's.
func Replay(ctx context.Context, state *ledger.State, l Writer, log *slog.Logger, at *atomic.Uint64) error {
	start := time.Now()
	r, told := NewReplayer(state), start
	err := l.Replay(func(f *wal.Frame) error {
		if now := time.Now(); now.Sub(told) >= ProgressAfter {
			told = now
			log.Info("replaying the log", "at_seq", state.Seq())
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		at.Store(f.Last())
		return r.ReplayFrame(f)
	})
	if err != nil {
		return err
	}
	log.Info("replayed the log", "end_seq", state.Seq(), "took", time.Since(start))
	return nil
}

// ReplayFrame applies one batch. After an error a part of it may have been applied.
func (r *Replayer) ReplayFrame(f *wal.Frame) error { return r.ReplayUpTo(f, f.Last()) }

// ReplayUpTo applies the commits of a batch up to last. There is no digest of the
// state within a batch: what is applied in part is compared with none.
func (r *Replayer) ReplayUpTo(f *wal.Frame, last uint64) error {
	if want := r.state.Seq() + 1; f.First != want {
		return &ReplayError{f.First, fmt.Errorf("the batch begins here, and commit %d must follow", want)}
	}
	r.first, r.last, r.at, r.decoded = f.First, last, f.Time, 0
	if err := f.Each(r.record); err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if err := r.applyAhead(); err != nil || last < f.Last() {
		return err
	}
	if mine := r.state.Digest(); mine != f.Digest {
		return &ReplayError{f.Last(), fmt.Errorf("the state's digest is %016x, the log says %016x", mine, f.Digest)}
	}
	return nil
}

func (r *Replayer) replayRecord(seq uint64, record []byte) error {
	if seq > r.last {
		return errEnough
	}
	rec := &r.ahead[r.decoded]
	if err := rec.Decode(record); errors.Is(err, ledger.ErrNewer) {
		return fmt.Errorf("commit %d of the log: %w", seq, err)
	} else if err != nil {
		return &ReplayError{seq, err}
	}
	r.state.Expect(&rec.Tx)
	if r.decoded++; r.decoded < PrefetchAhead {
		return nil
	}
	return r.applyAhead()
}

// applyAhead applies what is decoded.
func (r *Replayer) applyAhead() error {
	r.state.Prefetch()
	for i := range r.decoded {
		rec, seq := &r.ahead[i], r.state.Seq()+1
		if err := r.state.Replay(rec, r.at, uint32(seq-r.first+1)); err != nil {
			return &ReplayError{seq, err}
		}
		r.Ops += uint64(len(rec.Tx.Ops))
	}
	r.decoded = 0
	return nil
}
