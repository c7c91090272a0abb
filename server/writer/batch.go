package writer

import (
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// A batch is a run of commits that one sync makes durable. There are two: one
// fills while the other is being synced.
//
//	filling (sequencer) → in flight (syncer) → settled → filling …
type batch struct {
	frame wal.Frame
	ops   [ledger.NumOpKinds]uint64 // number of its operations, by kind

	mu      sync.Mutex
	groups  []*group // groups that wait until the batch is settled
	settled bool
	err     *ledger.Error // why the outcome is unknown; nil if the batch is durable
}

// add appends the record of commit seq. It returns the commit's position in the
// batch, counted from 1. The parameter at is the time of the batch in Unix
// nanoseconds (see stamp), and digest is the state's digest after the commit.
func (b *batch) add(seq uint64, at int64, record []byte, ops []ledger.Op, digest uint64) uint32 {
	f := &b.frame
	if f.Count == 0 {
		f.First, f.Time = seq, at
	}
	f.Count++
	f.Body = wal.AppendRecord(f.Body, record)
	f.Digest = digest
	for i := range ops {
		b.ops[ops[i].Kind]++
	}
	return f.Count
}

func (b *batch) empty() bool { return b.frame.Count == 0 }

// attach adds g to the groups that are done when the batch is settled. If the batch
// is already settled, g is done at once.
func (b *batch) attach(g *group) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.settled {
		b.groups = append(b.groups, g)
		return
	}
	g.finish(b.err)
}

// settle wakes all groups that wait for the batch. If err is nil, the batch is
// durable. Otherwise err says why its outcome is unknown.
func (b *batch) settle(err *ledger.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled, b.err = true, err
	for i, g := range b.groups {
		g.finish(err)
		b.groups[i] = nil
	}
	b.groups = b.groups[:0]
}

// reopen accepts waiters again after a stall. Earlier waiters were told that the
// outcome is unknown.
func (b *batch) reopen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled, b.err = false, nil
}

// finish wakes the requests of the group, with err as their common response if it
// is not nil.
func (g *group) finish(err *ledger.Error) {
	g.err = err
	close(g.done)
}

// reset empties the batch, so that it can be filled again.
func (b *batch) reset() {
	httpserver.Poison(b.frame.Body)
	b.frame = wal.Frame{Body: b.frame.Body[:0]}
	if cap(b.frame.Body) > 2*batchBytes {
		b.frame.Body = nil
	}
	clear(b.ops[:])
	b.settled, b.err = false, nil
}
