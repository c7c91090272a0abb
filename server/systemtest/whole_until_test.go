package systemtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// TestUntilOfACopy runs read daemons that fill their directory from another machine and
// stop following the log. The first stops at a given commit, the second at a given
// time, and the third at a commit beyond the end of the log. Each must serve the ledger
// as it was at that point. A daemon that is started later on such a directory, without
// -until, must serve the whole log.
func TestUntilOfACopy(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	writer := func() *process {
		return startProcess(t, "ledger-write", "-dir", filepath.Join(base, "a"), "-segment-size", "65536")
	}
	w := writer()
	prepared(t, w.url)
	middle := commits(t, w.url, 3)
	truth := startProcess(t, "ledger-read", "-dir", filepath.Join(base, "a"))
	then := arrives(t, truth.url, middle)
	var page struct {
		Data struct {
			Commits []struct {
				At string `json:"committed_at"`
			}
		}
	}
	mustGet(t, fmt.Sprintf("%s/v1/read/commits?after=%d&limit=1", truth.url, middle-1), &page)
	end := commits(t, w.url, 4)
	copied := func(name string, until ...string) *process {
		return startProcess(t, "ledger-read", append(until, "-dir", filepath.Join(base, name), "-from", w.url, "-name", name)...)
	}
	byTime := []string{"-until-time", page.Data.Commits[0].At}
	shows := func(r *process, seq int64, want, until string) {
		t.Helper()
		if got := arrives(t, r.url, seq); got != want {
			t.Errorf("%s shows\n%s\nwant\n%s", until, got, want)
		}
		var health struct {
			Until     int64
			UntilTime string `json:"until_time"`
		}
		awaits(t, until+": health reports where it stops", func() bool { // only a later batch shows that -until-time has passed
			mustGet(t, r.url+"/v1/health", &health)
			return health.Until != 0
		})
		if health.Until != seq || (health.UntilTime != "") != strings.Contains(until, "time") {
			t.Errorf("%s: health reports %+v, want commit %d, and a time only with -until-time", until, health, seq)
		}
		var fresh struct{ Freshness json.RawMessage }
		mustGet(t, r.url+"/v1/read/container/1", &fresh)
		if want := fmt.Sprintf(`{"checkpoint_seq":%d,"commit_log_seq":%d}`, seq, seq); string(fresh.Freshness) != want {
			t.Errorf("%s: freshness is %s, want %s", until, fresh.Freshness, want)
		}
		var past struct{ Balances []struct{ Quantity int } }
		mustGetReady(t, fmt.Sprintf("%s/v1/read/container/1/balances?at_seq=%d", r.url, seq), &past)
		if len(past.Balances) == 0 {
			t.Errorf("%s: the past at its last commit is empty", until)
		}
		if a, err := get(http.DefaultClient, fmt.Sprintf("%s/v1/read/freshness?min_seq=%d&wait=100ms", r.url, seq+1)); err != nil || a.status == 200 {
			t.Errorf("%s: commit %d is shown: %v %v", until, seq+1, err, a)
		}
	}
	bySeq := copied("b", "-until", fmt.Sprint(middle))
	shows(bySeq, middle, then, "-until")
	atTime := copied("c", byTime...)
	shows(atTime, middle, then, "-until-time")
	later := copied("d", "-until", fmt.Sprint(end+3))
	atEnd := arrives(t, truth.url, end)
	if got := arrives(t, later.url, end); got != atEnd {
		t.Errorf("before it stops, the daemon shows\n%s\nwant\n%s", got, atEnd)
	}
	last := commits(t, w.url, 4)
	var stopped struct{ Balances json.RawMessage }
	mustGetReady(t, fmt.Sprintf("%s/v1/read/container/2/balances?at_seq=%d&wait=10s", truth.url, end+3), &stopped)
	var shown struct{ Balances json.RawMessage }
	awaitSeq(t, later.url, int(end+3))
	mustGet(t, later.url+"/v1/read/container/2/balances", &shown)
	if string(shown.Balances) != string(stopped.Balances) {
		t.Errorf("-until beyond the end shows %s, want %s", shown.Balances, stopped.Balances)
	}
	// Without -until, the copy serves everything that was copied. A daemon that has
	// stopped following continues to serve without its source.
	bySeq.stop(t)
	whole := copied("b")
	if got, want := arrives(t, whole.url, last), arrives(t, truth.url, last); got != want {
		t.Errorf("the copy of a daemon that stopped shows\n%s\nwant\n%s", got, want)
	}
	truth.stop(t)
	w.stop(t)
	shows(atTime, middle, then, "-until-time, without its source")

	// A copy that begins with a checkpoint has no commits before that checkpoint, and
	// the daemon says so.
	w = writer()
	last = commits(t, w.url, 40)
	truth = startProcess(t, "ledger-read", "-dir", filepath.Join(base, "a"))
	arrives(t, truth.url, last)
	truth.stop(t) // it writes a checkpoint, at a commit in a later segment
	code, _, words := runProgram(t, "ledger-read", "-dir", filepath.Join(base, "e"), "-from", w.url, "-name", "e", "-until", "5", "-listen", "127.0.0.1:0")
	if code != 1 || !strings.Contains(words, "-until") || !strings.Contains(words, "began with a checkpoint of its source") {
		t.Errorf("-until before the source's checkpoint: exit code %d, want 1 and the reason: %s", code, words)
	}
}
