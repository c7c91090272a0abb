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
// The poller is given only deadlines that have expired, and a read deadline only
// while a read waits. For each request, net/http sets an expired read deadline to end
// its background read, usually before that read has begun.

// deadlines manages the deadlines of all connections of a listener.
type deadlines struct {
	start time.Time    // deadlines are stored in nanoseconds since then
	next  atomic.Int64 // when the timer fires: at most sweepEvery after the earliest stored deadline

	mu    sync.Mutex
	timer *time.Timer // nil until it is needed
	swept int64       // when it last fired
	sweep func()      // what it calls
}

const (
	expired = 0             // a deadline in the past, or one that a sweep found to have passed
	never   = math.MaxInt64 // no deadline
	// sweepEvery is the minimum time between two sweeps, and so the maximum time by
	// which a wait exceeds its deadline.
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

// now returns the stored form of the present, which is above 0.
func (d *deadlines) now() int64 { return max(1, int64(time.Since(d.start))) }

// soon makes the timer fire at the given time, if that is before d.next. It keeps
// sweepEvery between two sweeps.
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
	now := d.now()
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
	at    atomic.Int64
	waits atomic.Int32 // waits that are in progress, or are about to begin or end
	told  atomic.Bool  // the poller may have been told that the deadline has expired
	mu    sync.Mutex   // serializes calls to the poller
}

// begin must be called before a wait. It returns false if the deadline has expired,
// and then there must be no wait. Either begin sees that the deadline has expired,
// or the goroutine that makes it expire sees the wait and tells the poller.
func (d *deadline) begin() bool {
	d.waits.Add(1)
	if d.at.Load() != expired {
		return true
	}
	d.end()
	return false
}

// end must be called after a wait.
func (d *deadline) end() { d.waits.Add(-1) }

// expire returns the deadline if it is after now. Otherwise it makes the poller end
// the wait, and returns never.
func (d *deadline) expire(now int64, poller func(time.Time) error) int64 {
	at := d.at.Load()
	if at > now {
		return at
	}
	if at != expired && d.at.CompareAndSwap(at, expired) && d.waits.Load() > 0 {
		d.tell(poller)
	}
	return never
}

// tell gives the poller the current state: expired, or no deadline.
func (d *deadline) tell(poller func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told.Store(true) // first, so that a goroutine that later clears the expired deadline sees it
	if d.at.Load() == expired {
		return poller(LongAgo)
	}
	d.told.Store(false)
	return poller(time.Time{})
}

// set stores the deadline. It calls the poller only if the deadline is in the past
// and there is a wait, or if the poller was told of an expired one.
func (d *deadline) set(when time.Time, all *deadlines, poller func(time.Time) error) error {
	at := all.of(when)
	d.at.Store(at)
	if at != expired && at < all.next.Load() {
		all.soon(at)
	}
	if at == expired && d.waits.Load() > 0 || at != expired && d.told.Load() {
		return d.tell(poller)
	}
	return nil
}

// SetReadDeadline sets the time from which reads fail instead of waiting.
func (t *Tracked) SetReadDeadline(when time.Time) error {
	return t.read.set(when, &t.home.deadlines, t.writeCloser.SetReadDeadline)
}

// SetWriteDeadline sets the time from which writes fail instead of waiting.
func (t *Tracked) SetWriteDeadline(when time.Time) error {
	return t.write.set(when, &t.home.deadlines, t.writeCloser.SetWriteDeadline)
}

// SetDeadline sets both deadlines.
func (t *Tracked) SetDeadline(when time.Time) error {
	return errors.Join(t.SetReadDeadline(when), t.SetWriteDeadline(when))
}
