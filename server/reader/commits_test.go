package reader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seqs reads a list of commits to its end, and returns their numbers.
func (r *testReader) seqs(target string, limit int) (seqs []string) {
	r.t.Helper()
	for next := ""; ; {
		entries, cursor := r.page(target, limit, next)
		for _, e := range entries {
			seqs = append(seqs, name(e, []string{"global_seq"}))
		}
		if next = cursor; next == "" {
			return seqs
		}
	}
}

func TestCommitsInBothOrders(t *testing.T) {
	t.Parallel()
	source, log := logDrivers[1].open(t)
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard")
	// A page of the newest commits is read in pieces, which end among these
	// commits.
	long := strings.Repeat("x", 15_000)
	for i := range 150 {
		add := `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}],"metadata":{"text":"` + long[:i*i%15_000] + `"}}`
		w.batch(add, add)
	}
	last := int(w.state.Seq())
	r := startReader(t, source)
	run := func(from, to int) (seqs []string) {
		for seq := from; seq <= to; seq++ {
			seqs = append(seqs, fmt.Sprint(seq))
		}
		for seq := from; seq >= to && from > to; seq-- {
			seqs = append(seqs, fmt.Sprint(seq))
		}
		return seqs
	}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"order=oldest", run(1, last)},
		{"order=newest", run(last, 1)},
		{"order=newest&before=0", nil},
		{"order=newest&before=1", nil},
		{"order=newest&before=3", run(2, 1)},
		{"order=oldest&before=3", run(1, 2)},
		{"before=9223372036854775807&after=298", run(299, last)},
		{"order=newest&after=5&before=40", run(39, 6)},
		{"after=5&before=40", run(6, 39)},
		{"order=newest&after=39&before=40", nil},
		{"order=newest&after=400", nil},
		{"order=newest&after=300", run(301, 301)},
	} {
		for _, limit := range []int{1, 7, 33, 299, 301, 10_000} {
			if len(c.want) > 100 && limit == 1 {
				continue
			}
			if diff := cmp.Diff(c.want, r.seqs("/v1/read/commits?"+c.query, limit)); diff != "" {
				t.Errorf("%s in pages of %d: -want +got:\n%s", c.query, limit, diff)
			}
		}
	}
	// A commit has the same text in every list.
	var both [2]struct {
		Data struct{ Commits []json.RawMessage }
	}
	for i, order := range []string{"oldest", "newest"} {
		if err := json.Unmarshal([]byte(r.get(http.StatusOK, "/v1/read/commits?after=100&before=200&order="+order)), &both[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range both[0].Data.Commits {
		if other := both[1].Data.Commits[len(both[1].Data.Commits)-1-i]; string(c) != string(other) {
			t.Errorf("oldest first, the list shows %s, and newest first %s", c, other)
		}
	}
}

// TestNewestEndsEarly checks that a page in memory has a maximum size, whatever
// its limit is.
func TestNewestEndsEarly(t *testing.T) {
	t.Parallel()
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard")
	var ops []string
	for range 9000 {
		ops = append(ops, "AddFungible container_id=1 class_id=1 key=9223372036854775807 quantity=1000000000000")
	}
	for range 11 {
		w.commit(ops...)
	}
	r := startReader(t, log)
	body := r.get(http.StatusOK, "/v1/read/commits?order=newest")
	if n := len(body); n < maxPageBytes || n > maxPageBytes+2<<20 || !strings.Contains(body, `"next_cursor"`) {
		t.Fatalf("a page of %d bytes, want about %d and a cursor", n, maxPageBytes)
	}
	next := ""
	var got []string
	for {
		var page struct {
			Data struct {
				Commits []struct {
					Seq json.Number `json:"global_seq"`
				}
				Next string `json:"next_cursor"`
			}
		}
		target := "/v1/read/commits?order=newest"
		if next != "" {
			target += "&cursor=" + next
		}
		if err := json.Unmarshal([]byte(r.get(http.StatusOK, target)), &page); err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Data.Commits {
			got = append(got, c.Seq.String())
		}
		if next = page.Data.Next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(strings.Fields("12 11 10 9 8 7 6 5 4 3 2 1"), got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCommitsOfAKey(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	for i := range 5 {
		w.batch(fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}],"idempotency_key":"key %d+"}`, i+1, i))
	}
	r := startReader(t, log)
	for key, want := range map[string]string{"key%200%2B": "1", "key%204%2b": "5", "key%205%2B": "", "key+1%2B": "2"} {
		body := r.get(http.StatusOK, "/v1/read/commits?idempotency_key="+key)
		if want == "" && strings.Contains(body, `"commits":[]`) {
			continue
		}
		if want == "" || strings.Count(body, "global_seq") != 1 || !strings.Contains(body, `{"commits":[{"global_seq":`+want+`,`) || strings.Contains(body, "next_cursor") {
			t.Errorf("key %s: %s, want commit %q alone", key, body, want)
		}
	}
}

// TestReversedBy checks that a commit names the commit that reversed it, as of
// the commit that the response reflects. A stream, which is not tested here, shows
// commits as they were made.
func TestReversedBy(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("CreateContainer container_id=1 kind=Standard")
	w.commit("CreateContainer container_id=2 kind=Standard")
	r := startReader(t, log)
	r.until(2)
	before := r.get(http.StatusOK, "/v1/read/commit/2")
	w.batch(`{"operations":[{"op":"RemoveContainer","args":{"container_id":2}}],"metadata":{"why":"a mistake"},"reverses":2}`)
	r.until(3)
	for target, want := range map[string]string{
		"commit/1": "", "commit/2": `"metadata":{},"reversed_by":3}`, "commit/3": `"metadata":{"why":"a mistake"},"reverses":2}`,
		"commits?after=1&limit=1": `"metadata":{},"reversed_by":3}`, "commits?order=newest": `"metadata":{},"reversed_by":3}`,
	} {
		body := r.get(http.StatusOK, "/v1/read/"+target)
		if !strings.Contains(body, want) || want == "" && strings.Contains(body, "revers") {
			t.Errorf("%s: %s, want %s", target, body, want)
		}
	}
	if strings.Contains(before, "reversed_by") {
		t.Errorf("before the reversal: %s, want no reversed_by", before)
	}
}

// TestLargeCommitNeedsRoom checks that no read returns a large commit if the budget
// has no room for the response. Small commits are still returned.
func TestLargeCommitNeedsRoom(t *testing.T) {
	t.Parallel()
	r := startReader(t, deepLog(t), smallBudget(128<<10))
	r.until(11)
	others := r.api.Budget.Claim()
	if !others.Grow(64 << 10) {
		t.Fatal("no room")
	}
	r.get(http.StatusOK, "/v1/read/commit/1")
	t.Run("without room", func(t *testing.T) {
		for _, target := range []string{"/v1/read/commit/2", "/v1/read/commits?after=1", "/v1/read/commits?order=newest"} {
			t.Run(target, func(t *testing.T) {
				t.Parallel() // each request waits for room
				if body := r.get(http.StatusServiceUnavailable, target); !strings.Contains(body, `"Overloaded"`) {
					t.Errorf("%s, want Overloaded", body)
				}
			})
		}
	})
	if used := r.api.Budget.Used(); used != others.Held {
		t.Errorf("%d bytes are still held after the responses", used-others.Held)
	}
	if body := r.get(http.StatusOK, "/v1/read/commits?limit=5"); !strings.Contains(body, `"next_cursor"`) || strings.Contains(body, `"global_seq":2,`) {
		t.Errorf("a page takes more than there is room for: %.300s", body)
	}
	others.Release()
	if body := r.get(http.StatusOK, "/v1/read/commit/2"); len(body) < 60_000 {
		t.Errorf("with room, the commit has %d bytes, want at least 60,000", len(body))
	}
}
