package httpserver

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Deadlines of connections. net/http sets six for each request, and almost none
// ever expires. Setting one in the runtime's poller takes two reads of the clock
// and a timer. So a tracked connection only stores its deadlines, and one timer
// for all connections finds those that have expired:
//
//	SetReadDeadline → stored ─ timer → expired → the poller ends the wait
//
// The poller is given only deadlines that have expired.

// deadlines manages the deadlines of all connections of a listener.
type deadlines struct {
	start time.Time    // deadlines are stored in nanoseconds since then
	next  atomic.Int64 // when the timer fires; no stored deadline is more than sweepEvery before it

	mu    sync.Mutex
	timer *time.Timer // nil until it is needed
	swept int64       // when it last fired
	sweep func()      // what it calls
}

const (
	expired = 0             // a deadline that the poller has been given
	never   = math.MaxInt64 // no deadline
	// sweepEvery is the least time between two sweeps, and so the longest that a
	// wait exceeds its deadline.
	sweepEvery = int64(50 * time.Millisecond)
)

// init prepares d. sweep is called when the timer fires; it must call expire.
func (d *deadlines) init(sweep func()) {
	d.start, d.swept, d.sweep = time.Now(), -sweepEvery, sweep
	d.next.Store(never)
}

// of returns the stored form of a deadline.
func (d *deadlines) of(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return max(expired, int64(t.Sub(d.start)))
}

// soon makes the timer fire at the given time, if that is before next.
func (d *deadlines) soon(at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at = max(at, d.swept+sweepEvery); at >= d.next.Load() {
		return
	}
	d.next.Store(at)
	wait := time.Duration(at) - time.Since(d.start)
	if d.timer == nil {
		d.timer = time.AfterFunc(wait, d.sweep)
		return
	}
	d.timer.Reset(wait)
}

// expire ends the waits whose deadlines have expired, and sets the timer for the
// next deadline.
func (d *deadlines) expire(each func(func(*Tracked))) {
	now := int64(time.Since(d.start))
	d.mu.Lock()
	d.swept = now
	d.next.Store(never) // deadlines that are stored from here on set the timer
	d.mu.Unlock()
	soonest := int64(never)
	each(func(t *Tracked) {
		soonest = min(soonest, t.read.expire(now, t.writeCloser.SetReadDeadline), t.write.expire(now, t.writeCloser.SetWriteDeadline))
	})
	if soonest < never {
		d.soon(soonest)
	}
}

// sweep ends the waits of connections whose deadlines have expired.
func (s *connections) sweep() {
	s.deadlines.expire(func(each func(*Tracked)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for t := range s.open {
			each(t)
		}
	})
}

// A deadline is the read or write deadline of one connection.
type deadline struct {
	at atomic.Int64
	mu sync.Mutex // serializes calls of the poller
}

// expire returns the deadline if it is after now. Otherwise it makes the poller end
// the wait, and returns never.
func (d *deadline) expire(now int64, poller func(time.Time) error) int64 {
	at := d.at.Load()
	if at > now {
		return at
	}
	if at != expired && d.at.CompareAndSwap(at, expired) {
		d.tell(poller)
	}
	return never
}

// tell gives the poller the present state: expired, or no deadline. Call it after
// each change between the two.
func (d *deadline) tell(poller func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.at.Load() == expired {
		return poller(LongAgo)
	}
	return poller(time.Time{})
}

// set stores the deadline. It calls the poller only if the deadline is in the past
// or the one before it has expired.
func (d *deadline) set(when time.Time, all *deadlines, poller func(time.Time) error) error {
	at := all.of(when)
	was := d.at.Swap(at)
	if at != expired && at < all.next.Load() {
		all.soon(at)
	}
	if was == expired || at == expired {
		return d.tell(poller)
	}
	return nil
}

// SetReadDeadline sets the time at which a read that still waits fails.
func (t *Tracked) SetReadDeadline(when time.Time) error {
	return t.read.set(when, &t.home.deadlines, t.writeCloser.SetReadDeadline)
}

// SetWriteDeadline sets the time at which a write that still waits fails.
func (t *Tracked) SetWriteDeadline(when time.Time) error {
	return t.write.set(when, &t.home.deadlines, t.writeCloser.SetWriteDeadline)
}

// SetDeadline sets both deadlines.
func (t *Tracked) SetDeadline(when time.Time) error {
	return errors.Join(t.SetReadDeadline(when), t.SetWriteDeadline(when))
}
