package server

import "assetledger/server/metrics"

// measures fills the registry with what the read daemon tells beside its
// requests, and returns what the tailer calls when commits became readable.
func (d *readDaemon) measures() (visible func(took int64, commits uint64)) {
	const prefix = "asset_ledger_read_"
	g, fresh := &d.registry, d.proj.fresh
	applied := func() float64 { return float64(fresh.applied.Load()) }
	end := func() float64 { return max(float64(d.tail.durable()), applied()) }
	g.GaugeFunc(prefix+"checkpoint_seq", "Last commit that reads show.", applied)
	g.GaugeFunc(prefix+"commit_log_seq", "Last commit that is durable in the log.", end)
	g.GaugeFunc(prefix+"lag", "Durable commits that reads do not show yet.", func() float64 {
		shown := applied() // first: the end may move on meanwhile, and lag is never below 0
		return max(float64(d.tail.durable())-shown, 0)
	})
	g.CounterFunc(prefix+"apply_operations_total", "Operations applied to the projection.", func() float64 { return float64(d.proj.ops.Load()) })
	g.GaugeFunc(prefix+"waiting", "Requests and streams that wait for a commit to be applied.", func() float64 { return float64(fresh.waiting()) })
	g.GaugeFunc(prefix+"streams", "Streams of commits that are open.", func() float64 { return float64(d.feeds.Load()) })
	g.CounterFunc(prefix+"panics_total", "Requests that met a defect of the ledger.", func() float64 { return float64(d.api.Panics.Load()) })
	visibility := g.Histogram(prefix+"visibility_seconds",
		"Time from a commit's being durable to its being readable, in seconds, for each commit.", 1e-9, metrics.Bounds)
	metrics.Process(g, Version, metrics.Revision())
	return visibility.ObserveN
}
