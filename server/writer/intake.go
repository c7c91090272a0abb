package writer

import (
	"sync"

	"assetledger/ledger"
	"assetledger/server/httpserver"
)

// An intake is the bounded queue between the handlers and the sequencer.
//
// Requests wait in groups. Small requests that arrive while the sequencer is busy
// join one group. They are judged in the order of their arrival, and closing one
// channel wakes them all. A large request is a group by itself, in a lane. The
// blocks of a stream share a lane, and any other large request has its own. Turns
// alternate between the group of small requests and the lanes, and the lanes take
// their turns round-robin:
//
//	small …→ open ───────────┐
//	                         ├─ take → a turn of the sequencer → done
//	large → lane … → ring ───┘            │ more in the lane
//	                  └───────────────────┘
type intake struct {
	mu      sync.Mutex
	open    *group  // waiting small requests; nil if none
	ring    []*lane // lanes with groups, except the lane whose turn it is
	last    bool    // the last turn was that of the group in open
	waiting int     // requests that have not had a turn yet, not counting blocks of streams
	queued  int     // requests queued so far, not counting blocks of streams; tests wait for it
	blocks  int     // blocks of streams that have not had a turn yet
	limit   int     // maximum value of waiting
	refusal *ledger.Error
	wake    chan struct{} // has a token while there may be a group to take
}

// A lane is a queue of groups that are judged one after another.
type lane struct {
	stream bool
	groups []*group // groups that are not done, oldest first
	failed bool     // a request with on_error stop has failed; used by the sequencer
}

// A group is a list of requests that are answered together.
type group struct {
	requests []*request
	lane     *lane // nil for small requests
	judged   int   // number of requests that are judged
	begun    bool  // the group has had a turn
	// done is closed when every request of the group is judged and the state that
	// it was judged against is durable. If the log fails or stalls first, done is
	// closed with err set, which replaces every response of the group.
	done chan struct{}
	err  *ledger.Error
}

func newIntake(limit int) *intake {
	return &intake{limit: limit, wake: make(chan struct{}, 1)}
}

// submit queues a request and returns its group. The caller must not touch the
// request until the group is done. If submit returns an error, nothing was queued.
// It never rejects a block of a stream because of the limit, since each stream limits
// the number of its own blocks.
func (q *intake) submit(r *request) (*group, *ledger.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refusal != nil {
		return nil, q.refusal
	}
	if r.lane != nil {
		q.blocks++
		return q.queue(r), nil
	}
	if q.waiting >= q.limit {
		return nil, httpserver.Overloaded
	}
	q.waiting++
	q.queued++
	if !r.small() {
		r.lane = new(lane)
		return q.queue(r), nil
	}
	if q.open != nil {
		q.open.requests = append(q.open.requests, r) // the sequencer was woken for the first one
	} else {
		q.open = &group{requests: []*request{r}, done: make(chan struct{})}
		q.nudge()
	}
	return q.open, nil
}

// queue appends a group of one request to its lane. The caller holds mu.
func (q *intake) queue(r *request) *group {
	l := r.lane
	g := &group{requests: []*request{r}, lane: l, done: make(chan struct{})}
	if l.groups = append(l.groups, g); len(l.groups) == 1 {
		q.ring = append(q.ring, l)
		q.nudge()
	}
	return g
}

// nudge makes the sequencer look at the queue.
func (q *intake) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take removes and returns the group whose turn it is, or nil if there is none.
// Nothing joins the group after that. The caller must call release after the turn.
func (q *intake) take() *group {
	q.mu.Lock()
	defer q.mu.Unlock()
	var g *group
	switch {
	case q.open != nil && (!q.last || len(q.ring) == 0):
		g, q.open, q.last = q.open, nil, true
	case len(q.ring) > 0:
		g, q.last = q.ring[0].groups[0], false
		q.ring[0] = nil
		q.ring = q.ring[1:]
	default:
		return nil
	}
	switch {
	case g.begun:
	case g.lane != nil && g.lane.stream:
		q.blocks--
	default:
		q.waiting -= len(g.requests)
	}
	g.begun = true
	return g
}

// release ends the turn of a group. It queues the lane again if the lane has a
// group that is not done. A group of small requests that is not done gets a lane of
// its own.
func (q *intake) release(g *group, done bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := g.lane
	switch {
	case l == nil && done:
		return
	case l == nil:
		l = &lane{groups: []*group{g}}
		g.lane = l
	case done:
		l.groups[0] = nil
		l.groups = l.groups[1:]
	}
	if len(l.groups) > 0 {
		q.ring = append(q.ring, l)
	}
}

// empty reports whether no group waits for a turn.
func (q *intake) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open == nil && len(q.ring) == 0
}

// hasSmall reports whether small requests wait for their turn.
func (q *intake) hasSmall() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open != nil
}

// depth returns the number of requests that wait for their first turn.
func (q *intake) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting + q.blocks
}

// refuse makes submit reject everything from now on, with the reason of the first
// call.
func (q *intake) refuse(why *ledger.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.refusal == nil {
		q.refusal = why
	}
	q.nudge()
}

// refusing returns the error with which submit rejects everything, or nil if it
// does not.
func (q *intake) refusing() *ledger.Error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.refusal
}
