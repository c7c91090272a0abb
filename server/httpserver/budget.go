package httpserver

import (
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ledger"
)

var (
	Overloaded = ledger.Errorf(ledger.Overloaded, "Too many requests are waiting; nothing was done: send it again a little later.")
	tooSlow    = ledger.Errorf(ledger.Overloaded,
		"The body arrived too slowly while other requests waited for memory; nothing was done: send it again a little later, faster or in smaller parts.")
)

// A Budget bounds the bytes that all requests of a daemon hold at a time. What
// one request holds is its claim, from the first byte of its body to the last
// byte of its answer.
//
// Claims of up to smallClaim bytes have a part of the budget to themselves, so
// large ones can't shut them out, and tiny ones a part of that. When a claim doesn't fit, it waits for a
// moment, and meanwhile the budget ends the claim whose client is slowest: the
// one that would take longest to move what it holds at its present rate.
type Budget struct {
	max      int64 // of all claims
	reserved int64 // part of max that large claims never get

	small   atomic.Int64 // held by small claims
	large   atomic.Int64 // held by large claims; changes under mu
	waiters atomic.Int32 // claims that wait for room

	Waits atomic.Uint64 // claims that found no room at once
	Ended atomic.Uint64 // slow clients that were dropped for others

	mu     sync.Mutex
	larges int                 // number of large claims
	slow   map[*Claim]struct{} // claims that wait for their clients
	ending int64               // held by claims that were ended and have not given back yet
	room   chan struct{}       // closed when something was given back
}

const (
	// smallClaim is the largest claim that counts as small, in bytes: a body of
	// 1 MiB and what parsing makes of it.
	smallClaim = 4 << 20
	// TinyClaim is the largest claim that may use all that is kept for small
	// ones. Larger ones leave a quarter of it.
	TinyClaim = 64 << 10
	// claimPatience is how long a claim waits for room.
	claimPatience = 2 * time.Second
	// paceWindow is the time over which a client's rate is measured. A younger
	// claim is never ended.
	paceWindow = time.Second
	// slowClient is how long a client may need, at its present rate, to move as
	// much as its claim holds. The budget ends slower ones when others wait.
	slowClient = 10 * time.Second
)

// NewBudget makes a budget of max bytes, an eighth of it for small claims.
func NewBudget(max int64) *Budget {
	return &Budget{max: max, reserved: max / 8, slow: map[*Claim]struct{}{}, room: make(chan struct{})}
}

// Used returns the bytes that all claims hold.
func (b *Budget) Used() int64 { return b.small.Load() + b.large.Load() }

// Crowded reports whether more than a quarter of the budget is used. Buffers
// that nobody holds are not kept for later then.
func (b *Budget) Crowded() bool { return b != nil && b.Used() > b.max/4 }

// A Claim is what one request holds of a budget. Its methods, except those that
// the budget calls, are for one goroutine. The zero claim has no budget, and
// can hold anything.
type Claim struct {
	budget *Budget
	Held   int64

	waited bool // awaits was called, so what follows may have been changed

	// These are guarded by budget.mu.
	drop  func() // ends the client's connection; nil unless the claim waits for its client
	ended int64  // what it held when the budget called drop; 0: it did not
	since time.Time
	moved int64 // bytes moved since then
	rate  int64 // bytes a second in the window before, -1 if there was none
}

// Claim returns a new claim of the budget, which holds nothing.
func (b *Budget) Claim() Claim { return Claim{budget: b} }

// Grow adds n bytes to the claim. It waits for room, at most claimPatience, and
// returns false if there is none, or if the budget has ended the claim.
func (c *Claim) Grow(n int64) bool {
	b := c.budget
	if b == nil || n <= 0 {
		return true
	}
	if c.drop == nil && c.Held+n <= smallClaim { // else the budget may look at the claim just now
		if b.small.Add(n) <= c.part(n) {
			c.Held += n
			return true
		}
		b.small.Add(-n)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.ended == 0 && (c.tryGrow(n) || c.wait(n))
}

// GrowNow is grow without waiting.
func (c *Claim) GrowNow(n int64) bool {
	b := c.budget
	if b == nil || n <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.ended == 0 && c.tryGrow(n)
}

// part returns how much small claims may hold when one of them grows by n.
func (c *Claim) part(n int64) int64 {
	if c.Held+n <= TinyClaim {
		return c.budget.reserved
	}
	return c.budget.reserved / 4 * 3
}

// wait is grow when there is no room at once. It holds mu on entry and return.
// Meanwhile the claim doesn't wait for its client, so it can't be ended.
func (c *Claim) wait(n int64) bool {
	b := c.budget
	if c.drop != nil {
		delete(b.slow, c)
		defer func() {
			c.since, c.moved = time.Now(), 0
			b.slow[c] = struct{}{}
		}()
	}
	b.Waits.Add(1)
	b.waiters.Add(1)
	defer b.waiters.Add(-1)
	patience := time.NewTimer(claimPatience)
	defer patience.Stop()
	look := time.NewTicker(paceWindow / 10) // a client gets slow without an event
	defer look.Stop()
	b.endSlow(n)
	for {
		room, looking, late := b.room, false, false
		b.mu.Unlock()
		select {
		case <-room:
		case <-look.C:
			looking = true
		case <-patience.C:
			late = true
		}
		b.mu.Lock()
		if got := c.tryGrow(n); got || late {
			return got
		}
		if looking {
			b.endSlow(n)
		}
	}
}

// tryGrow adds n bytes if there is room. A claim too large for the whole budget
// has room if it is the only large one: whatever fits its own limits can be
// served. Call with mu.
func (c *Claim) tryGrow(n int64) bool {
	b := c.budget
	small, large := b.small.Load(), b.large.Load()
	if c.Held+n <= smallClaim {
		if small+n > c.part(n) && small+large+n > b.max-b.reserved+c.part(n) && small != c.Held {
			return false
		}
	} else {
		was := c.Held
		if was > smallClaim {
			was = 0 // counted as large already
		}
		alone := b.larges == 0 || b.larges == 1 && c.Held > smallClaim
		tooLarge := c.Held+n > b.max-b.reserved // even for an empty budget
		if !(alone && tooLarge) && large+was+n > b.max-max(b.reserved, small-was+b.reserved/4) {
			return false
		}
	}
	c.add(n)
	return true
}

// Force adds n bytes, or takes them off if n is negative, room or not.
func (c *Claim) Force(n int64) {
	b := c.budget
	if b == nil || n == 0 {
		return
	}
	if n < 0 && c.drop == nil && c.Held <= smallClaim {
		c.Held += n
		b.small.Add(n)
		if b.waiters.Load() == 0 {
			return
		}
		n = 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.add(n)
	if n <= 0 {
		close(b.room)
		b.room = make(chan struct{})
	}
}

// add changes what the claim holds, and the part of the budget that it counts
// towards. Call with mu.
func (c *Claim) add(n int64) {
	b, was, now := c.budget, c.Held, c.Held+n
	c.Held = now
	switch {
	case was <= smallClaim && now <= smallClaim:
		b.small.Add(n)
	case was <= smallClaim:
		b.small.Add(-was)
		b.large.Add(now)
		b.larges++
	case now <= smallClaim:
		b.large.Add(-was)
		b.small.Add(now)
		b.larges--
	default:
		b.large.Add(n)
	}
}

// Release gives everything back. The claim can be used again.
func (c *Claim) Release() {
	b := c.budget
	if b == nil {
		return
	}
	c.Ready()
	c.Force(-c.Held)
	if c.waited {
		b.mu.Lock()
		b.ending -= c.ended
		b.mu.Unlock()
	}
	*c = Claim{budget: b}
}

// Awaits says that the claim waits for its client from now on, to send or to
// read. If others wait for room and the client is slow, the budget calls drop,
// once, which must end the waiting.
func (c *Claim) Awaits(drop func()) {
	b := c.budget
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.drop, c.since, c.moved, c.rate = drop, time.Now(), 0, -1
	c.waited = true
	b.slow[c] = struct{}{}
}

// Progress notes that the client sent or read n bytes.
func (c *Claim) Progress(n int) {
	b := c.budget
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.moved += int64(n)
	c.pace(time.Now())
}

// Ready ends what awaits began. After it drop is not called any more.
func (c *Claim) Ready() {
	if c.budget == nil || c.drop == nil {
		return
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	delete(c.budget.slow, c)
	c.drop = nil
}

// WasEnded reports whether the budget has ended the claim.
func (c *Claim) WasEnded() bool {
	if c.budget == nil {
		return false
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	return c.ended != 0
}

// endSlow ends the claims whose clients are slowest until n bytes are on their
// way back, as long as there are clients who are too slow. Call with mu.
func (b *Budget) endSlow(n int64) {
	now := time.Now()
	for b.ending < n {
		var slowest *Claim
		longest := int64(slowClient / time.Second)
		for c := range b.slow {
			if seconds, known := c.pace(now); known && seconds > longest {
				slowest, longest = c, seconds
			}
		}
		if slowest == nil {
			return
		}
		b.Ended.Add(1)
		slowest.ended = slowest.Held
		b.ending += slowest.Held
		delete(b.slow, slowest)
		slowest.drop()
	}
}

// pace returns how many seconds the client would take to move what the claim
// holds. It is not known within the first window. Call with mu.
func (c *Claim) pace(now time.Time) (seconds int64, known bool) {
	if d := now.Sub(c.since); d >= paceWindow {
		c.rate, c.moved, c.since = int64(float64(c.moved)/d.Seconds()), 0, now
	}
	return c.Held / max(c.rate, 1), c.rate >= 0
}
