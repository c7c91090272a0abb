package ctl

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// historyOf serves the history of container 1, with a transfer in each commit that
// seqs lists, and the commits themselves. It counts the requests for commits, and responds to
// them with the given status.
func historyOf(t *testing.T, seqs []int64, status int) (url string, requests *atomic.Int64) {
	requests = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); r.URL.Path {
		case "/v1/read/container/1/history":
			var entries []string
			for _, seq := range seqs {
				entries = append(entries, fmt.Sprintf(`{"global_seq":%d,"committed_at":"2026-01-31T12:00:00Z","operation_index":0,"op":"TransferFungible","class_id":1,"key":0,"change":-1,"quantity":5}`, seq))
			}
			fmt.Fprintf(w, `{"data":{"container_id":1,"entries":[%s]}}`, strings.Join(entries, ","))
		case "/v1/read/commits":
			requests.Add(1)
			w.WriteHeader(status)
			after, _ := strconv.ParseInt(q.Get("after"), 10, 64)
			before, _ := strconv.ParseInt(q.Get("before"), 10, 64)
			var commits []string
			for seq := after + 1; seq < before; seq++ {
				commits = append(commits, fmt.Sprintf(`{"global_seq":%d,"operations":[{"op":"TransferFungible","args":{"from_container":1,"to_container":%d}}],"reverses":%d}`, seq, 1000+seq, seq-1))
			}
			fmt.Fprintf(w, `{"data":{"commits":[%s]}}`, strings.Join(commits, ","))
		case "/v1/read/class/1":
			fmt.Fprint(w, `{"data":{"class_id":1,"code":"EUR","decimals":0}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"code": "ContainerNotFound"}})
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// TestHistoryCommits checks that the number of requests for commits is limited, and that a
// history is shown without the commits if the token may not read them.
func TestHistoryCommits(t *testing.T) {
	t.Parallel()
	var dense, sparse []int64
	for i := range int64(mostNames) + 10 {
		dense, sparse = append(dense, 5000-i), append(sparse, (mostNames+10-i)*1000)
	}
	for _, x := range []struct {
		name          string
		seqs          []int64
		status        int
		most, related int
		words         string
	}{
		{"dense", dense, 200, 12, len(dense), ""},
		{"sparse", sparse, 200, mostNames, mostNames, "are not shown from commit 10000 on: the limit of "},
		{"forbidden", sparse, 403, 1, 0, ""},
	} {
		url, requests := historyOf(t, x.seqs, x.status)
		code, out, words := runs(noEnv, "history", "1", "-o", "csv", "-read-url", url)
		if code != exitDone || !strings.Contains(words, x.words) || x.words == "" && words != "" {
			t.Errorf("%s: exit code %d, %q, want 0, %q", x.name, code, words, x.words)
		}
		if n := int(requests.Load()); n > x.most {
			t.Errorf("%s: %d requests for commits, want at most %d", x.name, n, x.most)
		}
		related := 0
		for i, line := range slices.Collect(strings.Lines(out)) {
			cells := strings.Split(strings.TrimSpace(line), ",")
			if i == 0 || cells[18] == "" {
				continue
			}
			if seq := x.seqs[i-1]; cells[18] != strconv.FormatInt(1000+seq, 10) || cells[20] != strconv.FormatInt(seq-1, 10) {
				t.Errorf("%s: commit %d must name container %d and commit %d: %s", x.name, seq, 1000+seq, seq-1, line)
			}
			related++
		}
		if related != x.related {
			t.Errorf("%s: %d lines show another container, want %d", x.name, related, x.related)
		}
	}
}
