package writer

import (
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// An intake is the bounded queue between the handlers and the sequencer.
//
// Requests wait in groups. Small requests that arrive while the sequencer is
// busy join one group, are judged in the order in which they came, and are
// woken together by one closed channel. A large request is a group by itself.
// The group of small requests and the others get turns alternately, and the
// others get theirs one after another:
//
//	small …→ open ──┐
//	                ├─ take → a turn of the sequencer → done
//	large → ring ───┘            │ not done
//	         └───────────────────┘
type intake struct {
	mu      sync.Mutex
	open    *group   // small requests that wait; nil: none
	ring    []*group // the others, and groups that had a turn and are not done
	last    bool     // the last turn was for open
	waiting int      // requests that have not had a turn
	limit   int      // of waiting
	refusal *ledger.Error
	wake    chan struct{} // holds a token while there may be something to take
}

// A group is a run of requests that are answered together.
type group struct {
	requests []*request
	judged   int  // requests that the sequencer is done with
	begun    bool // it had a turn
	// done is closed when every request of the group is judged, and what it
	// was judged against is durable. Before that err is set if this failed: it
	// then stands in place of every answer that the requests have.
	done chan struct{}
	err  *ledger.Error
}

func newIntake(limit int) *intake {
	return &intake{limit: limit, wake: make(chan struct{}, 1)}
}

// submit queues a request and returns its group. The caller must not touch
// the request until the group is done. An error means that nothing was queued.
func (q *intake) submit(r *request) (*group, *ledger.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refusal != nil {
		return nil, q.refusal
	}
	if q.waiting >= q.limit {
		return nil, httpserver.Overloaded
	}
	q.waiting++
	if q.open != nil && r.small() {
		q.open.requests = append(q.open.requests, r) // the sequencer was woken for the first one
		return q.open, nil
	}
	g := &group{requests: []*request{r}, done: make(chan struct{})}
	if r.small() {
		q.open = g
	} else {
		q.ring = append(q.ring, g)
	}
	q.nudge()
	return g, nil
}

// nudge sees to it that the sequencer looks at the queue.
func (q *intake) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes the group whose turn it is, nil if there is none. Nothing joins
// it any more.
func (q *intake) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	var g *group
	switch {
	case q.open != nil && (!q.last || len(q.ring) == 0):
		g, q.open, q.last = q.open, nil, true
	case len(q.ring) > 0:
		g, q.last = q.ring[0], false
		q.ring[0] = nil
		q.ring = q.ring[1:]
	default:
		return nil
	}
	if !g.begun {
		g.begun = true
		q.waiting -= len(g.requests)
	}
	return g
}

// putBack queues a group for its next turn.
func (q *intake) putBack(g *group) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ring = append(q.ring, g)
}

// empty reports whether no group waits for a turn.
func (q *intake) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open == nil && len(q.ring) == 0
}

// depth is the number of requests that wait for their first turn.
func (q *intake) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// refuse makes submit refuse everything from now on. The first reason stays.
func (q *intake) refuse(why *ledger.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refusal == nil {
		q.refusal = why
	}
	q.nudge()
}

// refusing is why submit refuses everything, nil if it does not.
func (q *intake) refusing() *ledger.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refusal
}
