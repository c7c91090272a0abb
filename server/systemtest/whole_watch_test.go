package systemtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/commitlog/etcdlog"
	"assetledger/server/etcd/etcdfake"
	"assetledger/server/etcd/etcdtest"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// tool finds a program, or skips the test.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	skipUnderRace(t)
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is absent: needs Debian's package %s", name, from)
	}
	return path
}

// TestAlertRules checks the rules, and that each alert fires on its problem, and
// only then.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	promtool := tool(t, "promtool", "prometheus")
	for _, args := range [][]string{
		{"check", "rules", "../../docs/ops/alerts.yml"},
		{"check", "config", "../../docs/ops/prometheus.yml"},
		{"test", "rules", "../../testdata/ops/alerts_test.yml"},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, out)
		}
	}
}

// TestAlertsAreExplained checks that every alert is tested, and that
// docs/ops.md says what to do about it.
func TestAlertsAreExplained(t *testing.T) {
	rules, tests, guide := text(t, "../../docs/ops/alerts.yml"), text(t, "../../testdata/ops/alerts_test.yml"), text(t, "../../docs/ops.md")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(rules, -1)
	for _, a := range alerts {
		if strings.Count(tests, `alertname="`+a[1]+`"`) < 2 {
			t.Errorf("%s is not tested with and without its problem", a[1])
		}
		if !strings.Contains(guide, "| "+a[1]+" |") {
			t.Errorf("docs/ops.md does not say what to do about %s", a[1])
		}
	}
	if len(alerts) < 10 {
		t.Errorf("found only %d alerts, want at least 10", len(alerts))
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestMetricsExist checks that the daemons have all metrics that the rules and the
// dashboard use.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "write")
	mirror := startReader(t, t.TempDir(), func(c *reader.Config) { c.Mirror.From = w.write.url })
	told := "up\n"
	several := startWriter(t, t.TempDir(), func(c *writer.Config) {
		c.Driver = &etcdlog.Driver{API: &etcdfake.Client{Store: etcdfake.NewStore()}, Prefix: "/ledger", Dir: c.Dir}
	})
	for _, d := range []*daemon{w.write, w.read, several, mirror} {
		a, err := get(http.DefaultClient, d.url+"/v1/metrics")
		if err != nil {
			t.Fatal(err)
		}
		told += a.body
	}
	if !json.Valid([]byte(text(t, "../../docs/ops/grafana.json"))) {
		t.Error("docs/ops/grafana.json is not JSON")
	}
	for _, file := range []string{"../../docs/ops/alerts.yml", "../../docs/ops/grafana.json"} {
		names := regexp.MustCompile(`\b(asset_ledger|process|go)_\w+`).FindAllString(text(t, file), -1)
		for _, name := range names {
			family := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
			if !strings.Contains(told, "\n# TYPE "+family+" ") && !strings.Contains(told, "\n# TYPE "+name+" ") {
				t.Errorf("%s uses %s, which no daemon has", file, name)
			}
		}
		if len(names) < 15 {
			t.Errorf("%s uses only %d metrics, want at least 15", file, len(names))
		}
	}
}

// TestPrometheus lets a real Prometheus scrape both daemons and evaluate the ledger's
// rules.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	program := tool(t, "prometheus", "prometheus")
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	mustCommit(t, w.url, goodContainers)
	mustCommit(t, w.url, goodCommit)

	home := t.TempDir()
	config := strings.NewReplacer("127.0.0.1:8080", strings.TrimPrefix(w.url, "http://"), "127.0.0.1:8081", strings.TrimPrefix(r.url, "http://")).
		Replace(text(t, "../../docs/ops/prometheus.yml"))
	config = "global: {scrape_interval: 100ms, evaluation_interval: 100ms}\n" + config
	for name, content := range map[string]string{"prometheus.yml": config, "alerts.yml": text(t, "../../docs/ops/alerts.yml")} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := prometheus{t, "http://" + etcdtest.FreeAddress(t)}
	cmd := exec.Command(program, "--config.file="+filepath.Join(home, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(home, "data"),
		"--web.listen-address="+strings.TrimPrefix(p.url, "http://"), "--log.level=warn")
	words, err := os.Create(filepath.Join(home, "words"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = words, words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
		for line := range strings.Lines(text(t, words.Name())) {
			if !strings.Contains(line, "Received SIGTERM") {
				t.Errorf("prometheus logged a warning: %s", line)
			}
		}
	})
	for query, want := range map[string]string{
		`up{job="ledger-write"}`:                                  "1",
		`up{job="ledger-read"}`:                                   "1",
		`asset_ledger_write_commits_total`:                        "2",
		`asset_ledger_write_commit_log_end_seq`:                   "2",
		`asset_ledger_read_checkpoint_seq`:                        "2",
		`asset_ledger_read_lag`:                                   "0",
		`asset_ledger_write_readers`:                              "1",
		`asset_ledger_read_log_damaged`:                           "0",
		`sum(asset_ledger_write_batch_commits_count)`:             "2",
		`sum(asset_ledger_write_batch_commits_bucket{le="+Inf"})`: "2",
		`count(asset_ledger_build_info{version="v0-test"})`:       "2",
		`count(asset_ledger_write_log_disk_free_bytes > 1e6)`:     "1",
		`count(asset_ledger_write_log_next_segment_seconds > 0)`:  "1",
	} {
		p.mustBecome(query, want)
	}
	awaits(t, "Prometheus accepts every target", func() bool { // a single scrape may be late on a busy machine
		var targets struct {
			Data struct {
				ActiveTargets []struct{ LastError, Health string }
			}
		}
		p.ask("/api/v1/targets?state=active", &targets)
		for _, target := range targets.Data.ActiveTargets {
			if target.LastError != "" || target.Health != "up" {
				return false
			}
		}
		return len(targets.Data.ActiveTargets) > 0
	})
	// A missing reader is noticed at once, but its alerts are pending for some time
	// before they fire.
	r.stop(t)
	p.mustBecome(`asset_ledger_write_readers`, "0")
	p.mustBecome(`count(ALERTS{alertname="LedgerReadDown",alertstate="pending"})`, "1")
	p.mustBecome(`count(ALERTS{alertname="LedgerReaderGone",alertstate="pending"})`, "1")
}

type prometheus struct {
	t   *testing.T
	url string
}

func (p prometheus) ask(path string, into any) bool {
	a, err := get(http.DefaultClient, p.url+path)
	return err == nil && a.status == 200 && json.Unmarshal([]byte(a.body), into) == nil
}

// mustBecome repeats a query, for up to a minute, until it has one result with the
// wanted value.
func (p prometheus) mustBecome(query, want string) {
	p.t.Helper()
	var got struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	for end, again := time.Now().Add(time.Minute), time.Tick(50*time.Millisecond); time.Now().Before(end); <-again { // Prometheus scrapes every 100 ms
		got.Data.Result = nil
		if p.ask("/api/v1/query?query="+url.QueryEscape(query), &got) && len(got.Data.Result) == 1 && fmt.Sprint(got.Data.Result[0].Value[1]) == want {
			return
		}
	}
	p.t.Errorf("%s: %v, want %s", query, got.Data.Result, want)
}
