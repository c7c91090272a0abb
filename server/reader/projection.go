package reader

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/reader/history"
	"assetledger/wal"
)

// A projection is the state of the ledger that reads see. Only the tailer applies
// commits to it. The tailer holds the lock while it applies a batch, and reads share
// the lock. So a read never sees a batch that is being applied, and state.Seq() is the
// last commit of the state that it sees.
type projection struct {
	fresh *freshness

	mu     sync.RWMutex
	state  *ledger.State
	broken *ledger.Error // once set, the error for all further reads; nil while all is well

	replay *commitlog.Replayer // used only by the tailer
	index  *history.Index      // nil until keepIndex is called
	ops    atomic.Uint64       // operations applied so far
}

// newProjection returns a projection of an empty ledger that remembers the given
// number of idempotency keys.
func newProjection(keys int) *projection {
	state := ledger.NewState(ledger.Config{IdempotencyKeys: keys})
	return &projection{fresh: newFreshness(), state: state, replay: commitlog.NewReplayer(state)}
}

// adopt replaces the state. Nothing may have been applied yet.
func (p *projection) adopt(state *ledger.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.replay = state, commitlog.NewReplayer(state)
	p.fresh.applied.Store(state.Seq())
}

// keepIndex starts to index all commits that are applied from now on, beginning
// after a place in the log.
func (p *projection) keepIndex(x *history.Index, id wal.LogID, after wal.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index = x
	x.Begin(id, after, p.state)
}

// apply applies the commits of one batch up to and including the one with the number
// last. After an error the projection is broken: part of the batch may have been
// applied, so all further reads fail.
func (p *projection) apply(f *wal.Frame, last uint64) error {
	last = min(last, f.Last())
	if err := p.hold(f, last); err != nil {
		p.fresh.end(unreadable(err))
		return err
	}
	p.fresh.wake(last)
	return nil
}

// hold applies the batch and stores the number of its last commit without releasing
// the lock in between. It turns a panic into an error.
func (p *projection) hold(f *wal.Frame, last uint64) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("applying commits %d to %d failed because of a defect in the ledger, please report it: %v\n%s", f.First, f.Last(), r, debug.Stack())
		}
		if err != nil {
			p.broken = unreadable(err)
		}
	}()
	if err := p.replay.ReplayUpTo(f, last); err != nil {
		return err
	}
	if p.index != nil {
		p.index.Applied(f, last)
	}
	p.ops.Store(p.replay.Ops)
	p.fresh.applied.Store(last)
	return nil
}

// approach makes it cheap to find the container that an instance is in, directly or
// within parent instances.
func (p *projection) approach(instance int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Approach(instance)
}

// stop makes all further reads fail with err, unless a batch has already
// broken the projection.
func (p *projection) stop(err error) {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = unreadable(err)
	}
	p.mu.Unlock()
	p.fresh.end(unreadable(err))
}

func unreadable(err error) *ledger.Error {
	what, _, _ := strings.Cut(err.Error(), "\n") // a stack trace is for the log lines only
	return ledger.Errorf(ledger.LogUnavailable, "This read daemon has stopped serving: %s.", what)
}

func (p *projection) isBroken() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.broken != nil
}
