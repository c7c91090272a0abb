package reader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/mirror"
	"assetledger/server/reader/history"
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
	source commitlog.Source
	name   string // under which the log knows us
	proj   *projection
	log    *slog.Logger
	keys   int    // idempotency keys that checkpoints are to hold
	saver  *saver // nil until the log is open
	every  uint64 // commits between two checkpoints
	index  *history.Index
	meter  *saverMeter
	until  Until            // where to stop
	mirror *mirror.Mirror   // fills the log from another machine; nil: it is written on this one
	poll   time.Duration    // longest sleep: the end moved without a wake, or we are to stop
	now    func() time.Time // for ages and progress only; never reaches the state

	reader   atomic.Pointer[commitlog.Reader] // nil while there is no log
	looks    chan chan struct{}               // asks open to look at once; it closes what it got when it has
	opened   chan struct{}                    // closed when the log is open: nobody receives from looks any more
	missing  atomic.Bool                      // the place of the log is not there either, so it may be the wrong one
	reached  atomic.Bool                      // there is nothing before until.time to come any more
	ended    chan struct{}                    // closed when run has returned
	known    commitlog.Registration           // run's
	caughtUp chan struct{}                    // closed once the end that was durable at the start is applied

	// What lag_ms needs, in Unix nanoseconds: see oldestUnapplied.
	pending atomic.Int64 // commit time of the batch being applied, 0 for none
	behind  atomic.Int64 // no commit that is not applied yet is older than this

	// visible is told how long after it became durable a batch was readable,
	// in nanoseconds. A batch whose end was already overtaken by the next when
	// we looked counts from that next one.
	visible func(took int64, commits uint64)
}

// Waiting for a log that is not there yet begins with the shortest of these
// and doubles up to the longest.
const (
	shortestLook = 5 * time.Millisecond
	longestLook  = 500 * time.Millisecond
)

// durable is the last durable commit, 0 while there is no log, and at most the
// one after which the tailer stops. Of a log that is copied from another machine
// it is the last that was heard of.
func (t *tailer) durable() (end uint64) {
	if t.mirror != nil {
		end = t.mirror.Status().Seq
	}
	if r := t.reader.Load(); r != nil {
		end = max(end, (*r).Durable())
	}
	return min(end, t.lastSeq())
}

// awaited reports whether a log that is copied from another machine has not
// reached yet what was durable there when it was first heard of; false when
// nothing is heard.
func (t *tailer) awaited(target *uint64) bool {
	if t.mirror == nil {
		return false
	}
	s := t.mirror.Status()
	if *target == 0 && s.Heard {
		*target = s.Seq
	}
	return s.Hopeful && (!s.Heard || t.proj.fresh.applied.Load() < min(*target, t.lastSeq()))
}

// durableNow is durable, but does not answer 0 from a look that was some time
// ago: the log may have been made since, and a commit to it been answered.
func (t *tailer) durableNow(ctx context.Context) uint64 {
	if t.reader.Load() == nil {
		looked := make(chan struct{})
		select {
		case t.looks <- looked:
			<-looked
		case <-t.opened:
		case <-t.ended:
		case <-ctx.Done():
		}
	}
	return t.durable()
}

// run follows the log until ctx is done (nil) or something is wrong with it.
func (t *tailer) run(ctx context.Context) (err error) {
	defer close(t.ended)
	defer func() {
		if err != nil {
			t.proj.stop(err)
		}
	}()
	r, known, err := t.open(ctx)
	if err != nil || r == nil {
		return err
	}
	t.known = known
	defer known.Close()
	id, place, err := t.restore(r)
	if err != nil {
		return err
	}
	defer t.keepIndex(ctx, id, place)()
	defer func() {
		if t.saver != nil {
			t.saver.stop(t.proj.state, err == nil && context.Cause(ctx) != errNeverServed)
		}
	}()
	if err := t.catchUp(ctx, r); err != nil {
		return err
	}
	return t.follow(ctx, r)
}

// restore begins from the newest good checkpoint, if there is one.
func (t *tailer) restore(r commitlog.Reader) (id wal.LogID, place wal.Place, err error) {
	if t.until.set() {
		return t.restoreUntil(r)
	}
	store := t.source.Checkpoints()
	state, place, err := commitlog.Restore(store, r, t.keys, t.log)
	if err != nil {
		return id, place, fmt.Errorf("starting from a checkpoint: %w", err)
	}
	t.proj.adopt(state)
	t.known.Applied(place.Seq)
	t.saver = &saver{store: store, every: t.every, logID: r.LogID(), log: t.log, meter: t.meter, index: t.index}
	t.saver.start(place)
	return r.LogID(), place, nil
}

// keepIndex keeps the history index until what it returns is called.
func (t *tailer) keepIndex(ctx context.Context, id wal.LogID, place wal.Place) (stop func()) {
	t.proj.keepIndex(t.index, id, place)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.index.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
		t.index.Close()
	}
}

// open waits for the log to be there. With none, the ledger is truthfully
// empty, and the daemon is ready.
func (t *tailer) open(ctx context.Context) (commitlog.Reader, commitlog.Registration, error) {
	look := shortestLook
	var asked chan struct{}
	told, ready := false, false
	var target uint64 // of a log that is copied
	for {
		t.behind.Store(t.now().UnixNano())
		r, known, err := t.tryOpen()
		if err == nil {
			t.reader.Store(&r)
			t.missing.Store(false)
			close(t.opened)
		}
		if asked != nil {
			close(asked)
			asked = nil
		}
		short := wal.FilesShort(err)
		if !short && !errors.Is(err, wal.ErrNoLog) {
			return r, known, err
		}
		if short {
			t.log.Warn("the log can't be opened now; trying again", "error", err)
		} else if missing := errors.Is(err, commitlog.ErrNoDirYet); !told || missing != t.missing.Load() {
			if t.missing.Store(missing); missing {
				t.log.Warn("waiting for a directory that does not exist: is -dir right?", "error", err)
			} else {
				t.log.Info(noLogYet(t.mirror != nil))
			}
			told = true
		}
		if !ready && told && !t.awaited(&target) {
			ready = true
			close(t.caughtUp)
		}
		pause := time.After(look)
		look = min(2*look, longestLook)
		select {
		case <-ctx.Done():
			return nil, nil, nil
		case asked = <-t.looks:
		case <-pause:
		}
	}
}

// noLogYet says what a daemon does that finds no log.
func noLogYet(copied bool) string {
	if copied {
		return "there is no log in the directory yet: it is copied from the daemons of -from"
	}
	return "there is no log yet: an empty ledger is served until there is one"
}

// tryOpen takes our name and opens the log.
func (t *tailer) tryOpen() (commitlog.Reader, commitlog.Registration, error) {
	known, err := commitlog.Registration(unregistered{}), error(nil)
	if !t.until.set() {
		known, err = t.source.Register(t.name)
	}
	if err != nil {
		return nil, nil, err
	}
	r, err := t.source.Open()
	if err != nil {
		known.Close()
		return nil, nil, err
	}
	return r, known, nil
}

// catchUp applies what is durable now.
func (t *tailer) catchUp(ctx context.Context, r commitlog.Reader) error {
	start, target := t.now(), r.Durable()
	logged, heard := start, uint64(0)
	for (t.proj.fresh.applied.Load() < min(target, t.lastSeq()) || t.awaited(&heard)) && ctx.Err() == nil {
		err := t.step(r)
		if errors.Is(err, wal.ErrEnd) && t.mirror != nil {
			r.Wait(t.proj.fresh.applied.Load(), t.poll)
		} else if err != nil {
			return t.explain(r, err)
		}
		if now := t.now(); now.Sub(logged) >= commitlog.ProgressAfter {
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
func (t *tailer) follow(ctx context.Context, r commitlog.Reader) error {
	var end uint64  // as last seen
	var moved int64 // when it became durable
	for ctx.Err() == nil {
		applied, calm := t.proj.fresh.applied.Load(), t.now().UnixNano()
		if applied >= t.lastSeq() {
			t.rest(ctx)
			return nil
		}
		if now := r.Durable(); now != end {
			end, moved = now, r.Moved()
		}
		if end < applied {
			return fmt.Errorf("the log now ends at commit %d, and %d was already served: %w", end, applied, wal.ErrReplaced)
		}
		err := t.step(r)
		if errors.Is(err, wal.ErrEnd) && end == applied {
			if t.durable() == end {
				t.behind.Store(calm)
			}
			r.Wait(applied, t.poll)
			continue
		}
		if err != nil {
			return t.explain(r, err)
		}
		if now := t.proj.fresh.applied.Load(); moved != 0 && now != applied {
			t.visible(max(t.now().UnixNano()-moved, 0), now-applied)
		}
	}
	return nil
}

// step applies the next batch; wal.ErrEnd when there is none.
func (t *tailer) step(r commitlog.Reader) error {
	f, err := r.Next()
	if wal.FilesShort(err) {
		t.log.Warn("the next segment can't be opened now; trying again", "error", err)
		time.Sleep(t.poll)
		return nil
	}
	if err != nil {
		return err
	}
	if t.stopsBefore(f) {
		return nil
	}
	t.pending.Store(f.Time)
	if err := t.proj.apply(f, t.lastSeq()); err != nil {
		return err
	}
	t.behind.Store(f.Time)
	t.pending.Store(0)
	t.known.Applied(f.Last())
	if t.saver != nil {
		t.saver.applied(t.proj.state, f)
	}
	return nil
}

func (t *tailer) explain(r commitlog.Reader, err error) error {
	return fmt.Errorf("after commit %d of the log, whose durable end is %d: %w", t.proj.fresh.applied.Load(), r.Durable(), err)
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
