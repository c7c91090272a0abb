package reader

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
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
// It never skips a batch. While there are too few file descriptors to read the next one,
// it keeps trying. If a batch can't be read for another reason, does not follow the
// previous one, or leads to a state that differs from the write daemon's, the tailer
// ends, and all further reads fail.
type tailer struct {
	source commitlog.Source
	name   string // under which this daemon is registered with the log
	proj   *projection
	log    *slog.Logger
	keys   int    // number of idempotency keys that checkpoints hold
	saver  *saver // nil until the log is open, and with an Until
	every  uint64 // commits between two checkpoints
	index  *history.Index
	meter  *saverMeter
	until  Until            // where to stop
	dir    string           // of the log
	mirror *mirror.Mirror   // copies the log from another machine; nil if this daemon is not a mirror
	poll   time.Duration    // maximum sleep, in case a wakeup for a new batch was missed or the daemon is stopping
	now    func() time.Time // for ages and progress only; never reaches the state

	reader   atomic.Pointer[commitlog.Reader] // nil while there is no log
	looks    chan chan struct{}               // asks t.open to look for the log at once; t.open closes the received channel afterwards
	opened   chan struct{}                    // closed when the log is open; from then on nobody receives from looks
	missing  atomic.Bool                      // the directory of the log doesn't exist either, so -dir may be wrong
	reached  atomic.Bool                      // all commits up to until.time are applied
	ended    chan struct{}                    // closed when run has returned
	known    commitlog.Registration           // used only by run
	caughtUp chan struct{}                    // closed when catchUp has applied its commits, or when there is no log yet and no source to wait for

	// For lag_ms, in Unix nanoseconds; see oldestUnapplied.
	pending atomic.Int64 // commit time of the batch being applied; 0 if none is
	behind  atomic.Int64 // no unapplied commit is older than this

	// visible receives the time in nanoseconds from when a batch became durable
	// until reads see it. If the next batch became durable before the tailer
	// looked, the time counts from that next batch.
	visible func(took int64, commits uint64)
}

// Pauses between two looks for a log that does not exist yet. They begin with the
// shortest and double up to the longest.
const (
	shortestLook = 5 * time.Millisecond
	longestLook  = 500 * time.Millisecond
)

// durable returns the last durable commit, or 0 while there is no log. For a
// mirror, this is the last durable commit that the source reported, even if it is
// not copied yet. The result is never beyond the commit after which the tailer
// stops.
func (t *tailer) durable() (end uint64) {
	if t.mirror != nil {
		end = t.mirror.Status().Seq
	}
	if r := t.reader.Load(); r != nil {
		end = max(end, (*r).Durable())
	}
	return min(end, t.lastSeq())
}

// awaited reports whether a mirror has yet to catch up with its source: with the
// last commit that was durable there when the source was first heard from. *target
// keeps that commit. awaited returns false if all sources have been tried without
// success since the last report, and if this daemon is not a mirror.
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

// mayCome reports whether a commit beyond the end of this log may still arrive,
// because the directory is a copy of a log elsewhere and the commit may be durable
// there.
func (t *tailer) mayCome(seq uint64) bool {
	if seq > t.lastSeq() {
		return false
	}
	if t.mirror != nil {
		return true
	}
	of, err := wal.CopyOf(t.dir, wal.Options{})
	return err == nil && of != ""
}

// durableNow returns the same as durable, but first looks for a log that has been
// missing. The log may have been created since the last look, and a commit to it
// acknowledged.
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

// run follows the log until ctx is done, and then returns nil. If it can't continue,
// it returns an error, and all further reads fail.
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

// restore starts from the newest valid checkpoint, if there is one.
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

// keepIndex runs the history index in a goroutine until stop is called.
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

// open waits until the log exists, and opens it. While there is no log, the daemon is
// ready to serve reads, of an empty ledger; a mirror first waits for its source (see
// awaited). open returns nil and no error when ctx is done.
func (t *tailer) open(ctx context.Context) (commitlog.Reader, commitlog.Registration, error) {
	look := shortestLook
	var asked chan struct{}
	told, ready := false, false
	var target uint64 // for a mirror: see awaited
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

// noLogYet returns the log line for a daemon that finds no log.
func noLogYet(copied bool) string {
	if copied {
		return "there is no log in the directory yet: it is copied from the daemons of -from"
	}
	return "there is no log yet: an empty ledger is served until there is one"
}

// tryOpen registers this daemon's name, unless the daemon has an Until, and opens the
// log.
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

// catchUp applies all commits that are durable when it begins. On a mirror, it then
// continues until the method awaited returns false.
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
		t.index.Await(ctx)
		if now := t.now(); now.Sub(logged) >= commitlog.ProgressAfter {
			logged = now
			t.log.Info("catching up", "checkpoint_seq", t.proj.fresh.applied.Load(), "commit_log_seq", r.Durable())
		}
	}
	t.index.CaughtUp()
	if t.now().Sub(start) > time.Second {
		debug.FreeOSMemory() // memory of changes that are now in files
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
	var end uint64  // durable end of the log, as last seen
	var moved int64 // when it became durable, in Unix nanoseconds
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
			return fmt.Errorf("the log now ends at commit %d, but %d was already served: %w", end, applied, wal.ErrReplaced)
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

// step applies the next batch. It returns wal.ErrEnd if there is none. If file
// descriptors are short, or if the tailer stops before the batch, step returns nil
// without applying it.
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

// oldestUnapplied returns the commit time of the oldest durable commit that is not
// applied yet. It is meaningful only if there is such a commit. While a batch is
// being applied, the time is exact. Otherwise it is a lower bound that needs no
// look at the log: the time of the last applied batch, or the time when the tailer
// last found that everything was applied.
func (t *tailer) oldestUnapplied() time.Time {
	if pending := t.pending.Load(); pending != 0 {
		return time.Unix(0, pending)
	}
	return time.Unix(0, t.behind.Load())
}
