package etcdlog

import (
	"context"
	"time"
)

// etcd looks for expired leases only twice a second. A daemon that stands by asks how
// much time the writer's lease has left, and revokes the lease as soon as it has
// expired. A mistake does no harm: the fence does not depend on leases.

// hastenEvery is the time between two queries while the writer is late in renewing its lease.
const hastenEvery = 50 * time.Millisecond

// hasten revokes the writer's lease each time it has expired, until ctx is done.
func (m *Member) hasten(ctx context.Context) {
	var e expiry
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		pause := lookEvery
		if who := m.who.Load(); who != nil {
			asked := time.Now()
			left, err := m.API.TimeToLive(ctx, who.lease)
			if err == nil && left <= 1 {
				pause = hastenEvery
			}
			switch {
			case err != nil:
				e = expiry{} // the lease may have been renewed since the last reply
			case e.over(who.lease, left, asked, time.Now()):
				m.API.Revoke(ctx, who.lease)
			}
		}
		timer.Reset(pause)
	}
}

// An expiry finds out when a lease has expired, although etcd reports whole seconds.
type expiry struct {
	lease int64
	low   time.Time // time since which the lease is known to have less than a second left; zero if it has more
}

// over reports whether a lease has expired. The argument left is the number of seconds
// until it expires, rounded down. etcd determined it between the request, at the time
// asked, and the response, at the time heard. Two zeroes a second apart prove that the
// lease has expired, because a lease that was renewed in between would have more left.
func (e *expiry) over(lease, left int64, asked, heard time.Time) bool {
	if lease != e.lease || left > 0 {
		*e = expiry{lease: lease}
	}
	if left > 0 {
		return false
	}
	if e.low.IsZero() {
		e.low = heard
	}
	return asked.Sub(e.low) >= time.Second
}
