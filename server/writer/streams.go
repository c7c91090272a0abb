package writer

import (
	"runtime"
	"sync"
	"sync/atomic"

	"assetledger/ledger"
)

// streams is the set of open streams. An idle stream costs memory and can't be
// told from a slow one, so their number is bounded: all idle streams together
// take at most a quarter of the budget, and those of one client half of that. An
// open stream is never closed for a new one: the new one is rejected.
type streams struct {
	most int // most that may be open

	// working holds a place for each piece of work that may run now, for all cores
	// except one, if more streams are open than that. Otherwise the work of all
	// streams would queue before every other request, because Go runs goroutines in
	// turns. A few streams may do the work of both their sides at once.
	working chan struct{}
	count   atomic.Int32 // those in open

	mu       sync.Mutex
	open     map[*stream]string // the client of each
	byClient map[string]int
}

// newStreams returns the set of streams of a daemon with a budget of so many bytes.
func newStreams(budget int64) *streams {
	return &streams{
		most:    int(min(max(budget/4/streamClaim, 2), 1<<20)),
		working: make(chan struct{}, max(1, runtime.NumCPU()-1)),
		open:    map[*stream]string{}, byClient: map[string]int{},
	}
}

// work runs f, which uses a processor for a while and waits for nothing.
func (t *streams) work(f func()) {
	if int(t.count.Load()) <= cap(t.working) {
		f()
		return
	}
	t.working <- struct{}{}
	defer func() { <-t.working }()
	f()
}

// enter counts a stream. It returns false if there are too many.
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
