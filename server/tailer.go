package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"assetledger/wal"
)

// A tailer follows the log and applies its batches to the projection, in one
// goroutine:
//
//	no log yet → open → catch up → (wait → apply)… → stopped
//
// It never skips and never guesses: a batch that can't be read, does not
// follow, or leads to another state than the write daemon's ends it, and with
// it all reading.
type tailer struct {
	source logSource
	proj   *projection
	log    *slog.Logger
	poll   time.Duration    // longest sleep: the end moved without a wake, or we are to stop
	now    func() time.Time // for ages and progress only; never reaches the state

	reader   atomic.Pointer[logReader] // nil while there is no log
	caughtUp chan struct{}             // closed once the end that was durable at the start is applied

	// What lag_ms needs, in Unix nanoseconds: see oldestUnapplied.
	pending atomic.Int64 // commit time of the batch being applied, 0 for none
	behind  atomic.Int64 // no commit that is not applied yet is older than this

	visible  func(took time.Duration, commits uint64) // is told when a batch became readable
	position func(seq uint64) error                   // is told how far we are
}

// Waiting for a log that is not there yet begins with the shortest of these
// and doubles up to the longest.
const (
	shortestLook = 5 * time.Millisecond
	longestLook  = 500 * time.Millisecond
)

// durable is the last durable commit, 0 while there is no log.
func (t *tailer) durable() uint64 {
	r := t.reader.Load()
	if r == nil {
		return 0
	}
	return (*r).Durable()
}

// run follows the log until ctx is done (nil) or something is wrong with it.
func (t *tailer) run(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			t.proj.stop(err)
		}
	}()
	r, err := t.open(ctx)
	if err != nil || r == nil {
		return err
	}
	t.reader.Store(&r)
	if err := t.catchUp(ctx, r); err != nil {
		return err
	}
	return t.follow(ctx, r)
}

// open waits for the log to be there. With none, the ledger is truthfully
// empty, and the daemon is ready.
func (t *tailer) open(ctx context.Context) (logReader, error) {
	look := shortestLook
	for {
		t.behind.Store(t.now().UnixNano())
		r, err := t.source.Open()
		if !errors.Is(err, wal.ErrNoLog) {
			return r, err
		}
		if look == shortestLook {
			t.log.Info("there is no log yet: an empty ledger is served until there is one")
			close(t.caughtUp)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(look):
		}
		look = min(2*look, longestLook)
	}
}

// catchUp applies what is durable now.
func (t *tailer) catchUp(ctx context.Context, r logReader) error {
	start, target := t.now(), r.Durable()
	logged := start
	for t.proj.fresh.applied.Load() < target && ctx.Err() == nil {
		if err := t.step(r); err != nil {
			return err
		}
		if now := t.now(); now.Sub(logged) >= progressAfter {
			logged = now
			t.log.Info("catching up", "checkpoint_seq", t.proj.fresh.applied.Load(), "commit_log_seq", r.Durable())
		}
	}
	select {
	case <-t.caughtUp:
	default:
		close(t.caughtUp)
	}
	t.log.Info("caught up with the log", "checkpoint_seq", t.proj.fresh.applied.Load(), "took", t.now().Sub(start))
	return nil
}

// follow applies batches as they become durable.
func (t *tailer) follow(ctx context.Context, r logReader) error {
	for ctx.Err() == nil {
		applied := t.proj.fresh.applied.Load()
		calm := t.now()
		end := r.Durable()
		if end < applied {
			return fmt.Errorf("the log now ends at commit %d, and %d was already served: %w", end, applied, wal.ErrReplaced)
		}
		if end == applied {
			t.behind.Store(calm.UnixNano())
			r.Wait(applied, t.poll)
			continue
		}
		woken := t.now()
		if err := t.step(r); err != nil {
			return err
		}
		t.visible(t.now().Sub(woken), t.proj.fresh.applied.Load()-applied)
	}
	return nil
}

// step applies the next batch; there must be one.
func (t *tailer) step(r logReader) error {
	f, err := r.Next()
	if err != nil {
		return fmt.Errorf("reading the log after commit %d (its durable end is %d): %w", t.proj.fresh.applied.Load(), r.Durable(), err)
	}
	t.pending.Store(f.Time)
	if err := t.proj.apply(f); err != nil {
		return err
	}
	t.behind.Store(f.Time)
	t.pending.Store(0)
	return t.position(f.Last())
}

// oldestUnapplied is the commit time of the oldest durable commit that is not
// applied yet, for when there is one. It costs nothing: while a batch is
// being applied its time is known exactly. Between batches it is
// not, and then the answer is the latest moment before which no such commit
// can have been made: the time of the batch applied last, or when the tailer
// last saw that it had all.
func (t *tailer) oldestUnapplied() time.Time {
	if pending := t.pending.Load(); pending != 0 {
		return time.Unix(0, pending)
	}
	return time.Unix(0, t.behind.Load())
}
