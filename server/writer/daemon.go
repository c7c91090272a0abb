package writer

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/metrics"
)

// A daemon accepts commits and registrations for one log.
type daemon struct {
	duty                  atomic.Pointer[duty]
	cluster               bool          // other daemons may take over
	takeovers             atomic.Uint64 // number of times that this daemon became the writer
	parsing               ledger.ParseLimits
	maxBody, maxBatchBody int64
	maxLag                uint64
	timeouts              httpserver.Timeouts
	streams               *streams
	mirroring             *logstream.Server // serves the log to other machines
	readBacks             chan struct{}     // semaphore for reversals that read their commits
	budget                *httpserver.Budget
	inflight              atomic.Int64
	stopping              atomic.Bool
	meters                *meters
	registry              metrics.Registry
	api                   *httpserver.API
}

// newDaemon returns a daemon, and starts its sequencer. The state must include every
// commit of the log. The function exit ends the process as a failure.
func newDaemon(c Config, l commitlog.Writer, state *ledger.State, exit func()) *daemon {
	d := newAPI(c)
	seq := newSequencer(state, l, c.Queue, d.meters, c.Log, exit)
	seq.keepExpired = !c.Expire
	d.write(l, seq)
	d.gauges()
	seq.start()
	return d
}

// newAPI returns a daemon that has no duty yet.
func newAPI(c Config) *daemon {
	d := &daemon{
		parsing: ledger.ParseLimits{Nesting: c.MaxNesting}, maxBody: c.MaxBody, maxBatchBody: c.MaxBatchBody, maxLag: c.MaxLag, timeouts: c.Timeouts,
		readBacks: make(chan struct{}, 1),
	}
	d.mirroring = logstream.New(commitlog.File{Dir: c.Dir}, &httpserver.Streams{Max: logstream.DefaultMaxStreams}, c.Log)
	d.budget = httpserver.NewBudget(c.MaxInflight)
	d.streams = newStreams(c.MaxInflight)
	d.api = httpserver.NewAPI(d.routes(), metricPrefix, &d.registry, c.Log)
	d.api.Budget = d.budget
	d.api.LogAll = c.LogAll
	d.mirroring.ServedBy(d.api)
	d.meters = newMeters(&d.registry)
	return d
}

// ending returns the error for new requests if none are accepted, and nil
// otherwise.
func (d *daemon) ending() *ledger.Error {
	if err := d.standingBy(); err != nil {
		return err
	}
	if err := d.seq().intake.refusing(); err != nil {
		return err
	}
	if d.stopping.Load() {
		return shuttingDown
	}
	return nil
}

// drain rejects new requests, and ends the streams.
func (d *daemon) drain() {
	d.stopping.Store(true)
	d.mirroring.Drain()
	d.streams.endAll(d.ending())
}

// Run runs a write daemon until ctx is done or the daemon can't continue. After an
// orderly stop it returns nil. Unless the daemon is part of a cluster (see runCluster),
// the steps are:
//
//	lock and recover the log → replay it → release expired holds → listen, report ready → serve → stop in reverse
//
// When it stops, it rejects new requests, answers the accepted ones, and closes the
// log. If the last batch does not become durable in time, the log stays open. The
// function exit ends the process as a failure; it is called after a panic.
func Run(ctx context.Context, c Config, exit func()) (err error) {
	if err := commitlog.CheckDir(c.Dir); err != nil {
		return err
	}
	entrance, err := httpserver.OpenEntrance(c.Access, c.Listen, c.Log)
	if err != nil {
		return err
	}
	driver, err := c.driver()
	if err != nil {
		return err
	}
	if cl, ok := driver.(commitlog.Cluster); ok {
		return runCluster(ctx, c, cl, entrance, exit)
	}
	l, err := driver.OpenWriter()
	if err != nil {
		return err
	}
	defer c.Notify.Stopping("stopped")
	d, err := start(ctx, c, l, exit)
	if errors.Is(err, context.Canceled) {
		return l.Close()
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	err = d.serve(ctx, c, entrance)
	if errors.Is(err, errStuck) {
		return err // the log is still being written, so it can't be closed
	}
	return errors.Join(err, l.Close())
}

// start replays the log and starts a daemon on the resulting state.
func start(ctx context.Context, c Config, l commitlog.Writer, exit func()) (*daemon, error) {
	var at atomic.Uint64
	started := c.Notify.Starting("replaying the log", func() (done, of uint64) { return at.Load(), l.LastSeq() })
	defer started()
	state, err := l.Restore(c.IdempotencyKeys, c.Log)
	if err != nil {
		return nil, err
	}
	if err := commitlog.Replay(ctx, state, l, c.Log, &at); err != nil {
		return nil, err
	}
	return newDaemon(c, l, state, exit), nil
}

var errStuck = errors.New("the last batch did not become durable in time: the outcome of its requests is unknown")

// stopTime is the maximum time for the last sync, after everything else has
// stopped.
const stopTime = 2 * time.Second

// serve listens and serves until ctx is done or the log fails, and then stops the
// sequencer.
func (d *daemon) serve(ctx context.Context, c Config, e *httpserver.Entrance) error {
	select {
	case <-d.seq().caughtUp.done:
	case <-ctx.Done():
	}
	ln, err := e.Listen(c.Listen)
	if err != nil {
		d.seq().stop()
		return fmt.Errorf("listening for requests: %w", err)
	}
	e.Protect(d.api, ln)
	e.Watch(ctx)
	ready := c.Notify.Announcing(c.Ready, func() { d.seq().intake.depth() })
	err = httpserver.Serve(ctx, ln, d.api, c.Timeouts, ready, "ledger-write", c.Log, d.seq().sync.failed, func() {
		c.Notify.Stopping("answering accepted requests")
		d.drain()
		// The first half of the shutdown timeout is for judging, the second for
		// sending responses.
		time.AfterFunc(c.Timeouts.Shutdown/2, func() { d.seq().hurry.Store(true) })
	})
	stopped := make(chan struct{})
	go func() {
		d.seq().stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return err
	case <-time.After(stopTime):
		return errors.Join(err, errStuck)
	}
}
