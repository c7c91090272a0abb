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

// A freshness holds the last applied commit, and a queue of requests that wait for
// a later one: reads with min_seq, and streams of commits. The queue is a heap
// ordered by the commit waited for. The tailer wakes waiters as it applies commits.
// A waiter needs no goroutine of its own, and leaves the queue when its client
// disconnects.
//
// No wakeup can be missed. wait enters the queue, updates lowest, and then loads
// applied. The tailer stores applied and then loads lowest (in wake). Whichever
// comes second sees what the other stored.
type freshness struct {
	applied atomic.Uint64 // last commit that reads show; only the tailer stores it
	lowest  atomic.Uint64 // lowest commit waited for; MaxUint64 if nobody waits

	mu    sync.Mutex
	queue waiters
	over  *ledger.Error // set once, by end: the error for all waits from then on
}

// maxWaiters is the maximum length of the queue.
const maxWaiters = 16_384

type waiter struct {
	seq   uint64
	index int           // position in the heap; -1 when not in it
	woken chan struct{} // closed when seq is applied, or by end
}

// waiters is a heap ordered by seq.
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

// wake wakes the requests that wait for seq or an earlier commit. The caller must
// store applied first.
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

// end wakes all waiters, and makes their waits and all later ones fail with err.
// Only the first call has an effect.
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

// wait waits for at most d until seq is applied, and reports whether it is. It
// returns early, with false, when ctx is done. The error is the one given to end,
// or Overloaded if the queue is full.
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
		return nil, ledger.Errorf(ledger.Overloaded, "Too many requests are waiting for commits to be applied: try again.")
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

// ended reports whether end was called, after which no request may wait.
func (f *freshness) ended() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over != nil
}

// waiting returns the number of waiters in the queue.
func (f *freshness) waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue)
}
