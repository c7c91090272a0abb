package reader

import (
	"sync/atomic"

	"assetledger/server/metrics"
	"assetledger/server/version"
)

// measures registers the read daemon's metrics, except those of requests, connections
// and a mirror's source. It returns the function that the tailer calls when commits become
// visible. That function's parameter took is in nanoseconds.
func (d *daemon) measures() (visible func(took int64, commits uint64)) {
	const prefix = "asset_ledger_read_"
	g, fresh := &d.registry, d.proj.fresh
	applied := func() float64 { return float64(fresh.applied.Load()) }
	end := func() float64 { return max(float64(d.tail.durable()), applied()) }
	g.GaugeFunc(prefix+"checkpoint_seq", "Last commit that reads show.", applied)
	g.GaugeFunc(prefix+"commit_log_seq", "Last commit that is durable in the log.", end)
	g.GaugeFunc(prefix+"lag", "Durable commits that reads do not show yet.", func() float64 {
		shown := applied() // load this first: otherwise commits could be applied in the meantime, and the lag would be too small
		return max(float64(d.tail.durable())-shown, 0)
	})
	g.CounterFunc(prefix+"apply_operations_total", "Operations applied to the projection.", func() float64 { return float64(d.proj.ops.Load()) })
	g.GaugeFunc(prefix+"waiting", "Requests and streams that wait for a commit to be applied.", func() float64 { return float64(fresh.waiting()) })
	g.GaugeFunc(prefix+"inflight_bytes", "Bytes that requests hold: what they collect, and responses until they are written.", func() float64 { return float64(d.api.Budget.Used()) })
	g.CounterFunc(prefix+"budget_waits_total", "Requests that waited for room within -max-inflight.", func() float64 { return float64(d.api.Budget.Waits.Load()) })
	g.CounterFunc(prefix+"budget_dropped_total", "Slow clients that were dropped to make room within -max-inflight.", func() float64 { return float64(d.api.Budget.Ended.Load()) })
	g.GaugeFunc(prefix+"streams", "Streams of commits and of the log that are open.", func() float64 { return float64(d.streams.Opened()) })
	g.CounterFunc(prefix+"streams_ended_total", "Streams of commits and of the log that were ended to make room for new ones.", func() float64 { return float64(d.streams.Ended.Load()) })
	g.GaugeFunc(prefix+"log_damaged", "1 when the log can't be read or its commits lead to a different state from the recorded one, else 0.", func() float64 {
		if d.proj.isBroken() || d.damaged.Load() {
			return 1
		}
		return 0
	})
	g.CounterFunc(prefix+"panics_total", "Requests that failed because of a defect in the ledger.", func() float64 { return float64(d.api.Panics.Load()) })
	m := d.tail.meter
	count := func(n *atomic.Uint64) func() float64 { return func() float64 { return float64(n.Load()) } }
	seconds := func(n *atomic.Int64) func() float64 { return func() float64 { return float64(n.Load()) / 1e9 } }
	g.CounterFunc(prefix+"checkpoints_made_total", "Checkpoints that were made.", count(&m.made))
	g.CounterFunc(prefix+"checkpoints_failed_total", "Checkpoints that could not be made.", count(&m.failed))
	g.GaugeFunc(prefix+"saved_checkpoint_seq", "Commit of the newest checkpoint on disk that this daemon knows of.", count(&m.last))
	g.GaugeFunc(prefix+"saved_checkpoint_duration_seconds", "Time from the beginning of the last checkpoint until it was durable, in seconds.", seconds(&m.took))
	g.GaugeFunc(prefix+"saved_checkpoint_hold_seconds", "Part of the duration of the last checkpoint in which no commits were applied, in seconds.", seconds(&m.held))
	h := &d.tail.index.Meter
	g.GaugeFunc(prefix+"history_ready", "1 if the history index is complete, 0 while it is being built.", func() float64 {
		if d.tail.index.Ready() != nil {
			return 0
		}
		return 1
	})
	g.GaugeFunc(prefix+"history_failing", "1 while the history index can't be maintained: its files can't be written or read; else 0.", func() float64 {
		if d.tail.index.Failing() {
			return 1
		}
		return 0
	})
	g.GaugeFunc(prefix+"history_made_seq", "Commit up to which a missing history index has been built.", count(&h.Done))
	g.GaugeFunc(prefix+"history_files", "Files of the history index.", count(&h.Files))
	g.GaugeFunc(prefix+"history_bytes", "Bytes of the files of the history index.", count(&h.Bytes))
	g.CounterFunc(prefix+"history_failed_total", "Attempts to write or read the history index that failed.", count(&h.Failed))
	visibility := g.Histogram(prefix+"visibility_seconds",
		"Time from when a commit is durable until it is readable, in seconds, for each commit.", 1e-9, metrics.Bounds)
	metrics.Process(g, version.Version, version.Commit())
	return visibility.ObserveN
}

// measureMirror registers the metrics of a mirror's source.
func (d *daemon) measureMirror() {
	m := d.tail.mirror
	d.registry.GaugeFunc("asset_ledger_read_source_seq", "Last commit that is durable at the source of the log, as last reported.", func() float64 { return float64(m.Status().Seq) })
	d.registry.GaugeFunc("asset_ledger_read_source_silence_seconds", "Time since anything was heard from the source of the log, in seconds.", func() float64 { return m.Status().Silence.Seconds() })
	d.registry.GaugeFunc("asset_ledger_read_source_foreign", "1 if the source and the directory have different histories of the log, else 0.", func() float64 {
		if m.Status().Foreign {
			return 1
		}
		return 0
	})
}
