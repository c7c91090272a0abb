package writer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// runCluster runs one of several daemons of a log, one of which writes:
//
//	join → listen, report ready → stand by: follow, apply → take over → write → lose the writer's place → stand by …
//
// While the daemon stands by, it rejects requests that only the writer accepts, with
// NotTheWriter. When it stops as the writer, it gives up the writer's place as soon as
// every accepted transaction is durable, or after stopTime.
func runCluster(ctx context.Context, c Config, cl commitlog.Cluster, e *httpserver.Entrance, exit func()) error {
	member, err := cl.Join(ctx)
	if err != nil {
		return err
	}
	if url := member.Leader(); !c.LogDriver.Standby && url != "" {
		return errors.Join(fmt.Errorf("%w: %s writes the log, and with -standby=false this daemon does not stand by", wal.ErrLocked, url), member.Close())
	}
	d := newAPI(c)
	d.cluster = true
	cl.Hear(d.mirrorsHere)
	d.standBy(member, c.Dir)
	d.gauges()
	ln, err := e.Listen(c.Listen)
	if err != nil {
		return errors.Join(fmt.Errorf("listening for requests: %w", err), member.Close())
	}
	e.Protect(d.api, ln)
	e.Watch(ctx)
	defer c.Notify.Stopping("stopped")
	ctx, stop := context.WithCancel(ctx)
	failed, ended := make(chan error, 1), make(chan struct{})
	var cause error
	go func() {
		defer close(ended)
		if cause = d.take(ctx, c, cl, member, exit); cause != nil {
			failed <- cause
		}
	}()
	ready := c.Notify.Announcing(c.Ready, func() {})
	err = httpserver.Serve(ctx, ln, d.api, c.Timeouts, ready, "ledger-write", c.Log, failed, func() {
		c.Notify.Stopping("answering accepted requests")
		d.drain()
	})
	stop() // Serve may have returned because the listener failed
	<-ended
	return cmp.Or(err, cause)
}

// take alternates between standing by and writing, until ctx is done or the daemon
// can't continue. The error may also come from closing the copy at the end.
func (d *daemon) take(ctx context.Context, c Config, cl commitlog.Cluster, m commitlog.Member, exit func()) error {
	for {
		err := d.turn(ctx, c, m, exit)
		fenced := errors.Is(err, commitlog.ErrFenced)
		switch {
		case ctx.Err() != nil && (fenced || errors.Is(err, context.Canceled)):
			return nil
		case ctx.Err() != nil || !fenced:
			return err
		}
		c.Log.Warn("another daemon writes the log now; this one stands by", "error", err)
		if m, err = rejoin(ctx, cl, c.Log); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		d.standBy(m, c.Dir)
	}
}

// rejoinPause is the time between two attempts to join the log again.
const rejoinPause = 500 * time.Millisecond

// rejoin joins the log again after another daemon became the writer. The cause that
// cut this daemon off may persist, so rejoin tries until the log is reachable.
func rejoin(ctx context.Context, cl commitlog.Cluster, log *slog.Logger) (commitlog.Member, error) {
	for {
		m, err := cl.Join(ctx)
		if err == nil || !errors.Is(err, commitlog.ErrUnreachable) {
			return m, err
		}
		log.Warn("this daemon can't join the log at the moment; trying again", "error", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(rejoinPause):
		}
	}
}

// turn stands by until this daemon is the writer, and writes until it no longer is.
// It then closes the copy. It returns commitlog.ErrFenced after another daemon
// became the writer, and nil if ctx was done while this daemon wrote, unless closing
// the copy fails.
func (d *daemon) turn(ctx context.Context, c Config, m commitlog.Member, exit func()) error {
	state, err := m.Restore(c.IdempotencyKeys, c.Log)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	r := commitlog.NewReplayer(state)
	l, err := m.Follow(ctx, r.ReplayFrame)
	if err != nil {
		return errors.Join(err, m.Close())
	}
	w := l.(commitlog.ClusterWriter)
	seq := newSequencer(state, w, c.Queue, d.meters, c.Log, exit)
	seq.keepExpired = !c.Expire
	seq.start()
	<-seq.caughtUp.done
	d.takeovers.Add(1)
	d.write(w, seq)
	c.Log.Info("this daemon writes the log", "end_seq", w.LastSeq())
	var cause error
	select {
	case <-ctx.Done():
		d.drain()
	case cause = <-w.Lost():
		seq.intake.refuse(notTheWriter(""))
	case cause = <-seq.sync.failed:
	}
	stopDuty(seq, w)
	d.standBy(stopped{m, seq.sync.end.Load()}, c.Dir)
	return errors.Join(cause, w.Close())
}

// stopped stands in for a Member whose copy is being closed. It reports no writer,
// and the end of the log that this daemon last saw.
type stopped struct {
	commitlog.Member
	end uint64
}

func (m stopped) Durable() uint64               { return m.end }
func (stopped) Behind() error                   { return commitlog.ErrUnreachable }
func (stopped) Leader() string                  { return "" }
func (stopped) Readers() []commitlog.ReaderInfo { return nil }

// standingBy returns the error for requests that only the writer accepts, or nil if
// this daemon is the writer.
func (d *daemon) standingBy() *ledger.Error {
	if m := d.duty.Load().member; m != nil {
		return notTheWriter(m.Leader())
	}
	return nil
}

// clusterGauges registers the metrics of a log on several machines.
func (d *daemon) clusterGauges() {
	g := &d.registry
	g.GaugeFunc(metricPrefix+"role", "1 while this daemon writes the log, 0 while it stands by.", func() float64 {
		if d.role() == "writer" {
			return 1
		}
		return 0
	})
	g.CounterFunc(metricPrefix+"takeovers_total", "Number of times that this daemon has become the writer.", func() float64 { return float64(d.takeovers.Load()) })
	report := func(of func(commitlog.ClusterReport) float64) func() float64 {
		return func() float64 {
			r, _ := d.report()
			return of(r)
		}
	}
	g.GaugeFunc(metricPrefix+"log_tail_bytes", "Bytes in use in etcd's database; 0 while this daemon stands by.",
		report(func(r commitlog.ClusterReport) float64 { return float64(r.TailBytes) }))
	g.GaugeFunc(metricPrefix+"log_quota_used_ratio", "Share of etcd's quota that is in use, from 0 to 1; 0 while this daemon stands by.",
		report(func(r commitlog.ClusterReport) float64 { return r.QuotaUsed }))
	g.CounterFunc(metricPrefix+"log_append_retries_total", "Repeated attempts to append a batch, since this daemon became the writer.",
		report(func(r commitlog.ClusterReport) float64 { return float64(r.Retries) }))
}
