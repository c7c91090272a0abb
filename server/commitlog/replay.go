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

// A ReplayError means that the bytes of a log are intact, but can't be replayed, or
// lead to a different state than they did when the log was written. A daemon that
// continued would serve wrong balances.
type ReplayError struct {
	Seq uint64 // last commit of the batch that failed, or the commit that failed
	Err error
}

// Error returns a message that names the commit and says what to do.
func (e *ReplayError) Error() string {
	return fmt.Sprintf("replaying commit %d of the log: %v; nothing was changed: check the log with `ledgerctl wal verify`, "+
		"and start the version of the daemon that wrote it", e.Seq, e.Err)
}

// Unwrap returns the cause.
func (e *ReplayError) Unwrap() error { return e.Err }

// IsDamage reports whether err means that the log is damaged, or that it can't be
// replayed to the state that it led to when it was written.
func IsDamage(err error) bool {
	_, damage := errors.AsType[*wal.CorruptError](err)
	_, divergence := errors.AsType[*ReplayError](err)
	return damage || divergence
}

// ProgressAfter is the interval at which a replay logs its progress.
const ProgressAfter = 5 * time.Second

// PrefetchAhead is the maximum number of transactions whose data is prefetched before the
// first of them is applied. They come from one group of requests, one batch request, or
// one batch of the log.
const PrefetchAhead = 32

// A Replayer applies the batches of a log to a state. After each batch it compares
// the digest of the state with the one in the log.
type Replayer struct {
	state  *ledger.State
	Ops    uint64 // operations applied so far
	first  uint64 // global_seq of the batch's first commit
	last   uint64 // global_seq of the last commit to apply
	at     int64  // time of the batch, in Unix nanoseconds
	record func(seq uint64, record []byte) error

	// Records that have been decoded, but not applied yet. Their data is prefetched
	// when they are applied together. The first of them is commit state.Seq()+1. The
	// memory is reused.
	ahead   [PrefetchAhead]ledger.Record
	decoded int
}

func NewReplayer(state *ledger.State) *Replayer {
	r := &Replayer{state: state}
	r.record = r.replayRecord // made once, because a method value allocates
	return r
}

// State returns the state that batches are applied to.
func (r *Replayer) State() *ledger.State { return r.state }

// Replay brings a state up to the end of the log by applying all batches that follow it.
// Before it applies a batch, it stores the batch's last commit in *at. The error is a
// *ReplayError, an error of the log, or that of ctx.
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

// ReplayFrame applies one batch. After an error, part of the batch may have been
// applied.
func (r *Replayer) ReplayFrame(f *wal.Frame) error { return r.ReplayUpTo(f, f.Last()) }

// ReplayUpTo applies the commits of batch f whose global_seq is at most last. It
// compares the digest only after a whole batch, since the log has no digests of
// states within a batch.
func (r *Replayer) ReplayUpTo(f *wal.Frame, last uint64) error {
	if want := r.state.Seq() + 1; f.First != want {
		return &ReplayError{f.First, fmt.Errorf("a batch begins with this commit, but commit %d must be next", want)}
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
	if err := rec.Decode(record); err != nil {
		if errors.Is(err, ledger.ErrNewer) {
			return fmt.Errorf("commit %d of the log: %w", seq, err)
		}
		return &ReplayError{seq, err}
	}
	if r.decoded++; r.decoded < PrefetchAhead {
		return nil
	}
	return r.applyAhead()
}

// applyAhead applies the decoded records.
func (r *Replayer) applyAhead() error {
	first := uint32(r.state.Seq() + 2 - r.first)
	n, err := r.state.ReplayAll(r.ahead[:r.decoded], r.at, first)
	for i := range n {
		r.Ops += uint64(len(r.ahead[i].Tx.Ops))
	}
	r.decoded = 0
	if err != nil {
		return &ReplayError{r.state.Seq() + 1, err}
	}
	return nil
}
