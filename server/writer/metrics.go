package writer

import (
	"slices"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/metrics"
	"assetledger/server/version"
)

// meters are the write daemon's metrics, except those of HTTP requests and those
// that the method gauges registers.
type meters struct {
	commitDuration *metrics.Histogram
	syncDuration   *metrics.Histogram
	batchCommits   *metrics.Histogram
	commits, hits  *metrics.Counter
	ops            [ledger.NumOpKinds]*metrics.Counter
	growth         *logRate
	rejections     map[ledger.Code]*metrics.Counter // read-only
}

const metricPrefix = "asset_ledger_write_"

// otherRefusals are the codes of rejections that no transaction can get.
var otherRefusals = []ledger.Code{ledger.Unauthorized, ledger.NotFound, ledger.MethodNotAllowed, ledger.NotFresh}

func newMeters(g *metrics.Registry) *meters {
	m := &meters{
		commitDuration: g.Histogram(metricPrefix+"commit_duration_seconds",
			"Time from decoding a transaction until it is durable, in seconds, for each commit.", 1e-9, metrics.Bounds),
		syncDuration: g.Histogram(metricPrefix+"log_sync_duration_seconds",
			"Time that the log takes to make a batch durable, in seconds.", 1e-9, metrics.Bounds),
		batchCommits: g.Histogram(metricPrefix+"batch_commits", "Commits in a batch that one sync made durable.", 1, metrics.Sizes),
		commits:      g.Counter(metricPrefix+"commits_total", "Commits that are durable."),
		hits:         g.Counter(metricPrefix+"idempotency_hits_total", "Transactions that were answered with the result of an earlier one."),
		growth:       newLogRate(time.Now),
		rejections:   map[ledger.Code]*metrics.Counter{},
	}
	for _, k := range ledger.OpKinds() {
		m.ops[k] = g.Counter(metricPrefix+"operations_total", "Operations in durable commits, by kind.", "op", k.String())
	}
	for _, c := range ledger.Codes() {
		if slices.Contains(otherRefusals, c) {
			continue
		}
		m.rejections[c] = g.SparseCounter(metricPrefix+"rejections_total", "Transactions rejected, by code.", "code", string(c))
	}
	return m
}

// batchDurable counts a durable batch, and the time that the log took for it.
func (m *meters) batchDurable(b *batch, took time.Duration) {
	m.syncDuration.Observe(int64(took))
	m.batchCommits.Observe(int64(b.frame.Count))
	m.commits.Add(uint64(b.frame.Count))
	m.grew(&b.frame)
	for k, n := range b.ops {
		if n != 0 {
			m.ops[k].Add(n)
		}
	}
}

// rejected counts a rejection.
func (m *meters) rejected(code ledger.Code) {
	if c := m.rejections[code]; c != nil {
		c.Add(1)
	}
}

// gauges registers the metrics that are computed when they are read.
func (d *daemon) gauges() {
	g := &d.registry
	g.GaugeFunc(metricPrefix+"ingress_queue_depth", "Requests that wait to be sequenced.", func() float64 { return float64(d.seq().intake.depth()) })
	g.GaugeFunc(metricPrefix+"ingress_inflight", "Write requests that have not been answered yet.", func() float64 { return float64(d.inflight.Load()) })
	g.CounterFunc(metricPrefix+"budget_waits_total", "Requests that waited for room within -max-inflight.", func() float64 { return float64(d.budget.Waits.Load()) })
	g.CounterFunc(metricPrefix+"budget_dropped_total", "Slow clients that were dropped to make room within -max-inflight.", func() float64 { return float64(d.budget.Ended.Load()) })
	g.GaugeFunc(metricPrefix+"ingress_inflight_bytes", "Bytes that write requests hold: bodies, their parsed form, and responses.", func() float64 { return float64(d.budget.Used()) })
	g.GaugeFunc(metricPrefix+"commit_log_end_seq", "Last durable commit.", func() float64 { return float64(d.end()) })
	g.GaugeFunc(metricPrefix+"commit_log_lag", "Durable commits that the slowest attached read daemon has not applied.",
		func() float64 { return float64(d.logStatus().lag()) })
	g.GaugeFunc(metricPrefix+"readers", "Read daemons that are attached to the log.", func() float64 { return float64(len(d.log().Readers())) })
	g.GaugesFunc(metricPrefix+"mirror_seq", "Last commit that is durable in a copy of the log on another host.", "name", func(show func(string, float64)) {
		report, _ := d.report()
		end := d.end()
		for _, m := range d.mirrors(report.Mirrors) {
			show(m.Name, float64(min(m.Seq, end)))
		}
	})
	d.spaceGauges()
	if d.cluster {
		d.clusterGauges()
	}
	g.CounterFunc(metricPrefix+"panics_total", "Requests that failed because of a defect in the ledger.", func() float64 { return float64(d.api.Panics.Load()) })
	metrics.Process(g, version.Version, version.Commit())
}

func (d *daemon) metrics(x *httpserver.Exchange) *ledger.Error {
	x.W.Header()["Content-Type"] = []string{metrics.ContentType}
	x.Out = d.registry.Append(x.Out)
	return nil
}
