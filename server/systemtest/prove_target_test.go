package systemtest

import (
	"sync"
	"time"
)

// A target is the address of a daemon that is killed and started repeatedly.
type target struct {
	mu   sync.Mutex
	url  string
	life int           // counts the starts of the daemon
	up   chan struct{} // closed while it is up
}

func newTarget() *target { return &target{up: make(chan struct{})} }

// set reports that the daemon serves at a URL.
func (x *target) set(url string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.url = url
	x.life++
	close(x.up)
}

// clear reports that the daemon is down or about to go down. If that has already been
// reported, clear does nothing.
func (x *target) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.url != "" {
		x.url, x.up = "", make(chan struct{})
	}
}

// now returns the daemon's URL, or "" while it is down.
func (x *target) now() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.url
}

// await waits until the daemon is up. ok is false if stop is closed first.
func (x *target) await(stop <-chan struct{}) (url string, life int, ok bool) {
	for {
		x.mu.Lock()
		url, life, up := x.url, x.life, x.up
		x.mu.Unlock()
		select {
		case <-stop:
			return "", 0, false
		default:
		}
		if url != "" {
			return url, life, true
		}
		select {
		case <-up:
		case <-stop:
			return "", 0, false
		}
	}
}

// lives reports whether the daemon is up and has not been restarted since await
// returned life.
func (x *target) lives(life int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.url != "" && x.life == life
}

// A pauses measures the longest time between two successive acknowledgements.
type pauses struct {
	mu      sync.Mutex
	last    time.Time
	longest time.Duration
}

// begin starts a new measurement.
func (p *pauses) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.longest = time.Now(), 0
}

// end records an acknowledgement.
func (p *pauses) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.last, p.longest = now, max(p.longest, now.Sub(p.last))
}

// worst returns the longest pause since begin.
func (p *pauses) worst() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.longest.Round(time.Millisecond)
}
