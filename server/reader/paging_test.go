package reader

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A listCase is a list that is read to its end while the ledger changes.
type listCase struct {
	target string
	fields []string // fields that identify an entry
	want   []string // entries that exist throughout, in order
	// disturb adds other entries between two pages, and may remove earlier ones. i
	// counts the calls from 0.
	disturb func(w *ledgerWriter, i int)
}

func pagingCases(w *ledgerWriter) []listCase {
	w.commit("RegisterClass class_id=1 name=Gold", "RegisterClass class_id=2 name=Sword fungible=false",
		"RegisterClassShape class_id=2 width=1 height=1", "CreateContainer container_id=1 kind=Standard owner=7",
		"CreateContainer container_id=2 kind=Slots slot_count=100", "CreateContainer container_id=3 kind=Grid grid_width=10 grid_height=10")
	for i := range 30 {
		w.commit(fmt.Sprintf("AddFungible container_id=1 class_id=1 key=%d quantity=40", 2*i),
			fmt.Sprintf("MintInstance class_id=2 container_id=2 slot_index=%d", 2*i),
			fmt.Sprintf("MintInstance class_id=2 container_id=3 x=%d y=%d", 2*i%10, 2*i/10),
			fmt.Sprintf("CreateContainer container_id=%d kind=Standard owner=7 name=n%02d", 100+2*i, 2*i),
			fmt.Sprintf("RegisterClassShape class_id=2 key=%d width=1 height=1", 2*i),
			fmt.Sprintf("HoldFungible hold_id=%d container_id=1 class_id=1 key=%d quantity=1", 100+2*i, 2*i),
			fmt.Sprintf("RegisterClass class_id=%d name=C", 100+2*i))
	}
	numbered := func(from, step, n int) (names []string) {
		for i := range n {
			names = append(names, strconv.Itoa(from+i*step))
		}
		return names
	}
	prefixed := func(prefix string, names []string) []string {
		for i := range names {
			names[i] = prefix + names[i]
		}
		return names
	}
	var cells []string
	for i := range 30 {
		cells = append(cells, fmt.Sprintf("%d/%d", 2*i%10, 2*i/10))
	}
	// Most cases disturb the pages by adding entries with odd numbers, some before
	// the cursor and some after it. Unless out is "", inAndOut removes each of them
	// after the next page.
	odd := func(i int) int { return (2*i*17 + 1) % 60 }
	inAndOut := func(in, out string) func(*ledgerWriter, int) {
		return func(w *ledgerWriter, i int) {
			w.commit(fmt.Sprintf(in, odd(i)))
			if i > 0 && out != "" {
				w.commit(fmt.Sprintf(out, odd(i-1)))
			}
		}
	}
	return []listCase{
		{target: "/v1/read/container/1/balances", fields: []string{"key"}, want: numbered(0, 2, 30),
			disturb: inAndOut("AddFungible container_id=1 class_id=1 key=%d quantity=40", "RemoveFungible container_id=1 class_id=1 key=%d quantity=40")},
		{target: "/v1/read/container/2/slots", fields: []string{"slot_index"}, want: numbered(0, 2, 30),
			disturb: inAndOut("MintInstance class_id=2 container_id=2 slot_index=%d", "RemoveFromSlot container_id=2 slot_index=%d")},
		{target: "/v1/read/container/3/grid", fields: []string{"x", "y"}, want: cells,
			disturb: func(w *ledgerWriter, i int) {
				w.commit(fmt.Sprintf("MintInstance class_id=2 container_id=3 x=%d y=%d", odd(i)%10, odd(i)/10))
			}},
		{target: "/v1/read/containers?owner=7", fields: []string{"container_id"}, want: append([]string{"1"}, numbered(100, 2, 30)...),
			disturb: inAndOut("CreateContainer container_id=1%02d kind=Slots owner=7", "RemoveContainer container_id=1%02d")},
		{target: "/v1/read/classes", fields: []string{"class_id"}, want: append([]string{"1", "2"}, numbered(100, 2, 30)...),
			disturb: inAndOut("RegisterClass class_id=1%02d name=C", "")},
		{target: "/v1/read/class/1/holders", fields: []string{"container_id", "key"}, want: prefixed("1/", numbered(0, 2, 30)),
			disturb: inAndOut("AddFungible container_id=1 class_id=1 key=%d quantity=40", "RemoveFungible container_id=1 class_id=1 key=%d quantity=40")},
		{target: "/v1/read/class/2/instances", fields: []string{"instance_id"}, want: numbered(1, 1, 60), disturb: func(w *ledgerWriter, i int) {
			w.commit("MintInstance class_id=2")
		}},
		{target: "/v1/read/class/2/instances?container_id=3&key=0", fields: []string{"instance_id"}, want: numbered(2, 2, 30), disturb: func(w *ledgerWriter, i int) {
			w.commit("MintInstance class_id=2 key=5", "MintInstance class_id=2")
		}},
		{target: "/v1/read/class/2/shapes", fields: []string{"key"}, want: append([]string{"null"}, numbered(0, 2, 30)...),
			disturb: inAndOut("RegisterClassShape class_id=2 key=%d width=1 height=1", "")},
		{target: "/v1/read/container/1/holds", fields: []string{"hold_id"}, want: numbered(100, 2, 30),
			disturb: inAndOut("HoldFungible hold_id=1%02d container_id=1 class_id=1 key=0 quantity=1", "ReleaseHold hold_id=1%02d")},
		{target: "/v1/read/containers?prefix=n", fields: []string{"container_id"}, want: numbered(100, 2, 30),
			disturb: inAndOut("CreateContainer container_id=2%02[1]d kind=Slots name=n%02[1]d", "RemoveContainer container_id=n%02d")},
	}
}

func TestPagingWhileTheLedgerChanges(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	cases := pagingCases(w)
	r := startReader(t, log)
	for _, limit := range []int{1, 7, 29, 1000} {
		for _, c := range cases {
			var got []string
			for page, next := 0, ""; ; page++ {
				if 0 < page && page <= 30 {
					c.disturb(w, page-1)
				}
				r.until(w.state.Seq())
				entries, cursor := r.page(c.target, limit, next)
				for _, e := range entries {
					got = append(got, name(e, c.fields))
				}
				if next = cursor; next == "" {
					break
				}
			}
			wanted := map[string]bool{}
			for _, name := range c.want {
				wanted[name] = true
			}
			var kept []string
			for _, name := range got {
				if wanted[name] {
					kept = append(kept, name)
				}
			}
			if diff := cmp.Diff(c.want, kept); diff != "" {
				t.Errorf("%s in pages of %d: -want +got:\n%s", c.target, limit, diff)
			}
		}
		log = newMemLog() // entries left by disturb would collide with the next round
		w = newLedgerWriter(t, log)
		cases = pagingCases(w)
		r = startReader(t, log)
	}
}

func TestPagingCommits(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	pagingCases(w)
	w.batch(transactionOf(t, "CreateContainer container_id=500 kind=Standard"), transactionOf(t, "CreateContainer container_id=501 kind=Standard"),
		transactionOf(t, "CreateContainer container_id=502 kind=Standard"))
	r := startReader(t, log)
	for _, limit := range []int{1, 2, 33, 34, 35} {
		var got []string
		next := ""
		for {
			entries, cursor := r.page("/v1/read/commits", limit, next)
			for _, e := range entries {
				got = append(got, name(e, []string{"global_seq"}))
			}
			if next = cursor; next == "" {
				break
			}
		}
		var want []string
		for seq := range w.state.Seq() {
			want = append(want, fmt.Sprint(seq+1))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in pages of %d: -want +got:\n%s", limit, diff)
		}
	}
}

// page reads one page of a list, and checks that the page obeys the limit.
func (r *testReader) page(target string, limit int, next string) (entries []map[string]json.Number, cursor string) {
	r.t.Helper()
	join := "?"
	if strings.Contains(target, "?") {
		join = "&"
	}
	target += fmt.Sprintf("%slimit=%d", join, limit)
	if next != "" {
		target += "&cursor=" + next
	}
	body := r.get(http.StatusOK, target)
	outer := map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(body), &outer); err != nil {
		r.t.Fatal(err)
	}
	if data, ok := outer["data"]; ok {
		outer = map[string]json.RawMessage{}
		json.Unmarshal(data, &outer)
	}
	for _, list := range []string{"balances", "slots", "placements", "containers", "classes", "commits", "holders", "instances", "shapes", "holds"} {
		var raw []map[string]json.RawMessage
		if outer[list] == nil {
			continue
		}
		if err := json.Unmarshal(outer[list], &raw); err != nil {
			r.t.Fatal(err)
		}
		for _, fields := range raw {
			e := map[string]json.Number{}
			for k, v := range fields {
				e[k] = json.Number(v)
			}
			entries = append(entries, e)
		}
	}
	json.Unmarshal(outer["next_cursor"], &cursor)
	if len(entries) > limit || cursor != "" && len(entries) < limit {
		r.t.Errorf("%s: %d entries, cursor %q; want at most %d, and a cursor only after a full page", target, len(entries), cursor, limit)
	}
	return entries, cursor
}

func name(e map[string]json.Number, fields []string) string {
	var parts []string
	for _, f := range fields {
		parts = append(parts, e[f].String())
	}
	return strings.Join(parts, "/")
}
