package writer

import (
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
)

// The sequencer owns the state of the ledger. Its one goroutine takes groups of
// requests from the intake, judges each request against the state, and appends the
// records of accepted ones to the filling batch. While the syncer makes one batch
// durable, the next one fills. A batch is handed over as soon as the syncer is
// idle and no more small requests can join it at once (gather). So the syncs set the
// pace. There are timers only for holds that expire, and, if the log is slow, for
// clients that may send their next requests.
//
//	intake → judge → filling batch → syncer → durable → group done
//
// Groups take turns, so that a large request does not delay small ones. Its
// transactions are judged in order, with those of other requests in between.
//
// The state is ahead of the log. So no response, not even a rejection, is sent
// before the batch that the request was judged against is durable.
type sequencer struct {
	state  *ledger.State
	log    commitlog.Writer
	intake *intake
	sync   *syncer
	meters *meters
	logger *slog.Logger

	filling  *batch
	inFlight *batch // nil if the syncer is idle
	spare    *batch // the other batch, while the syncer is idle

	now func() int64 // the clock, in Unix nanoseconds
	at  int64        // time of the most recently begun batch; see stamp

	began int64       // start of the current turn
	work  int         // operations since the clock was last checked
	check int         // operations between two checks of the clock: turnCheck, or fewer in a simulation
	hurry atomic.Bool // requests that have not been judged are rejected, since there is little time left to stop

	small     bool // the filling batch may have small requests
	gathering gathering

	keepExpired bool               // expired holds are not released
	expired     ledger.Transaction // reused for every commit that releases holds
	caughtUp    *group             // done when the holds that expired before the start are released; see expireFirst

	out     ledger.Outcome // reused for every transaction
	record  []byte         // reused for every record
	maxBody int
	stalled *stall        // reason why the log rejects the batch in flight at present; nil if it doesn't
	failed  *ledger.Error // the log failed, and nothing more is judged

	exit    func()        // ends the process as a failure
	stopped chan struct{} // closed when the goroutine has ended
}

// newSequencer returns a sequencer. The state must include every commit of the log.
// The function exit ends the process; it is called after a panic.
func newSequencer(state *ledger.State, l commitlog.Writer, queue int, meters *meters, logger *slog.Logger, exit func()) *sequencer {
	s := &sequencer{
		state: state, log: l, intake: newIntake(queue), meters: meters, logger: logger, maxBody: l.MaxBody(),
		now: func() int64 { return time.Now().UnixNano() }, at: l.LastTime(),
		filling: new(batch), spare: new(batch), check: turnCheck, exit: exit, stopped: make(chan struct{}),
		caughtUp: &group{done: make(chan struct{})}, gathering: gathering{timer: time.NewTimer(0)},
	}
	s.sync = newSyncer(l, state.Seq(), meters)
	return s
}

// start starts the goroutines of the sequencer and the syncer.
func (s *sequencer) start() {
	go func() {
		defer s.crash("syncer")
		s.sync.run()
	}()
	go func() {
		defer s.crash("sequencer")
		s.run()
	}()
}

// crash ends the process after a panic. The state may be half changed, so no
// response may be based on it.
func (s *sequencer) crash(who string) {
	if p := recover(); p != nil {
		s.logger.Error("panic: a defect in the ledger, please report it; the daemon exits, and durable commits are safe",
			"in", who, "panic", p, "stack", string(debug.Stack()))
		s.exit()
	}
}

// stop rejects new requests and those that have not been judged. It returns when the
// last batch is durable, or when the log has failed or is stalled.
func (s *sequencer) stop() {
	s.intake.refuse(shuttingDown)
	s.hurry.Store(true)
	<-s.stopped
	<-s.sync.ended
}

func (s *sequencer) run() {
	defer close(s.stopped)
	defer close(s.sync.in)
	s.expireFirst()
	timer := time.NewTimer(0)
	for {
		var due <-chan time.Time
		if wait := s.expire(); wait >= 0 {
			timer.Reset(wait)
			due = timer.C
		}
		g := s.intake.take()
		switch {
		case g != nil:
			s.small = s.small || g.lane == nil
			s.turn(g)
			s.poll()
			s.offer()
		case s.finished():
			return
		default:
			select {
			case <-s.intake.wake:
			case <-due:
			case e := <-s.sync.events:
				s.synced(e)
				s.offer()
			}
		}
	}
}

// finished reports whether no more requests can arrive and all work is done. It
// does not wait for a stalled log, since the requests that waited for it have been
// answered.
func (s *sequencer) finished() bool {
	if s.intake.refusing() == nil || !s.intake.empty() {
		return false
	}
	if s.stalled != nil {
		s.logger.Warn("the last batch was not written, because there is no space or the log can't be reached; its clients were told that the outcome is unknown",
			"first_seq", s.inFlight.frame.First)
		s.sync.giveUp()
		return true
	}
	return s.failed != nil || s.inFlight == nil && s.filling.empty()
}
