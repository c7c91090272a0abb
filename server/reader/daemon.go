package reader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/metrics"
	"assetledger/server/mirror"
	"assetledger/server/reader/history"
)

// A daemon serves reads of one log.
type daemon struct {
	proj      *projection
	tail      *tailer
	commits   *commitReader
	log       *slog.Logger
	timeouts  httpserver.Timeouts
	maxLag    uint64        // 0 for no limit
	silence   time.Duration // maximum silence of the mirror's sources; 0 for no limit
	keepAlive time.Duration
	pasts     pastTurns
	streams   httpserver.Streams
	damaged   atomic.Bool // the log can't be read back
	registry  metrics.Registry
	api       *httpserver.API
	stream    *logstream.Server // serves the log to other machines
	watch     *statusWatch
}

// newDaemon returns a daemon without starting anything.
func newDaemon(source commitlog.Source, c Config) *daemon {
	d := &daemon{
		proj: newProjection(c.IdempotencyKeys), commits: newCommitReader(source), log: c.Log,
		timeouts: c.Timeouts, maxLag: c.MaxLag, keepAlive: feedKeepAlive, streams: httpserver.Streams{Max: cmp.Or(c.MaxStreams, httpserver.DefaultMaxStreams)}, pasts: newPastTurns(),
	}
	d.tail = &tailer{source: source, dir: c.Dir, name: c.Name, proj: d.proj, log: c.Log, poll: c.Poll, now: time.Now,
		caughtUp: make(chan struct{}), looks: make(chan chan struct{}), opened: make(chan struct{}), ended: make(chan struct{}),
		keys: c.IdempotencyKeys, every: c.CheckpointEvery, meter: &saverMeter{}, until: c.Until}
	d.stream = logstream.New(commitlog.File{Dir: c.Dir}, &d.streams, c.Log)
	d.tail.index = history.New(history.Config{Dir: c.Dir, Source: source, Log: c.Log, Brief: c.Until.set()})
	d.api = httpserver.NewAPI(d.routes(c.Page), "asset_ledger_read_", &d.registry, c.Log)
	d.api.LogAll = c.LogAll
	d.stream.ServedBy(d.api)
	d.api.Budget = httpserver.NewBudget(cmp.Or(c.MaxInflight, defaultReadInflight))
	d.silence = c.MaxSilence
	d.watch = newStatusWatch(&c)
	d.tail.visible = d.measures()
	return d
}

// endpoints lists all reads. Their routes, and so their metrics, are in the same order.
var endpoints = []*endpoint{&readContainer, &readHistory, &readBalances, &readSlots, &readGrid, &readHolds, &readHold, &readClass, &readClasses,
	&readShapes, &readStats, &readHolders, &readInstances, &readFreshness, &readInstance, &readContainers, &readCommit, &readCommits, &readMinutes}

// routes returns the read daemon's table of routes, with or without the page.
func (d *daemon) routes(page bool) []httpserver.Route {
	routes := []httpserver.Route{{Method: "GET", Pattern: "/v1/health", Handle: d.health}, {Method: "GET", Pattern: "/v1/livez", Handle: httpserver.Livez}, {Method: "GET", Pattern: "/v1/readyz", Handle: d.readyz},
		{Method: "GET", Pattern: "/v1/metrics", Handle: d.metrics}, {Method: "GET", Pattern: "/v1/status", Handle: d.status}, {Method: "GET", Pattern: "/v1/openapi.json", Handle: describe}}
	for _, e := range endpoints {
		routes = append(routes, httpserver.Route{Method: "GET", Pattern: e.pattern, Handle: d.serve(e)})
	}
	routes = append(routes, d.stream.Routes()...)
	if page {
		routes = append(routes, pageRoutes(d.tail.untilNote)...)
	}
	return routes
}

// Run runs a read daemon until ctx is done, in which case it returns nil, or until the
// daemon can't continue. The steps are:
//
//	claim the name → load a checkpoint → catch up with the log → listen, report ready → serve → stop in reverse
//
// When the daemon stops, it makes a last checkpoint if that is its duty and there are
// new commits, unless following the log or listening for requests has failed.
func Run(ctx context.Context, c Config) error {
	if err := commitlog.CheckDir(c.Dir); err != nil {
		return err
	}
	entrance, err := httpserver.OpenEntrance(c.Access, c.Listen, c.Log)
	if err != nil {
		return err
	}
	d := newDaemon(c.source(), c)
	if d.watch.writers, err = newWriters(&c); err != nil {
		return err
	}
	if c.Mirror.From != "" {
		if d.tail.mirror, err = mirror.New(c.Mirror, c.Dir, c.Name, c.url(), c.Log); err != nil {
			return err
		}
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return fmt.Errorf("creating the directory of the log: %w", err)
		}
		d.measureMirror()
	}
	tailing, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	failed := make(chan error, 2)
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.tail.run(tailing); err != nil {
			failed <- err
		}
	})
	if m := d.tail.mirror; m != nil {
		running.Go(func() {
			if err := m.Run(tailing); err != nil {
				failed <- err
			}
		})
	}
	defer func() {
		stop(nil)
		running.Wait()
		d.close()
	}()
	defer c.Notify.Stopping("stopped")
	caughtUp := c.Notify.Starting("catching up with the log", func() (done, of uint64) { return d.proj.fresh.applied.Load(), d.tail.durable() })
	defer caughtUp()
	select {
	case <-d.tail.caughtUp:
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
	caughtUp()
	ln, err := entrance.Listen(c.Listen)
	if err != nil {
		stop(errNeverServed)
		return fmt.Errorf("listening for requests: %w", err)
	}
	entrance.Protect(d.api, ln)
	entrance.Watch(ctx)
	ready := c.Notify.Announcing(c.Ready, func() { d.proj.isBroken() })
	return httpserver.Serve(ctx, ln, d.api, c.Timeouts, ready, "ledger-read", c.Log, failed, func() {
		c.Notify.Stopping("ending streams and waits")
		d.drain()
	})
}

// errNeverServed is the cause that ends a tailer whose work was never visible.
var errNeverServed = errors.New("the daemon could not serve")

// drain ends all waits.
func (d *daemon) drain() {
	d.stream.Drain()
	d.proj.fresh.end(ledger.Errorf(ledger.ShuttingDown, "This read daemon is stopping: ask another, or try again soon."))
}

// close unmaps the log. Nothing may still be reading.
func (d *daemon) close() {
	d.commits.close()
	if r := d.tail.reader.Swap(nil); r != nil {
		(*r).Close()
	}
}
