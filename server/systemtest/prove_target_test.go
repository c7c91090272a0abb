package systemtest

import "sync"

// A target is where a daemon is that is killed and started again and again.
type target struct {
	mu   sync.Mutex
	url  string
	life int           // counts the daemon's lives
	up   chan struct{} // closed while it is up
}

func newTarget() *target { return &target{up: make(chan struct{})} }

// set says that the daemon serves at a URL.
func (x *target) set(url string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.url = url
	x.life++
	close(x.up)
}

// clear says that the daemon is about to be killed, if it is not down already.
func (x *target) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.url != "" {
		x.url, x.up = "", make(chan struct{})
	}
}

// await waits until the daemon is up; false if stop is closed first.
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

// lives reports whether the daemon is up, and in that life.
func (x *target) lives(life int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.url != "" && x.life == life
}
