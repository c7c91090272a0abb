package reader

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/auth"
	"assetledger/server/httpserver"
)

// historyLog returns a log that contains every kind of change that a history shows.
func historyLog(t *testing.T) (*memLog, *ledgerWriter) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=gold", "RegisterClass class_id=2 name=sword fungible=false",
		"RegisterClassShape class_id=1 width=1 height=2", "RegisterClassShape class_id=2 width=1 height=1")
	w.commit("CreateContainer container_id=1 kind=Standard owner=7", "CreateContainer container_id=2 kind=Slots slot_count=4",
		"CreateContainer container_id=3 kind=Grid grid_width=4 grid_height=4")
	w.commit("AddFungible container_id=1 class_id=1 key=0 quantity=100", "AddFungible container_id=1 class_id=1 key=5 quantity=3")
	w.commit("TransferFungible from_container=1 to_container=3 class_id=1 key=0 quantity=30 x=2 y=1")
	w.commit("HoldFungible hold_id=9 container_id=1 class_id=1 key=0 quantity=20")
	w.commit("MintInstance class_id=2 key=1 container_id=2 slot_index=3", "MintInstance class_id=2 container_id=3 x=0 y=0")
	w.commit("SwapSlots container_id=2 slot_a=3 slot_b=0", "MoveInGrid container_id=3 x=2 y=1 to_x=3 to_y=2", "MoveInGrid container_id=3 x=0 y=0 to_x=1 to_y=1 rotation=90")
	w.commit("SettleHold hold_id=9 to_container=3 quantity=5")
	w.commit("RenameContainer container_id=1 name=purse", "BurnInstance instance_id=1")
	w.commit("RemoveFungible container_id=1 class_id=1 key=0 quantity=65", "RemoveFungible container_id=1 class_id=1 key=5 quantity=3",
		"RenameContainer container_id=1 name=null")
	w.commit("RemoveContainer container_id=1")
	w.commit("CreateContainer container_id=1 kind=Grid owner=8")
	return log, w
}

// part returns the text between two marks.
func part(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// TestHistoryEntries compares the entries with the forms that the API promises.
func TestHistoryEntries(t *testing.T) {
	log, _ := historyLog(t)
	r := startReader(t, log)
	r.until(12)
	for id, want := range map[int]string{
		1: `12 {"operation_index":0,"op":"CreateContainer","change":"created"}
11 {"operation_index":0,"op":"RemoveContainer","change":"removed"}
10 {"operation_index":2,"op":"RenameContainer","change":"renamed","name":null}
10 {"operation_index":1,"op":"RemoveFungible","class_id":1,"key":5,"change":-3,"quantity":0}
10 {"operation_index":0,"op":"RemoveFungible","class_id":1,"key":0,"change":-65,"quantity":0}
9 {"operation_index":0,"op":"RenameContainer","change":"renamed","name":"purse"}
8 {"operation_index":0,"op":"SettleHold","class_id":1,"key":0,"change":-5,"quantity":65}
8 {"operation_index":0,"op":"SettleHold","hold_id":9,"class_id":1,"key":0,"held_change":-20,"held":0}
5 {"operation_index":0,"op":"HoldFungible","hold_id":9,"class_id":1,"key":0,"held_change":20,"held":20}
4 {"operation_index":0,"op":"TransferFungible","class_id":1,"key":0,"change":-30,"quantity":70}
3 {"operation_index":1,"op":"AddFungible","class_id":1,"key":5,"change":3,"quantity":3}
3 {"operation_index":0,"op":"AddFungible","class_id":1,"key":0,"change":100,"quantity":100}
2 {"operation_index":0,"op":"CreateContainer","change":"created"}`,
		2: `9 {"operation_index":1,"op":"BurnInstance","instance_id":1,"class_id":2,"key":1,"change":"out","slot_index":0}
7 {"operation_index":0,"op":"SwapSlots","instance_id":1,"class_id":2,"key":1,"change":"moved","slot_index":0}
6 {"operation_index":0,"op":"MintInstance","instance_id":1,"class_id":2,"key":1,"change":"in","slot_index":3}
2 {"operation_index":1,"op":"CreateContainer","change":"created"}`,
		3: `8 {"operation_index":0,"op":"SettleHold","class_id":1,"key":0,"change":5,"quantity":35}
7 {"operation_index":2,"op":"MoveInGrid","instance_id":2,"class_id":2,"key":0,"change":"moved","x":1,"y":1,"rotation":90}
7 {"operation_index":1,"op":"MoveInGrid","class_id":1,"key":0,"change":0,"quantity":30,"x":3,"y":2,"rotation":0}
6 {"operation_index":1,"op":"MintInstance","instance_id":2,"class_id":2,"key":0,"change":"in","x":0,"y":0,"rotation":0}
4 {"operation_index":0,"op":"TransferFungible","class_id":1,"key":0,"change":30,"quantity":30,"x":2,"y":1,"rotation":0}
2 {"operation_index":2,"op":"CreateContainer","change":"created"}`,
	} {
		body := r.get(http.StatusOK, fmt.Sprintf("/v1/read/container/%d/history", id))
		var got []string
		for _, e := range entriesOf(t, body) {
			seq, at := 0, time.Time{}
			rest := part(string(e)+"\n", `Z",`, "\n")
			if n, err := fmt.Sscanf(string(e), `{"global_seq":%d,"committed_at":`, &seq); n != 1 {
				t.Fatalf("%s does not begin with its commit: %v", e, err)
			}
			at, err := time.Parse(time.RFC3339Nano, part(string(e), `"committed_at":"`, `"`))
			if err != nil || at.UnixNano() != testTime+int64(seq-1)*int64(time.Second) {
				t.Errorf("commit %d is dated %v (%v), want %d s after the first", seq, at, err, seq-1)
			}
			got = append(got, fmt.Sprintf("%d {%s", seq, rest))
		}
		if d := cmp.Diff(strings.Split(want, "\n"), got); d != "" {
			t.Errorf("container %d: %s", id, d)
		}
		if want := fmt.Sprintf(`{"data":{"container_id":%d,"entries":[`, id); !strings.HasPrefix(body, want) {
			t.Errorf("%s, want %s", body, want)
		}
	}
}

// TestHistoryWithinOperation checks the order of several changes by one operation: in
// a history with the oldest entries first, what was taken comes before what was given.
// With the newest entries first, the order is reversed.
func TestHistoryWithinOperation(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=gold", "CreateContainer container_id=1 kind=Standard",
		"AddFungible container_id=1 class_id=1 key=0 quantity=9", "AddFungible container_id=1 class_id=1 key=1 quantity=1")
	for range 2 { // first to a stack that exists, then to a new one
		w.commit("SplitStack container_id=1 class_id=1 from_key=0 to_key=1 quantity=4", "MergeStacks container_id=1 class_id=1 from_key=1 to_key=0")
	}
	w.commit("SplitStack container_id=1 class_id=1 from_key=0 to_key=1 quantity=10")
	r := startReader(t, log)
	r.until(4)
	var signs strings.Builder
	for _, e := range entriesOf(t, r.get(http.StatusOK, "/v1/read/container/1/history?order=oldest&from_seq=2")) {
		if strings.Contains(string(e), `"change":-`) {
			signs.WriteByte('-')
		} else {
			signs.WriteByte('+')
		}
	}
	if want := strings.Repeat("-+", 5); signs.String() != want {
		t.Errorf("oldest first, what was taken and given: %s, want %s", &signs, want)
	}
}

func entriesOf(t *testing.T, body string) []json.RawMessage {
	t.Helper()
	var answer struct {
		Data struct {
			Entries []json.RawMessage
			Cursor  string `json:"next_cursor"`
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatal(body, err)
	}
	return answer.Data.Entries
}

// TestHistoryQueries checks that filters, orders and pages return the right
// entries.
func TestHistoryQueries(t *testing.T) {
	log, _ := historyLog(t)
	r := startReader(t, log)
	r.until(12)
	at := func(seq int, more time.Duration) string {
		return url.QueryEscape(time.Unix(0, testTime).Add(time.Duration(seq-1)*time.Second + more).UTC().Format(time.RFC3339Nano))
	}
	for query, want := range map[string]string{
		"":                        "12 11 10 10 10 9 8 8 5 4 3 3 2",
		"?order=newest":           "12 11 10 10 10 9 8 8 5 4 3 3 2",
		"?order=oldest":           "2 3 3 4 5 8 8 9 10 10 10 11 12",
		"?from_seq=9":             "12 11 10 10 10 9",
		"?to_seq=4":               "4 3 3 2",
		"?from_seq=3&to_seq=4":    "4 3 3",
		"?from_seq=5&to_seq=4":    "",
		"?to_seq=0":               "",
		"?from_seq=99":            "",
		"?class_id=1&key=5":       "10 3",
		"?class_id=2":             "",
		"?key=0":                  "10 8 8 5 4 3",
		"?instance_id=1":          "",
		"?from_time=" + at(9, 0):  "12 11 10 10 10 9",
		"?from_time=" + at(9, 1):  "12 11 10 10 10",
		"?to_time=" + at(4, 0):    "4 3 3 2",
		"?to_time=" + at(4, -1):   "3 3 2",
		"?to_time=" + at(0, 0):    "",
		"?from_time=" + at(99, 0): "",
		"?from_time=0001-01-01T00:00:00Z&to_time=9999-12-31T23:59:59%2B01:00": "12 11 10 10 10 9 8 8 5 4 3 3 2",
	} {
		for _, limit := range []int{0, 1, 2, 3, 5, 13} {
			var got []string
			cursor, pages := "", 0
			for {
				target := "/v1/read/container/1/history" + query
				for _, p := range []string{fmt.Sprintf("limit=%d", limit), cursor} {
					if p != "" && p != "limit=0" {
						target += map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")] + p
					}
				}
				body := r.get(http.StatusOK, target)
				for _, e := range entriesOf(t, body) {
					got = append(got, part(string(e), `"global_seq":`, ","))
				}
				if pages++; !strings.Contains(body, "next_cursor") || pages > 20 {
					break
				}
				cursor = "cursor=" + part(body, `"next_cursor":"`, `"`)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s, %d in a page: commits %s, want %s", query, limit, text, want)
			}
		}
	}
	r.get(http.StatusNotFound, "/v1/read/container/99/history")
	for _, query := range []string{"order=up", "from_time=today", "to_time=1", "instance_id=0", "from_seq=-1", "to_seq=x", "at_seq=3", "owner=1"} {
		r.get(http.StatusBadRequest, "/v1/read/container/1/history?"+query)
	}
}

// TestPastReads checks that reads of the past, by commit or by time, return what
// reads returned then, whatever is committed later.
func TestPastReads(t *testing.T) {
	log := newMemLog()
	r := startReader(t, log)
	full, _ := historyLog(t)
	paths := []string{"/1", "/1/balances", "/1/holds", "/2", "/2/slots", "/3", "/3/balances", "/3/grid", "/1/slots", "/1/grid", "/2/balances"}
	answers := map[string][]string{}
	etags := map[string]string{}
	asOf := regexp.MustCompile(" as of commit [0-9]+") // in errors
	ask := func(target string) (data string, code int, etag string) {
		rec := r.do(http.MethodGet, target)
		body := rec.Body.String()
		data, _, _ = strings.Cut(body, `,"freshness":`)
		data = asOf.ReplaceAllString(data, "")
		return data, rec.Code, rec.Header().Get("Etag")
	}
	for n := 0; ; n++ {
		for _, p := range paths {
			data, code, etag := ask("/v1/read/container" + p)
			answers[p] = append(answers[p], fmt.Sprint(code, data))
			if past, code, _ := ask(fmt.Sprintf("/v1/read/container%s?at_seq=%d", p, n)); fmt.Sprint(code, past) != answers[p][n] {
				t.Errorf("%s at the last commit, %d: %d %s, want %s", p, n, code, past, answers[p][n])
			}
			etags[fmt.Sprint(p, n)] = etag
		}
		if n == len(full.frames) {
			break
		}
		f := full.frames[n]
		if err := log.Append(&f); err != nil {
			t.Fatal(err)
		}
		r.until(uint64(n + 1))
	}
	for _, p := range paths {
		for n, want := range answers[p] {
			moment := time.Unix(0, testTime).Add(time.Duration(n-1) * time.Second).UTC()
			for _, query := range []string{fmt.Sprintf("at_seq=%d", n), "at_time=" + moment.Format(time.RFC3339Nano), "at_time=" + moment.Add(999_999_999).Format(time.RFC3339Nano)} {
				data, code, etag := ask("/v1/read/container" + p + "?" + query)
				if got := fmt.Sprint(code, data); got != want || etag != etags[fmt.Sprint(p, n)] {
					t.Errorf("%s?%s: %s (%s), want %s (%s)", p, query, got, etag, want, etags[fmt.Sprint(p, n)])
				}
			}
		}
	}
	if body := r.get(http.StatusOK, "/v1/read/container/3?at_seq=4"); !strings.HasSuffix(body,
		`"freshness":{"checkpoint_seq":12,"commit_log_seq":12},"as_of":{"global_seq":4,"committed_at":"2023-11-14T22:13:23.000000123Z"}}`) {
		t.Errorf("at commit 4: %s, want as_of to say so", body)
	}
	if body := r.get(http.StatusNotFound, "/v1/read/container/3?at_seq=0"); !strings.Contains(body, `"There is no container 3 as of commit 0."`) {
		t.Errorf("a container before it was created: %s, want none as of commit 0", body)
	}
	if body := r.get(http.StatusOK, "/v1/read/container/3?at_time=9999-01-01T00:00:00Z"); !strings.Contains(body, `"as_of":{"global_seq":12,`) {
		t.Errorf("at a time in the future: %s, want commit 12", body)
	}
	r.get(http.StatusTooEarly, "/v1/read/container/3?at_seq=13&wait=1ms")
	for _, query := range []string{"at_seq=1&at_time=2026-01-01T00:00:00Z", "at_seq=1&min_seq=1", "at_seq=-1", "at_time=1",
		"at_time=2026-01-01T00:00:00,5Z", "at_time=2026-01-01T3:00:00Z"} {
		r.get(http.StatusBadRequest, "/v1/read/container/3?"+query)
	}
	r.get(http.StatusBadRequest, "/v1/read/container/3?at_seq=1", "X-Asset-Min-Seq: 1")
	r.get(http.StatusOK, "/v1/read/container/3?at_time=2026-01-01T00:00:00Z&min_seq=12")
}

// TestPastCursor checks that a cursor contains the commit that its page shows.
func TestPastCursor(t *testing.T) {
	log, _ := historyLog(t)
	r := startReader(t, log)
	r.until(12)
	first := r.get(http.StatusOK, "/v1/read/container/1/balances?at_seq=3&limit=1")
	cursor := part(first, `"next_cursor":"`, `"`)
	for _, query := range []string{"cursor=" + cursor, "cursor=" + cursor + "&at_seq=3", "at_time=2023-11-14T22:13:22.5Z&cursor=" + cursor} {
		if body := r.get(http.StatusOK, "/v1/read/container/1/balances?"+query); !strings.HasPrefix(body,
			`{"container_id":1,"balances":[{"class_id":1,"key":5,"quantity":3}],"freshness"`) || !strings.Contains(body, `"as_of":{"global_seq":3,`) {
			t.Errorf("%s: %s, want the second page as of commit 3", query, body)
		}
	}
	r.get(http.StatusBadRequest, "/v1/read/container/1/balances?at_seq=4&cursor="+cursor)
	r.get(http.StatusBadRequest, "/v1/read/container/1/balances?min_seq=4&cursor="+cursor)
	r.get(http.StatusBadRequest, "/v1/read/container/2/slots?cursor="+cursor)
}

// TestHistoryPayer checks that the payer of a settled hold is shown on request, in
// Standard containers and in Grids, but not to a client that is limited to owners.
func TestHistoryPayer(t *testing.T) {
	log, w := historyLog(t)
	w.commit("CreateContainer container_id=4 kind=Standard owner=8", "CreateContainer container_id=5 kind=Standard", "AddFungible container_id=5 class_id=1 key=0 quantity=50",
		"HoldFungible hold_id=9 container_id=5 class_id=1 key=0 quantity=20", "SettleHold hold_id=9 to_container=4 quantity=5 keep=true", "SettleHold hold_id=9 to_container=4")
	r := startReader(t, log)
	r.until(13)
	payers := func(container int, headers ...string) (list string) {
		rec := r.do(http.MethodGet, fmt.Sprintf("/v1/read/container/%d/history?payer=true&order=oldest", container), headers...)
		for _, e := range entriesOf(t, rec.Body.String()) {
			if payer := part(string(e), `,"payer":`, "}"); payer != "" {
				list += part(string(e), `"change":`, ",") + " of " + payer + " "
			}
		}
		return list
	}
	for container, want := range map[int]string{1: "", 3: "5 of 1 ", 4: "5 of 5 15 of 5 ", 5: ""} {
		if got := payers(container); got != want {
			t.Errorf("container %d was paid %q, want %q", container, got, want)
		}
	}
	for _, query := range []string{"", "?payer=false"} {
		if body := r.get(http.StatusOK, "/v1/read/container/4/history"+query); strings.Contains(body, "payer") {
			t.Errorf("%q: %s, want no payer", query, body)
		}
	}
	r.get(http.StatusBadRequest, "/v1/read/container/4/history?payer=1")
	r.limitTo(t, 8)
	if got := payers(4, "Authorization: Bearer 8"); got != "" {
		t.Errorf("a token limited to owner 8 is told the payers %q", got)
	}
}

// limitTo makes the daemon require a token. Each owner's token is the owner's number.
func (r *testReader) limitTo(t *testing.T, owners ...int) {
	t.Helper()
	clients := ""
	for _, owner := range owners {
		clients += fmt.Sprintf("of%d sha256:%x read owners=%d\n", owner, auth.HashToken(fmt.Sprint(owner)), owner)
	}
	table, err := auth.Parse(clients)
	if err != nil {
		t.Fatal(err)
	}
	table.Mode = 0o600
	r.api.Gate = httpserver.NewGate("auth", table, slog.New(slog.DiscardHandler))
}

// TestHistoryOfOthers checks that a token limited to owners sees the history of
// their containers, from when each became theirs, and no past of anyone else's
// container.
func TestHistoryOfOthers(t *testing.T) {
	log, _ := historyLog(t)
	r := startReader(t, log)
	r.until(12)
	r.limitTo(t, 7, 8)
	ask := func(owner int64, target string) (string, int) {
		rec := r.do(http.MethodGet, target, fmt.Sprintf("Authorization: Bearer %d", owner))
		return rec.Body.String(), rec.Code
	}
	if body, code := ask(8, "/v1/read/container/1/history"); code != http.StatusOK || len(entriesOf(t, body)) != 1 {
		t.Errorf("owner 8: %d %s, want one entry", code, body)
	}
	if body, code := ask(8, "/v1/read/container/1/history?order=oldest&from_seq=1"); code != http.StatusOK || len(entriesOf(t, body)) != 1 {
		t.Errorf("owner 8, oldest first: %d %s, want one entry", code, body)
	}
	for owner, want := range map[int64]map[string]int{
		7: {"/v1/read/container/1/history": 403, "/v1/read/container/1?at_seq=5": 200, "/v1/read/container/1?at_seq=12": 403, "/v1/read/container/1?at_seq=1": 403,
			"/v1/read/container/2/slots?at_seq=8": 403},
		8: {"/v1/read/container/1?at_seq=5": 403, "/v1/read/container/1?at_seq=12": 200, "/v1/read/container/2/history": 403, "/v1/read/container/99/history": 403},
	} {
		for target, status := range want {
			if body, code := ask(owner, target); code != status {
				t.Errorf("owner %d: %s: %d %s, want %d", owner, target, code, body, status)
			}
		}
	}
}
