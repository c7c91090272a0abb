package reader

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ledger"
)

// freshness is the queue of those who wait until a commit is applied: reads
// with min_seq, and streams of commits. They stand in one heap by the commit
// they wait for, and whoever applies commits wakes them. A waiter has no
// goroutine of its own, and leaves the queue when its client goes.
//
// Waking and waiting can't miss each other: wait puts itself into the queue,
// moves lowest, and then looks at applied; the tailer moves applied and then
// looks at lowest (wake). Whichever comes second sees the other.
type freshness struct {
	applied atomic.Uint64 // last commit that reads show; stored by the tailer alone
	lowest  atomic.Uint64 // lowest commit waited for; MaxUint64 if none is

	mu    sync.Mutex
	queue waiters
	over  *ledger.Error // set once: why nobody may wait any more
}

// maxWaiters bounds the queue.
const maxWaiters = 16_384

type waiter struct {
	seq   uint64
	index int           // in the heap; -1 outside
	woken chan struct{} // closed when seq is applied, or all is over
}

// waiters is a heap by seq.
type waiters []*waiter

func (q waiters) Len() int           { return len(q) }
func (q waiters) Less(i, j int) bool { return q[i].seq < q[j].seq }
func (q waiters) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *waiters) Push(x any) {
	w := x.(*waiter)
	w.index = len(*q)
	*q = append(*q, w)
}
func (q *waiters) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	w.index = -1
	return w
}

func newFreshness() *freshness {
	f := &freshness{}
	f.lowest.Store(math.MaxUint64)
	return f
}

// wake wakes those who waited for seq, after applied was set to it.
func (f *freshness) wake(seq uint64) {
	if f.lowest.Load() > seq {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) > 0 && f.queue[0].seq <= seq {
		close(heap.Pop(&f.queue).(*waiter).woken)
	}
	f.noteLowest()
}

func (f *freshness) noteLowest() {
	low := uint64(math.MaxUint64)
	if len(f.queue) > 0 {
		low = f.queue[0].seq
	}
	f.lowest.Store(low)
}

// end wakes everyone and refuses all later waits with err.
func (f *freshness) end(err *ledger.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return
	}
	f.over = err
	for _, w := range f.queue {
		w.index = -1
		close(w.woken)
	}
	f.queue = nil
	f.noteLowest()
}

// wait returns true when seq is applied, and false when it was not after at
// most d, or the client of ctx has gone. The error is that of end, or
// Overloaded when too many wait already.
func (f *freshness) wait(ctx context.Context, seq uint64, d time.Duration) (bool, *ledger.Error) {
	if f.applied.Load() >= seq {
		return true, nil
	}
	if d <= 0 {
		return false, nil
	}
	w, err := f.enter(seq)
	if err != nil {
		return false, err
	}
	if f.applied.Load() >= seq {
		f.leave(w)
		return true, nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.woken:
	case <-timer.C:
		f.leave(w)
	case <-ctx.Done():
		f.leave(w)
	}
	if f.applied.Load() >= seq {
		return true, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return false, f.over
}

func (f *freshness) enter(seq uint64) (*waiter, *ledger.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over != nil {
		return nil, f.over
	}
	if len(f.queue) >= maxWaiters {
		return nil, ledger.Errorf(ledger.Overloaded, "Too many requests wait for commits to be applied: try again.")
	}
	w := &waiter{seq: seq, woken: make(chan struct{})}
	heap.Push(&f.queue, w)
	f.noteLowest()
	return w, nil
}

func (f *freshness) leave(w *waiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&f.queue, w.index)
		f.noteLowest()
	}
}

// ended reports whether nobody may wait any more.
func (f *freshness) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over != nil
}

// waiting is how many wait.
func (f *freshness) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}
