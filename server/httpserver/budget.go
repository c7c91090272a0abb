package httpserver

import (
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ledger"
)

var (
	Overloaded = ledger.Errorf(ledger.Overloaded, "Too many requests are waiting; nothing was changed: retry a little later.")
	tooSlow    = ledger.Errorf(ledger.Overloaded,
		"The body arrived too slowly while other requests waited for memory; nothing was changed: retry a little later, faster or in smaller parts.")
)

// A Budget bounds the total bytes that all requests of a daemon hold. The bytes
// that one request holds, from the first byte of its body to the last byte of its
// response, are its claim.
//
// Part of the budget is reserved for claims of up to smallClaim bytes, so that
// large claims can't keep small ones out. A quarter of the reserve is kept for claims
// of up to TinyClaim bytes, and half of that quarter for claims of up to leastClaim
// bytes. A claim that doesn't fit waits for a moment. Meanwhile, the budget ends claims
// of clients that are too slow, the slowest first. The slowest client is the one that
// would take longest to move, at its present rate, the bytes that its claim holds.
type Budget struct {
	max      int64         // maximum bytes of all claims
	reserved int64         // part of max that large claims can't use
	Patience time.Duration // maximum time that a claim waits for room

	small   atomic.Int64 // bytes held by small claims
	large   atomic.Int64 // bytes held by large claims; changed only under mu
	waiters atomic.Int32 // number of claims that wait for room

	Waits atomic.Uint64 // number of claims that had to wait for room
	Ended atomic.Uint64 // number of slow clients that were dropped for others

	mu     sync.Mutex
	shares shares
	larges int                 // number of large claims
	slow   map[*Claim]struct{} // claims that wait for their clients, to read or to send
	ending int64               // bytes held by claims that were ended and have not released them yet
	room   chan struct{}       // closed when bytes are released
}

const (
	// smallClaim is the maximum size of a small claim, in bytes. It has room for
	// a body of 1 MiB and its parsed form.
	smallClaim = 4 << 20
	// TinyClaim is the maximum size of a tiny claim, in bytes. Larger small claims
	// leave a quarter of what is reserved for small claims free.
	TinyClaim = 64 << 10
	// leastClaim is the maximum size, in bytes, of a claim that may use everything
	// reserved for small claims. Larger tiny claims leave an eighth of that free, so
	// a request of one ordinary transaction doesn't wait until slow bodies of up to
	// 64 KiB are known to be slow.
	leastClaim = 4 << 10
	// claimPatience is the Patience of a new budget.
	claimPatience = 2 * time.Second
	// paceWindow is the time over which a client's rate is measured. The budget
	// never ends a claim that has waited for its client for less than that.
	paceWindow = time.Second
	// slowClient is the maximum time that a client may need, at its present rate,
	// to move the bytes that its claim holds. The budget ends slower claims while
	// others wait.
	slowClient = 10 * time.Second
)

// NewBudget returns a budget of max bytes. An eighth of it is reserved for small
// claims.
func NewBudget(max int64) *Budget {
	return &Budget{max: max, reserved: max / 8, Patience: claimPatience, slow: map[*Claim]struct{}{}, room: make(chan struct{}),
		shares: shares{held: map[string]int64{}, waiting: map[string]int{}}}
}

// Used returns the bytes that all claims hold.
func (b *Budget) Used() int64 { return b.small.Load() + b.large.Load() }

// Crowded reports whether more than a quarter of the budget is used. While it is,
// unused large buffers are dropped instead of being kept for reuse.
func (b *Budget) Crowded() bool { return b != nil && b.Used() > b.max/4 }

// A Claim is the part of a budget that one request holds. Only one goroutine at a
// time may use it, although the budget may end it while it waits for its client. A
// zero Claim has no budget and no limit.
type Claim struct {
	budget *Budget
	of     claimant // what the claim is for; nil if it has no client
	Held   int64

	waited bool // Awaits was called, so the fields below may have changed

	// Guarded by budget.mu.
	client string    // name of the client; see whose
	drop   func()    // ends the client's connection; nil unless the claim waits for its client
	ended  int64     // bytes held when the budget called drop; 0 if it has not
	since  time.Time // start of the current window
	moved  int64     // bytes moved in the current window
	rate   int64     // bytes per second in the previous window; -1 if there was none
	paused time.Time // when Ready was called
}

// Claim returns a new, empty claim.
func (b *Budget) Claim() Claim { return Claim{budget: b} }

// Grow adds n bytes to the claim. It waits at most the budget's Patience for room. It
// returns false if there is no room, or if the budget has ended the claim.
func (c *Claim) Grow(n int64) bool {
	b := c.budget
	if b == nil || n <= 0 {
		return true
	}
	if c.drop == nil && c.Held+n <= smallClaim { // otherwise the budget may be looking at the claim
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

// GrowNow does the same as Grow without waiting.
func (c *Claim) GrowNow(n int64) bool {
	b := c.budget
	if b == nil || n <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.ended == 0 && c.tryGrow(n)
}

// part returns how many bytes of the reserve small claims may hold when this claim
// grows by n.
func (c *Claim) part(n int64) int64 {
	switch reserved := c.budget.reserved; {
	case c.Held+n <= leastClaim:
		return reserved
	case c.Held+n <= TinyClaim:
		return reserved / 8 * 7
	default:
		return reserved / 4 * 3
	}
}

// wait completes Grow if there is no room yet. The caller holds mu, which
// wait releases while it waits. Meanwhile, the budget can't end the claim, since the
// claim isn't waiting for its client.
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
	b.shares.waits(c, 1)
	defer b.shares.waits(c, -1)
	patience := time.NewTimer(b.Patience)
	defer patience.Stop()
	look := time.NewTicker(paceWindow / 10) // no event reports that a client has become slow
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

// tryGrow adds n bytes if there is room. A claim that is too large for the whole
// budget has room if it is the only large one, so that every request within its own
// limits can be served. The caller holds mu.
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
			was = 0 // already counted as large
		} else if b.shares.exceeds(c, was+n, (b.max-b.reserved)/2) {
			return false
		}
		alone := b.larges == 0 || b.larges == 1 && c.Held > smallClaim
		tooLarge := c.Held+n > b.max-b.reserved // too large even for an empty budget
		if !(alone && tooLarge) && large+was+n > b.max-max(b.reserved, small-was+b.reserved/4) {
			return false
		}
	}
	c.add(n)
	return true
}

// Force adds n bytes even if there is no room. If n is negative, it releases bytes.
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

// add changes the size of the claim, and of the part of the budget that it counts
// towards. The caller holds mu.
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
		b.shares.holds(c, now)
	case now <= smallClaim:
		b.large.Add(-was)
		b.small.Add(now)
		b.larges--
		b.shares.holds(c, -was)
	default:
		b.large.Add(n)
		b.shares.holds(c, n)
	}
}

// Release releases all bytes. The claim can be used again.
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
	*c = Claim{budget: b, of: c.of, client: c.client}
}

// Awaits declares that the claim now waits for its client to send or to read. If
// other claims wait for room and the client is slow, the budget may call drop once,
// which must end the wait.
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

// AwaitsAgain continues the wait that Ready has ended. The client's rate is measured
// over both parts of the wait, but not over the time between them.
func (c *Claim) AwaitsAgain(drop func()) {
	b := c.budget
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	c.drop, c.since = drop, c.since.Add(time.Since(c.paused))
	b.slow[c] = struct{}{}
}

// Progress records that the client sent or read n bytes.
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

// Ready ends the wait that Awaits declared. Afterwards drop is no longer called.
func (c *Claim) Ready() {
	if c.budget == nil || c.drop == nil {
		return
	}
	c.budget.mu.Lock()
	defer c.budget.mu.Unlock()
	delete(c.budget.slow, c)
	c.drop, c.paused = nil, time.Now()
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

// endSlow ends the claims with the slowest clients, until the ended claims will
// release n bytes or no client is too slow. The caller holds mu.
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

// pace returns the number of seconds that the client would take to move the bytes
// that the claim holds. known is false within the first window. The caller holds
// mu.
func (c *Claim) pace(now time.Time) (seconds int64, known bool) {
	if d := now.Sub(c.since); d >= paceWindow {
		c.rate, c.moved, c.since = int64(float64(c.moved)/d.Seconds()), 0, now
	}
	return c.Held / max(c.rate, 1), c.rate >= 0
}
