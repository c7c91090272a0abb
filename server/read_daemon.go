package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// A readDaemon serves reads of one log.
type readDaemon struct {
	proj      *projection
	tail      *tailer
	commits   *commitLog
	log       *slog.Logger
	timeouts  Timeouts
	maxLag    uint64 // 0: no bound
	keepAlive time.Duration
	streams   streams
	damaged   atomic.Bool // the log can't be read back
	registry  metrics.Registry
	api       *api
}

// newReadDaemon puts a daemon together; it does nothing yet.
func newReadDaemon(source logSource, c ReadConfig) *readDaemon {
	d := &readDaemon{
		proj: newProjection(), commits: newCommitLog(source), log: c.Log,
		timeouts: c.Timeouts, maxLag: c.MaxLag, keepAlive: feedKeepAlive, streams: streams{max: cmp.Or(c.MaxStreams, DefaultMaxStreams)},
	}
	d.tail = &tailer{source: source, name: c.Name, proj: d.proj, log: c.Log, poll: c.Poll, now: time.Now,
		caughtUp: make(chan struct{}), looks: make(chan chan struct{}), opened: make(chan struct{}), ended: make(chan struct{}),
		keys: c.IdempotencyKeys, every: c.CheckpointEvery, meter: &saverMeter{}}
	d.api = newAPI(d.routes(c.Page), "asset_ledger_read_", &d.registry, c.Log)
	d.api.LogAll = c.LogAll
	d.api.budget = newBudget(cmp.Or(c.MaxInflight, defaultReadInflight))
	d.tail.visible = d.measures()
	return d
}

// readEndpoints are all reads, in the order of the interface's table.
var readEndpoints = []*endpoint{&readContainer, &readBalances, &readSlots, &readGrid, &readClass, &readClasses,
	&readShapes, &readStats, &readFreshness, &readInstance, &readContainers, &readCommit, &readCommits}

// routes is the read daemon's table, with or without the page.
func (d *readDaemon) routes(page bool) []route {
	routes := []route{{"GET", "/v1/health", d.health}, {"GET", "/v1/livez", livez}, {"GET", "/v1/readyz", d.readyz},
		{"GET", "/v1/metrics", d.metrics}, {"GET", "/v1/openapi.json", describeRead}}
	for _, e := range readEndpoints {
		routes = append(routes, route{"GET", e.pattern, d.serve(e)})
	}
	if page {
		routes = append(routes, pageRoutes()...)
	}
	return routes
}

// runRead runs a read daemon until ctx is done (then the error is nil) or it
// can't go on:
//
//	claim the name → load a checkpoint → catch up with the log → listen, say so → serve → stop in reverse
//
// When it stops it makes a last checkpoint.
func runRead(ctx context.Context, c ReadConfig) error {
	entrance, err := openEntrance(c.Access, c.Listen, c.Log)
	if err != nil {
		return err
	}
	d := newReadDaemon(fileLog{c.Dir}, c)
	tailing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	failed := make(chan error, 1)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := d.tail.run(tailing); err != nil {
			failed <- err
		}
	}()
	defer func() {
		stop(nil)
		<-stopped
		d.close()
	}()
	defer c.Notify.stopping("stopped")
	caughtUp := c.Notify.starting("catching up with the log", func() (done, of uint64) { return d.proj.fresh.applied.Load(), d.tail.durable() })
	defer caughtUp()
	select {
	case <-d.tail.caughtUp:
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
	caughtUp()
	ln, err := entrance.listen(c.Listen)
	if err != nil {
		stop(errNeverServed)
		return fmt.Errorf("listening for requests: %w", err)
	}
	entrance.guards(d.api, ln)
	entrance.watch(ctx)
	ready := c.Notify.announcing(c.Ready, func() { d.proj.isBroken() })
	return serve(ctx, ln, d.api, c.Timeouts, ready, "ledger-read", c.Log, failed, func() {
		c.Notify.stopping("ending streams and waits")
		d.drain()
	})
}

// errNeverServed ends a tailer whose work nobody ever saw.
var errNeverServed = errors.New("the daemon could not serve")

// drain ends all waiting.
func (d *readDaemon) drain() {
	d.proj.fresh.end(ledger.Errorf(ledger.ShuttingDown, "This read daemon is stopping: ask another, or try again soon."))
}

// close unmaps the log; nobody may be reading any more.
func (d *readDaemon) close() {
	d.commits.close()
	if r := d.tail.reader.Swap(nil); r != nil {
		(*r).Close()
	}
}
