package writer

import (
	"runtime"
	"time"
)

// Before a batch goes to an idle syncer, small requests that arrive at the same time
// can join it. A sync takes as much processor time as several requests, so a batch
// should include all of them.
//
// If the log is slow, the sequencer also waits for the next requests of the clients
// that were just answered. Otherwise clients that wait for each response form two
// halves that take turns: one half waits while the batch of the other is in flight.

const (
	// gatherCommits is the number of commits at which a batch stops gathering more:
	// the cost of a sync per commit is then low. gatherTime is the maximum time for
	// which other goroutines may run before a batch is handed over.
	gatherCommits = 256
	gatherTime    = time.Millisecond
	// slowLog is the time that a batch must take for the log to count as slow. The
	// sequencer then waits for half of the time that the batch took, but at most
	// patienceMost. Timers are too coarse for shorter waits.
	slowLog      = time.Millisecond
	patienceMost = 4 * time.Millisecond
	// vainBatches is the number of batches in a row that may wait in vain, and
	// restBatches the number of batches after them that don't wait.
	vainBatches = 8
	restBatches = 64
)

// A gathering describes the requests that may join the filling batch.
type gathering struct {
	began    int64         // start of gather for the filling batch, in Unix nanoseconds; 0 if it has not begun
	expected uint32        // number of commits of the filling batch once all answered clients have sent their next requests
	patience time.Duration // maximum time to wait for those requests; 0 if the batch does not wait
	vain     int           // number of batches in a row that waited in vain
	rest     int           // number of further batches that don't wait
	timer    *time.Timer
}

// offer hands the filling batch over, unless gather reports that more
// requests can join it.
func (s *sequencer) offer() {
	if s.small && s.gather() {
		return
	}
	s.gathering.began = 0
	s.handOver()
}

// gather reports whether small requests are waiting that can join the batch before
// it is handed over. It first lets other goroutines run, which may submit some. If
// there are still none, it may call linger.
func (s *sequencer) gather() bool {
	if s.inFlight != nil || s.filling.empty() || s.filling.frame.Count >= gatherCommits {
		return false
	}
	g, now := &s.gathering, s.now()
	if g.began == 0 {
		g.began = now
	}
	d := time.Duration(now - g.began)
	if d < 0 {
		return false
	}
	if d < gatherTime {
		if runtime.Gosched(); s.intake.hasSmall() {
			return true
		}
	}
	if g.patience == 0 {
		return false
	}
	if s.filling.frame.Count < g.expected && d < g.patience && s.linger(g.patience-d) {
		return true
	}
	g.waited(s.filling.frame.Count)
	return false
}

// waited records the number of commits of a batch that waited. If clients don't wait
// for results before they send, a batch never gets most of the expected commits, and
// waiting is in vain.
func (g *gathering) waited(commits uint32) {
	if g.vain++; 3*commits >= 2*g.expected {
		g.vain = 0
	}
	if g.vain == vainBatches {
		g.vain, g.rest = 0, restBatches
	}
}

// linger waits until a request arrives or the time is up, and reports whether a
// small request is waiting.
func (s *sequencer) linger(most time.Duration) bool {
	g := &s.gathering
	g.timer.Reset(most)
	for s.intake.empty() && s.intake.refusing() == nil {
		select {
		case <-s.intake.wake: // perhaps for a group that has already had its turn
		case <-g.timer.C:
			return s.intake.hasSmall()
		}
	}
	return s.intake.hasSmall()
}

// returning sets how long and for how many commits the next batch waits. The parameter
// took is the time that the log took for the previous batch. The parameter expected is
// the number of commits in that batch, plus those that were judged in the meantime.
func (s *sequencer) returning(expected uint32, took time.Duration) {
	g := &s.gathering
	g.expected, g.patience = expected, 0
	if took < slowLog {
		return
	}
	if g.rest > 0 {
		g.rest--
		return
	}
	g.patience = min(took/2, patienceMost)
}
