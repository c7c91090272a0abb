package wal

import (
	"sync"
	"time"
)

// waitSlice is the maximum duration of a single sleep on END, and so the maximum
// delay if a wakeup is lost.
const waitSlice = 100 * time.Millisecond

// A watcher sleeps on END for all callers of Wait. It needs one goroutine, and so
// one operating system thread, for any number of waiters. The goroutine runs from the
// first Wait to Close, and is parked while there are no waiters.
type watcher struct {
	mu      sync.Mutex
	moved   chan struct{} // closed and replaced when END changes
	waiting int
	started bool
	stopped bool

	begin chan struct{} // has a token when there are waiters
	quit  chan struct{}
	done  sync.WaitGroup
}

func (w *watcher) init() {
	w.moved, w.begin, w.quit = make(chan struct{}), make(chan struct{}, 1), make(chan struct{})
}

// Wait returns when Durable() > after, when the timeout has passed, or when Close was
// called. Any goroutine may call it.
func (r *Reader) Wait(after uint64, timeout time.Duration) {
	if timeout <= 0 || r.Durable() > after || !r.wait.join(r) {
		return
	}
	defer r.wait.leave()
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		// Get the channel first: if END changes after the check, the channel is
		// closed.
		moved := r.wait.channel()
		if r.Durable() > after {
			return
		}
		select {
		case <-moved:
		case <-t.C:
			return
		case <-r.wait.quit:
			return
		}
	}
}

// join counts a waiter. It returns false after Close.
func (w *watcher) join(r *Reader) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return false
	}
	if !w.started {
		w.started = true
		page := r.end // Close unmaps the page only after the goroutine has ended
		// Read the end here, before the first waiter checks it. If the goroutine
		// read it only when it first ran, it would miss a change in between.
		seen, _ := load(page.Bytes(), endDurableAt)
		w.done.Go(func() { w.run(page, seen) })
	}
	if w.waiting++; w.waiting == 1 {
		notify(w.begin)
	}
	return true
}

func (w *watcher) leave() {
	w.mu.Lock()
	w.waiting--
	w.mu.Unlock()
}

func (w *watcher) channel() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.moved
}

// run watches END. It loads the wake counter before the durable end. A later change
// of the end also changes the counter, and the sleep returns at once.
func (w *watcher) run(page Page, seen uint64) {
	b := page.Bytes()
	for {
		w.mu.Lock()
		stopped, idle := w.stopped, w.waiting == 0
		w.mu.Unlock()
		if stopped {
			return
		}
		if idle {
			select {
			case <-w.begin:
			case <-w.quit:
			}
			continue
		}
		var counter uint32
		there := touch(func() { counter = word32(b, endWakeAt).Load() })
		now, still := load(b, endDurableAt)
		if !there || !still {
			return // END was truncated; the waiters return after their timeouts, and Next reports it
		}
		if now != seen {
			seen = now
			w.mu.Lock()
			close(w.moved)
			w.moved = make(chan struct{})
			w.mu.Unlock()
			continue
		}
		page.Wait(endWakeAt, counter, waitSlice)
	}
}

// stop ends the goroutine and the waits of all callers within waitSlice.
func (w *watcher) stop(page Page) {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	close(w.quit)
	page.Wake(endWakeAt)
	w.done.Wait()
}
