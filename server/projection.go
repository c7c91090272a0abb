package server

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
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

	rec      ledger.Record // the tailer's; reused for every record
	first    uint64        // global_seq of the batch being applied; the tailer's
	replayed func(seq uint64, record []byte) error
	ops      atomic.Uint64 // operations applied so far
}

// A DigestError says that replaying the log gave another state than the write
// daemon had: a defect, or memory that forgot. Nothing that follows from such
// a state may be shown.
type DigestError struct {
	Log, Mine uint64 // digests: in the frame, and of the state here
}

// Error names both digests.
func (e *DigestError) Error() string {
	return fmt.Sprintf("after it the state here has the digest %016x, and the log says %016x: this daemon and the write daemon disagree", e.Mine, e.Log)
}

// A BatchError says that a batch of the log, though every byte of it is as it
// was written, does not lead where it led when it was written.
type BatchError struct {
	Seq uint64 // the commit at fault
	Err error
}

// Error names the commit and what to do.
func (e *BatchError) Error() string {
	return fmt.Sprintf("commit %d of the log: %v; check the log with `ledgerctl wal verify`", e.Seq, e.Err)
}

// Unwrap is the cause.
func (e *BatchError) Unwrap() error { return e.Err }

func newProjection() *projection {
	p := &projection{fresh: newFreshness(), state: ledger.NewState(ledger.Config{})}
	p.replayed = p.replay // made once: a method value allocates
	return p
}

// apply applies one batch. After an error the projection is broken: a part of
// the batch may have been applied, and no read is answered from it any more.
func (p *projection) apply(f *wal.Frame) error {
	if err := p.hold(f); err != nil {
		p.fresh.end(unreadable(err))
		return err
	}
	p.fresh.wake(f.Last())
	return nil
}

// hold is one hold of the lock: all of a batch, and the sequence that goes with it.
func (p *projection) hold(f *wal.Frame) (err error) {
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
	if err := p.replayBatch(f); err != nil {
		return err
	}
	p.fresh.applied.Store(f.Last())
	return nil
}

func (p *projection) replayBatch(f *wal.Frame) error {
	if want := p.state.Seq() + 1; f.First != want {
		return &BatchError{f.First, fmt.Errorf("a batch begins with it where commit %d must follow", want)}
	}
	p.first = f.First
	if err := f.Each(p.replayed); err != nil {
		return err
	}
	if mine := p.state.Digest(); mine != f.Digest {
		return &BatchError{f.Last(), &DigestError{Log: f.Digest, Mine: mine}}
	}
	return nil
}

func (p *projection) replay(seq uint64, record []byte) error {
	if err := p.rec.Decode(record); err != nil {
		return &BatchError{seq, err}
	}
	if err := p.state.Replay(&p.rec, uint32(seq-p.first+1)); err != nil {
		return &BatchError{seq, err}
	}
	p.ops.Add(uint64(len(p.rec.Tx.Ops)))
	return nil
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
	return ledger.Errorf(ledger.LogUnavailable, "This read daemon has stopped serving: %v.", err)
}

func (p *projection) isBroken() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.broken != nil
}
