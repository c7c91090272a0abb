package writer

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

func TestHealthOfReaders(t *testing.T) {
	const prefix, suffix = `,"driver":{"name":"ram","path":"/nowhere"},"readers":[`, `]}}`
	for _, c := range []struct {
		about   string
		readers []commitlog.ReaderInfo
		maxLag  uint64
		status  int
		want    string
	}{
		{"none", nil, 0, 200, `{"status":"healthy","commit_log":{"end_seq":4,"checkpoint_seq":0,"lag":4` + prefix + suffix},
		{"two", []commitlog.ReaderInfo{{Name: "a", Seq: 4}, {Name: `b"`, Seq: 2}}, 0, 200, `{"status":"healthy","commit_log":{"end_seq":4,"checkpoint_seq":2,"lag":2` + prefix +
			`{"name":"a","checkpoint_seq":4,"lag":0},{"name":"b\"","checkpoint_seq":2,"lag":2}` + suffix},
		{"one that is ahead of the end", []commitlog.ReaderInfo{{Name: "a", Seq: 5}}, 1, 200, `{"status":"healthy","commit_log":{"end_seq":4,"checkpoint_seq":4,"lag":0` + prefix +
			`{"name":"a","checkpoint_seq":4,"lag":0}` + suffix},
		{"at the bound", []commitlog.ReaderInfo{{Name: "a", Seq: 2}}, 2, 200, `{"status":"healthy","commit_log":{"end_seq":4,"checkpoint_seq":2,"lag":2` + prefix +
			`{"name":"a","checkpoint_seq":2,"lag":2}` + suffix},
		{"beyond the bound", []commitlog.ReaderInfo{{Name: "a", Seq: 1}}, 2, 503, `{"status":"degraded","commit_log":{"end_seq":4,"checkpoint_seq":1,"lag":3` + prefix +
			`{"name":"a","checkpoint_seq":1,"lag":3}` + suffix},
	} {
		l := newRAMLog()
		l.read = c.readers
		w := startWriter(t, l, func(cfg *Config) { cfg.MaxLag = c.maxLag })
		w.post(200, "/v1/commit", world)
		for range 3 {
			w.post(200, "/v1/commit", transferTx(1, ""))
		}
		a := w.do("GET", "/v1/health", "")
		if a.status != c.status || a.body != c.want || (a.header.Get("Retry-After") != "") != (c.status == 503) {
			t.Errorf("%s: %d %s\nwant %d %s", c.about, a.status, a.body, c.status, c.want)
		}
	}
}

// Health lists the read daemons that are registered with the log and alive, and no
// others.
func TestHealthListsLiveReaders(t *testing.T) {
	dir := t.TempDir()
	w := runWriter(t, dir)
	defer w.end()
	w.post(200, "/v1/commit", world)
	var regs []*wal.Registration
	for i, name := range []string{"zoe", "ann", "gone"} {
		r, err := wal.Register(dir, name, wal.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Applied(uint64(i))
		regs = append(regs, r)
	}
	if err := regs[2].Close(); err != nil {
		t.Fatal(err)
	}
	a := w.do("GET", "/v1/health", "")
	if want := `"readers":[{"name":"ann","checkpoint_seq":1,"lag":0},{"name":"zoe","checkpoint_seq":0,"lag":1}]}}`; !strings.HasSuffix(a.body, want) {
		t.Errorf("%s\nwant %s", a.body, want)
	}
	regs[0].Close()
	regs[1].Close()
}

var metricsNumbers = regexp.MustCompile(`(?m)^((process|go)_\w+|\w+_seconds_(sum|bucket\{.*\})|asset_ledger_build_info.*) \S+$`)

// Every metric that the contract names exists and counts correctly, and
// promtool reports no problem.
func TestWriteMetrics(t *testing.T) {
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	w.post(200, "/v1/commit", transferTx(1, `,"idempotency_key":"k"`))
	w.post(200, "/v1/commit", transferTx(1, `,"idempotency_key":"k"`))
	w.post(422, "/v1/commit", transferTx(9999, ""))
	w.post(422, "/v1/commit/preflight", transferTx(9999, ""))
	w.post(400, "/v1/commit", "")
	w.post(200, "/v1/commit/batch", batchOf("", transferTx(1, ""), transferTx(1, `,"idempotency_key":"k"`), transferTx(9999, ""), transferTx(1, "")))
	w.post(404, "/v1/nothing", "")
	a := w.do("GET", "/v1/metrics", "")
	if a.status != 200 || a.header.Get("Content-Type") != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("status %d, header %v; want 200 and the content type of metrics", a.status, a.header)
	}
	for _, line := range []string{
		`asset_ledger_write_requests_total{route="/v1/commit",status="200"} 3`,
		`asset_ledger_write_requests_total{route="/v1/commit",status="422"} 1`,
		`asset_ledger_write_requests_total{route="/v1/commit",status="400"} 1`,
		`asset_ledger_write_requests_total{route="none",status="404"} 1`,
		`asset_ledger_write_request_duration_seconds_count{route="/v1/commit"} 5`,
		`asset_ledger_write_commit_duration_seconds_count 4`,
		`asset_ledger_write_log_sync_duration_seconds_count 3`,
		`asset_ledger_write_batch_commits_count 3`,
		`asset_ledger_write_batch_commits_sum 4`,
		`asset_ledger_write_ingress_queue_depth 0`,
		`asset_ledger_write_ingress_inflight 0`,
		`asset_ledger_write_commit_log_end_seq 4`,
		`asset_ledger_write_commit_log_lag 4`,
		`asset_ledger_write_idempotency_hits_total 2`,
		`asset_ledger_write_commits_total 4`,
		`asset_ledger_write_operations_total{op="TransferFungible"} 3`,
		`asset_ledger_write_operations_total{op="CreateContainer"} 2`,
		`asset_ledger_write_operations_total{op="MintInstance"} 0`,
		`asset_ledger_write_rejections_total{code="InsufficientBalance"} 2`,
		`asset_ledger_write_rejections_total{code="MalformedJSON"} 1`,
	} {
		if !strings.Contains(a.body, "\n"+line+"\n") {
			t.Errorf("the metrics lack the line %s", line)
		}
	}
	for _, name := range []string{"asset_ledger_build_info", "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"} {
		if !strings.Contains(a.body, "\n"+name) {
			t.Errorf("the metrics lack %s", name)
		}
	}
	if t.Failed() {
		t.Log(metricsNumbers.ReplaceAllString(a.body, "$1 …"))
	}
	t.Run("promtool", func(t *testing.T) {
		tool, err := exec.LookPath("promtool")
		if err != nil {
			t.Skip("needs promtool")
		}
		cmd := exec.Command(tool, "check", "metrics")
		cmd.Stdin = strings.NewReader(a.body)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	})
}

// Rejections of single requests and of transactions in a batch request are counted by
// code. Those of preflights are not.
func TestRejectionsAreCounted(t *testing.T) {
	w := startWriter(t, newRAMLog())
	w.post(200, "/v1/commit", world)
	short := `{"operations":[{"op":"RequireBalance","args":{"container_id":1,"class_id":1,"key":0,"at_least":1001}},` + transferTx(1, "")[len(`{"operations":[`):]
	for _, a := range []answer{w.post(412, "/v1/commit", short), w.post(412, "/v1/commit/preflight", short)} {
		if a.code() != string(ledger.RequirementFailed) {
			t.Errorf("want RequirementFailed: %s", a.body)
		}
	}
	w.post(200, "/v1/commit/batch", batchOf("", short))
	want := `asset_ledger_write_rejections_total{code="RequirementFailed"} 2`
	if a := w.do("GET", "/v1/metrics", ""); !strings.Contains(a.body, want+"\n") {
		t.Errorf("the metrics lack %s:\n%s", want, a.body)
	}
}
