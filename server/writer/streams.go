package writer

import (
	"runtime"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
)

// streams is the set of open streams. An idle stream takes memory and can't be
// distinguished from a slow one, so the number of streams is bounded: all idle
// streams together take at most a quarter of the budget, and those of one client
// half of that. The maximum is never less than two, however small the budget is. An open
// stream is never closed to make room for a new one. The new one is rejected.
type streams struct {
	most int // maximum number of open streams

	// working is a semaphore for the work of streams that keeps a core busy. It
	// leaves one core to other requests, if there are several cores. Without it, the work
	// of all streams would queue ahead of every other request, because Go runs goroutines
	// in turns. It is used only while more streams are open than it has places, so the
	// two sides of a stream may work at the same time if only a few streams are open.
	working chan struct{}
	count   atomic.Int32 // number of open streams

	// overdraft is a semaphore for exceeding the budget; see stream.overdraw.
	overdraft chan struct{}

	mu       sync.Mutex
	open     map[*stream]string // client of each stream
	byClient map[string]int
}

// newStreams returns the set of streams of a daemon with a budget of the given
// number of bytes.
func newStreams(budget int64) *streams {
	return &streams{
		most:      int(min(max(budget/4/streamClaim, 2), 1<<20)),
		working:   make(chan struct{}, max(1, runtime.NumCPU()-1)),
		overdraft: make(chan struct{}, 1),
		open:      map[*stream]string{}, byClient: map[string]int{},
	}
}

// work runs f, which uses a core for a while and doesn't wait for anything.
func (t *streams) work(f func()) {
	if int(t.count.Load()) <= cap(t.working) {
		f()
		return
	}
	t.working <- struct{}{}
	defer func() { <-t.working }()
	f()
}

// enter adds a stream to the set. It returns false if there are too many.
func (t *streams) enter(s *stream) bool {
	client := s.x.Client()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= t.most || t.byClient[client] >= t.most/2 {
		return false
	}
	t.open[s] = client
	t.byClient[client]++
	t.count.Add(1)
	return true
}

func (t *streams) leave(s *stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	client := t.open[s]
	delete(t.open, s)
	t.count.Add(-1)
	if t.byClient[client]--; t.byClient[client] == 0 {
		delete(t.byClient, client)
	}
}

// endAll ends all streams.
func (t *streams) endAll(last *ledger.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for s := range t.open {
		s.end(last)
	}
}
