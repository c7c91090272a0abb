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

// A projection is the ledger as reads see it. The tailer alone changes it, one
// batch of the log in one hold of the lock; reads share the lock. So a read
// sees the edge of a batch, always, and state.Seq() says which.
type projection struct {
	fresh *freshness

	mu     sync.RWMutex
	state  *ledger.State
	broken *ledger.Error // why nothing may be read any more; nil while all is well

	replay *commitlog.Replayer // the tailer's
	index  *history.Index      // nil: none is kept
	ops    atomic.Uint64       // operations applied so far
}

// newProjection makes one that remembers as many idempotency keys.
func newProjection(keys int) *projection {
	state := ledger.NewState(ledger.Config{IdempotencyKeys: keys})
	return &projection{fresh: newFreshness(), state: state, replay: commitlog.NewReplayer(state)}
}

// adopt goes on from another state, when nothing has been applied yet.
func (p *projection) adopt(state *ledger.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.replay = state, commitlog.NewReplayer(state)
	p.fresh.applied.Store(state.Seq())
}

// keepIndex has all that is applied from now on, after the place, indexed.
func (p *projection) keepIndex(x *history.Index, id wal.LogID, after wal.Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index = x
	x.Begin(id, after)
	p.state.Observe(func(c *ledger.Change) { x.Change(p.state.Seq(), c) })
}

// apply applies one batch, or what of it is not after commit last. After an error
// the projection is broken: a part of the batch may have been applied, and no
// read is answered from it any more.
func (p *projection) apply(f *wal.Frame, last uint64) error {
	last = min(last, f.Last())
	if err := p.hold(f, last); err != nil {
		p.fresh.end(unreadable(err))
		return err
	}
	p.fresh.wake(last)
	return nil
}

// hold is one hold of the lock: all of a batch, and the sequence that goes with it.
func (p *projection) hold(f *wal.Frame, last uint64) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("applying commits %d to %d met a defect in the ledger, please report it: %v\n%s", f.First, f.Last(), r, debug.Stack())
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

// approach makes it quick to find out in whose container an instance is in the end.
func (p *projection) approach(instance int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Approach(instance)
}

// stop ends all reading because of err, which is not the fault of a batch.
func (p *projection) stop(err error) {
	p.mu.Lock()
	if p.broken == nil {
		p.broken = unreadable(err)
	}
	p.mu.Unlock()
	p.fresh.end(unreadable(err))
}

func unreadable(err error) *ledger.Error {
	what, _, _ := strings.Cut(err.Error(), "\n") // stacks are for our log
	return ledger.Errorf(ledger.LogUnavailable, "This read daemon has stopped serving: %s.", what)
}

func (p *projection) isBroken() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.broken != nil
}
