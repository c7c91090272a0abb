package server

import (
	"sync"

	"assetledger/ledger"
)

// An intake is the bounded queue between the handlers and the sequencer.
//
// Requests wait in groups. Requests that arrive while the sequencer is busy
// join one group, are judged in the order in which they came, and are woken
// together by one closed channel. A batch request is a group by itself: small
// ones need not wait until all of its transactions are judged.
type intake struct {
	mu      sync.Mutex
	groups  []*group // oldest first; the last one may be open
	waiting int      // requests in groups
	limit   int      // of waiting
	refusal *ledger.Error
	wake    chan struct{} // holds a token while there may be something to take
}

// A group is a run of requests that are answered together.
type group struct {
	requests []*request
	open     bool // more may join
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
		return nil, overloaded
	}
	q.waiting++
	g, fresh := q.tail(!r.bulk)
	g.requests = append(g.requests, r)
	if fresh { // the others of a group need not wake the sequencer again
		q.nudge()
	}
	return g, nil
}

// nudge sees to it that the sequencer looks at the queue.
func (q *intake) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// tail is the group that the next request joins, and whether it is a new one.
func (q *intake) tail(shared bool) (g *group, fresh bool) {
	if n := len(q.groups); shared && n > 0 && q.groups[n-1].open {
		return q.groups[n-1], false
	}
	g = &group{open: shared, done: make(chan struct{})}
	q.groups = append(q.groups, g)
	return g, true
}

// take removes the oldest group, nil if there is none. Its requests still
// count as waiting until the sequencer says that it has begun with them.
func (q *intake) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.groups) == 0 {
		return nil
	}
	g := q.groups[0]
	g.open = false
	q.groups[0] = nil
	q.groups = q.groups[1:]
	return g
}

// begun says that n requests no longer wait.
func (q *intake) begun(n int) {
	q.mu.Lock()
	q.waiting -= n
	q.mu.Unlock()
}

// depth is the number of requests that wait.
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
