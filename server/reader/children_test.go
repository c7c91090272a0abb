package reader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// TestChildrenComeInPages attaches 10,001 instances to one instance. No
// response has more entries than its limit. With each limit above 1, the pages
// together list all of these instances.
func TestChildrenComeInPages(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Sword fungible=false", "MintInstance class_id=1")
	const n = 10_001
	for first := 2; first < n+2; first += 1000 {
		var ops []string
		for id := first; id < min(first+1000, n+2); id++ {
			ops = append(ops, "MintInstance class_id=1", fmt.Sprintf("Attach instance_id=%d parent_id=1", id))
		}
		w.commit(ops...)
	}
	r := startReader(t, log)
	r.until(w.state.Seq())
	for query, most := range map[string]int{"": 1000, "limit=1": 1, "limit=10000": 10_000, "limit=99999": 10_000, "limit=4000": 4000} {
		if most == 1 {
			if got, next := r.children("limit=1"); len(got) != 1 || next == "" {
				t.Errorf("limit=1: %d children, cursor %q; want one and a cursor", len(got), next)
			}
			continue
		}
		want := int64(2)
		for next, page := "", 0; page == 0 || next != ""; page++ {
			target := query
			if next != "" {
				target += "&cursor=" + next
			}
			var got []int64
			if got, next = r.children(target); len(got) > most || next != "" && len(got) < most {
				t.Fatalf("%s: %d children, cursor %q; want at most %d, and a cursor only after a full page", target, len(got), next, most)
			}
			for _, id := range got {
				if id != want {
					t.Fatalf("%s: child %d, want %d", target, id, want)
				}
				want++
			}
		}
		if want != n+2 {
			t.Errorf("%s: the pages end before %d", query, want)
		}
	}
	w.commit("MintInstance class_id=1")
	r.until(w.state.Seq())
	want := fmt.Sprintf(`{"data":{"instance_id":2,"class_id":1,"key":0,"minted_seq":2,"location":{"parent_id":1},"children":[]},"freshness":{"checkpoint_seq":%[1]d,"commit_log_seq":%[1]d}}`, w.state.Seq())
	if got := r.get(http.StatusOK, "/v1/read/instance/2"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	r.get(http.StatusBadRequest, "/v1/read/instance/1?cursor="+string(cursor{A: 1}.append(nil, listClasses)))
}

func (r *testReader) children(query string) (ids []int64, next string) {
	r.t.Helper()
	var page struct {
		Data struct {
			Children   []int64
			NextCursor string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal([]byte(r.get(http.StatusOK, "/v1/read/instance/1?"+query)), &page); err != nil {
		r.t.Fatal(err)
	}
	return page.Data.Children, page.Data.NextCursor
}
