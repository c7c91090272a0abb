package reader

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadMetrics(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	exampleLedger(w)
	r := startReader(t, log)
	r.until(w.commit("CreateContainer container_id=50 kind=Standard"))
	for !strings.Contains(string(r.registry.Text()), "asset_ledger_read_visibility_seconds_count 1\n") {
		runtime.Gosched() // the metric is updated after the commit becomes visible
	}
	r.get(200, "/v1/read/container/50/balances")
	r.get(404, "/v1/read/container/51/balances")
	r.get(404, "/v1/else")
	rec := r.do("GET", "/v1/metrics")
	if got := rec.Header().Get("Content-Type"); got != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("the content type is %s, want that of metrics", got)
	}
	lines := map[string]bool{}
	var families []string
	for line := range strings.Lines(rec.Body.String()) {
		line = strings.TrimSuffix(line, "\n")
		lines[line] = true
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok && strings.HasPrefix(name, "asset_ledger_") {
			families = append(families, name)
		}
	}
	for _, want := range []string{
		`asset_ledger_read_requests_total{route="/v1/read/container/{id}/balances",status="200"} 1`,
		`asset_ledger_read_requests_total{route="/v1/read/container/{id}/balances",status="404"} 1`,
		`asset_ledger_read_requests_total{route="none",status="404"} 1`,
		`asset_ledger_read_request_duration_seconds_count{route="/v1/read/container/{id}/balances"} 2`,
		`asset_ledger_read_checkpoint_seq 12`,
		`asset_ledger_read_commit_log_seq 12`,
		`asset_ledger_read_lag 0`,
		`asset_ledger_read_apply_operations_total 26`,
		`asset_ledger_read_panics_total 0`,
	} {
		if !lines[want] {
			t.Errorf("the metrics lack the line %s", want)
		}
	}
	want := []string{"asset_ledger_read_request_duration_seconds histogram", "asset_ledger_read_requests_total counter",
		"asset_ledger_read_checkpoint_seq gauge", "asset_ledger_read_commit_log_seq gauge", "asset_ledger_read_lag gauge",
		"asset_ledger_read_apply_operations_total counter", "asset_ledger_read_waiting gauge",
		"asset_ledger_read_inflight_bytes gauge", "asset_ledger_read_budget_waits_total counter", "asset_ledger_read_budget_dropped_total counter",
		"asset_ledger_read_streams gauge", "asset_ledger_read_streams_ended_total counter",
		"asset_ledger_read_log_damaged gauge", "asset_ledger_read_panics_total counter",
		"asset_ledger_read_checkpoints_made_total counter", "asset_ledger_read_checkpoints_failed_total counter",
		"asset_ledger_read_saved_checkpoint_seq gauge", "asset_ledger_read_saved_checkpoint_duration_seconds gauge",
		"asset_ledger_read_saved_checkpoint_hold_seconds gauge", "asset_ledger_read_history_ready gauge", "asset_ledger_read_history_failing gauge",
		"asset_ledger_read_history_made_seq gauge", "asset_ledger_read_history_files gauge", "asset_ledger_read_history_bytes gauge",
		"asset_ledger_read_history_failed_total counter", "asset_ledger_read_visibility_seconds histogram", "asset_ledger_build_info gauge"}
	if diff := cmp.Diff(want, families); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
