package wal

import (
	"sync"
	"sync/atomic"
	"time"
)

// A shell runs the goroutines around a Writer's synchronous core:
//
//   - spares creates the spare segment, slowly unless a caller waits for it, and
//     retries once a second while space or file descriptors are short;
//   - copies syncs the frames that PutCopy writes;
//   - ends syncs END once a second, so that, after a power failure, damage to
//     durable frames can be distinguished from an unfinished last frame;
//   - wakes wakes sleeping readers. It is separate from Append because waking
//     another process costs about 20 µs. Readers map END read-only, so they can't
//     register there, and only a system call can tell whether any reader is
//     sleeping.
type shell struct {
	w     *Writer
	quit  chan struct{}
	done  sync.WaitGroup
	spare chan struct{} // a spare is requested
	hurry atomic.Bool   // a caller waits for the spare
	wake  chan struct{}
	put   chan struct{} // PutCopy has written a frame
}

// sparePause is the pause after each MiB of a spare. It spreads the writing over
// time.
const sparePause = 4 * time.Millisecond

func startShell(w *Writer) *shell {
	s := &shell{w: w, quit: make(chan struct{}), spare: make(chan struct{}, 1), wake: make(chan struct{}, 1), put: make(chan struct{}, 1)}
	s.done.Go(s.spares)
	s.done.Go(s.copies)
	s.done.Go(s.ends)
	s.done.Go(s.wakes)
	return s
}

// stop ends the goroutines. It waits for at most one step of each.
func (s *shell) stop() {
	close(s.quit)
	s.done.Wait()
}

// notify puts a token into a channel of capacity one, unless the channel already has
// one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *shell) askSpare()    { notify(s.spare) }
func (s *shell) askSync()     { notify(s.put) }
func (s *shell) wakeReaders() { notify(s.wake) }

func (s *shell) hurrySpare() {
	s.hurry.Store(true)
	notify(s.spare)
}

// sleep sleeps for d. It returns false if the shell must stop.
func (s *shell) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.quit:
		return false
	}
}

func (s *shell) spares() {
	for {
		select {
		case <-s.quit:
			return
		case <-s.spare:
		}
		for {
			err := s.w.makeSpare(s.pace)
			if err == nil {
				break
			}
			if s.w.Err() != nil || !s.sleep(s.w.o.spareRetry) {
				return
			}
		}
		s.hurry.Store(false)
	}
}

// pace pauses between two steps of filling a spare, unless a caller waits for the
// spare. It returns false if the shell must stop.
func (s *shell) pace() bool {
	if s.hurry.Load() {
		select {
		case <-s.quit:
			return false
		default:
			return true
		}
	}
	return s.sleep(sparePause)
}

func (s *shell) copies() {
	for {
		select {
		case <-s.quit:
			return
		case <-s.put:
			s.w.SyncCopy() // the writer keeps the error
		}
	}
}

func (s *shell) ends() {
	tick := time.NewTicker(s.w.o.endSync)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			if s.w.SyncEnd() != nil {
				return
			}
		}
	}
}

func (s *shell) wakes() {
	for {
		select {
		case <-s.quit:
			s.w.end.Wake(endWakeAt) // wakes readers for the last change of END
			return
		case <-s.wake:
			s.w.end.Wake(endWakeAt)
		}
	}
}
