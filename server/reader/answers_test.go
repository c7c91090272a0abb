package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/commitlog"
	"assetledger/wal"
)

// exampleLedger commits examples of many operations, in batches of one
// and of several transactions.
func exampleLedger(w *ledgerWriter) {
	w.batch(
		transactionOf(w.t, "RegisterClass class_id=1 name=Gold decimals=2", "RegisterClass class_id=2 name=Sword fungible=false"),
		`{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":3,"name":"Crate \"µ\"\u2028"}}}],"idempotency_key":"k1","metadata":{"by":"Ann","n":1.50}}`,
		transactionOf(w.t, "RegisterClassShape class_id=3 width=2 height=1", "RegisterClassShape class_id=2 width=1 height=1",
			"RegisterClassShape class_id=2 key=5 width=1 height=3", "RegisterClassShape class_id=2 key=4 width=1 height=2"),
	)
	w.batch(`{"operations":[{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard","owner":null}},
		{"op":"CreateContainer","args":{"container_id":9223372036854775807,"kind":"Standard","owner":7}}]}`)
	w.commit("CreateContainer container_id=3 kind=Slots slot_count=8", "CreateContainer container_id=4 kind=Grid owner=7 grid_width=10 grid_height=5")
	w.commit("AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775807")
	w.commit("RemoveFungible container_id=1 class_id=1 key=0 quantity=9223372036854775800")
	w.commit("AddFungible container_id=1 class_id=1 key=0 quantity=9223372036854775800")
	w.commit("AddFungible container_id=1 class_id=3 key=1 quantity=10", "AddFungible container_id=1 class_id=3 key=2 quantity=20",
		"TransferFungible from_container=1 to_container=4 class_id=3 key=2 quantity=5")
	w.batch(`{"operations":[
		{"op":"MintInstance","args":{"class_id":2,"key":5,"container_id":4,"x":4,"y":2,"rotation":90}},
		{"op":"MintInstance","args":{"class_id":2,"container_id":3,"slot_index":6}},
		{"op":"MintInstance","args":{"class_id":2}},
		{"op":"MintInstance","args":{"class_id":2}},
		{"op":"Attach","args":{"instance_id":{"minted":2},"parent_id":{"minted":0}}},
		{"op":"MintInstance","args":{"class_id":2,"key":4,"container_id":3,"slot_index":1}}]}`)
	w.commit("BurnInstance instance_id=4", "MintInstance class_id=2")
}

// TestBriefReads checks that brief reads return the same response whether or not
// their client is still connected, because they never check that.
func TestBriefReads(t *testing.T) {
	log := newMemLog()
	exampleLedger(newLedgerWriter(t, log))
	r := startReader(t, log)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range endpoints {
		path := strings.NewReplacer("{id}", "4", "{global_seq}", "1").Replace(e.pattern)
		if !e.brief {
			continue
		}
		got, want := httptest.NewRecorder(), r.do("GET", path)
		r.api.ServeHTTP(got, httptest.NewRequestWithContext(gone, "GET", path, nil))
		if got.Code != want.Code || got.Body.String() != want.Body.String() {
			t.Errorf("%s: %d %s, and for a connected client %d %s", path, got.Code, got.Body, want.Code, want.Body)
		}
	}
}

// exampleReads are requested from the example ledger. A header may follow the path.
var exampleReads = []string{
	"/v1/read/container/1",
	"/v1/read/container/3",
	"/v1/read/container/4",
	"/v1/read/container/9223372036854775807",
	"/v1/read/container/2",
	"/v1/read/container/0",
	"/v1/read/container/-1",
	"/v1/read/container/9223372036854775808",
	"/v1/read/container/one",
	"/v1/read/container/1?colour=red",
	"/v1/read/container/1/balances",
	"/v1/read/container/4/balances",
	"/v1/read/container/9223372036854775807/balances",
	"/v1/read/container/3/balances",
	"/v1/read/container/2/balances",
	"/v1/read/container/1/balances?class_id=3",
	"/v1/read/container/1/balances?key=0",
	"/v1/read/container/1/balances?class_id=3&key=2",
	"/v1/read/container/1/balances?class_id=5",
	"/v1/read/container/1/balances?class_id=0",
	"/v1/read/container/1/balances?limit=2",
	"/v1/read/container/1/balances?limit=2&cursor=AQEAAAAAAAAAAwAAAAAAAAAB",
	"/v1/read/container/1/balances?limit=0",
	"/v1/read/container/1/balances?cursor=x",
	"/v1/read/container/3/slots",
	"/v1/read/container/3/slots?limit=1",
	"/v1/read/container/3/slots?cursor=AQIAAAAAAAAAAQAAAAAAAAAA",
	"/v1/read/container/1/slots",
	"/v1/read/container/2/slots",
	"/v1/read/container/4/grid",
	"/v1/read/container/4/grid?limit=1",
	"/v1/read/container/4/grid?x=5&y=2&width=1&height=1",
	"/v1/read/container/4/grid?x=7&y=2&width=9&height=9",
	"/v1/read/container/4/grid?x=7&y=2&width=9",
	"/v1/read/container/4/grid?x=0&y=0&width=0&height=1",
	"/v1/read/container/3/grid",
	"/v1/read/class/1",
	"/v1/read/class/3",
	"/v1/read/class/4",
	"/v1/read/class/x",
	"/v1/read/class/-x",
	"/v1/read/classes",
	"/v1/read/classes?limit=2",
	"/v1/read/classes?cursor=AQQAAAAAAAAAAgAAAAAAAAAA",
	"/v1/read/class/2/shapes",
	"/v1/read/class/1/shapes",
	"/v1/read/class/4/shapes",
	"/v1/read/class/1/stats",
	"/v1/read/class/2/stats",
	"/v1/read/class/3/stats",
	"/v1/read/class/4/stats",
	"/v1/read/freshness",
	"/v1/read/freshness?limit=1",
	"/v1/read/instance/1",
	"/v1/read/instance/2",
	"/v1/read/instance/3",
	"/v1/read/instance/4",
	"/v1/read/instance/6",
	"/v1/read/containers",
	"/v1/read/containers?owner=7",
	"/v1/read/containers?kind=Standard",
	"/v1/read/containers?owner=7&kind=Grid",
	"/v1/read/containers?kind=Bag",
	"/v1/read/containers?owner=0",
	"/v1/read/containers?limit=2",
	"/v1/read/commit/2",
	"/v1/read/commit/10",
	"/v1/read/commit/99",
	"/v1/read/commit/0",
	"/v1/read/commits?limit=2",
	"/v1/read/commits?after=2&limit=2",
	"/v1/read/commits?after=10",
	"/v1/read/commits?after=99",
	"/v1/read/commits?limit=1&cursor=AQYAAAAAAAAABAAAAAAAAAAA",
	"/v1/read/commits?after=-1",
	"/v1/read/class/1?min_seq=11",
	"/v1/read/class/1?min_seq=12",
	"/v1/read/class/1 X-Asset-Min-Seq: 12",
	"/v1/read/class/1?min_seq=11 X-Asset-Min-Seq: 12",
	"/v1/read/class/1?min_seq=-1",
	"/v1/read/class/1?wait=-1s",
	"/v1/read/class/99?min_seq=99",
	"/v1/read/class/-x?min_seq=99",
	"/v1/health",
	"/v1/nowhere",
	"/v1/read/container/1/",
	"/v1/read//classes",
}

// TestAnswers compares every response, byte by byte, with
// testdata/reads/answers.txt, which -update-reads rewrites.
func TestAnswers(t *testing.T) {
	const golden = "../../testdata/reads/answers.txt"
	for _, driver := range logDrivers {
		t.Run(driver.name, func(t *testing.T) {
			source, log := driver.open(t)
			w := newLedgerWriter(t, log)
			exampleLedger(w)
			r := startReader(t, source)
			var got bytes.Buffer
			for _, read := range exampleReads {
				target, header, _ := strings.Cut(read, " ")
				var headers []string
				if header != "" {
					headers = []string{header}
				}
				rec := r.do(http.MethodGet, target, headers...)
				fmt.Fprintf(&got, "GET %s\n%d", read, rec.Code)
				for _, name := range []string{"X-Asset-Seq", "ETag", "Retry-After"} {
					if v := rec.Header().Get(name); v != "" {
						fmt.Fprintf(&got, " %s: %s", name, v)
					}
				}
				fmt.Fprintf(&got, "\n%s\n\n", rec.Body)
				if !json.Valid(rec.Body.Bytes()) || rec.Header().Get("Content-Type") != "application/json" {
					t.Errorf("%s: the response is not JSON: %s", read, rec.Body)
				}
				checkHead(t, r, target, headers, rec.Code, rec.Body.Len())
			}
			if *updateReads && driver.name == "memory" {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// checkHead checks that HEAD has the status and length of GET, and no body.
func checkHead(t *testing.T, r *testReader, target string, headers []string, status, length int) {
	t.Helper()
	rec := r.do(http.MethodHead, target, headers...)
	if rec.Code != status || rec.Body.Len() != 0 || rec.Header().Get("Content-Length") != fmt.Sprint(length) {
		t.Errorf("HEAD %s: %d, %d bytes, Content-Length %s; GET had %d and %d bytes", target,
			rec.Code, rec.Body.Len(), rec.Header().Get("Content-Length"), status, length)
	}
}

// logDrivers are the logs that the read daemon is tested with.
var logDrivers = []struct {
	name string
	open func(t testing.TB) (commitlog.Source, interface{ Append(*wal.Frame) error })
}{
	{"memory", func(t testing.TB) (commitlog.Source, interface{ Append(*wal.Frame) error }) {
		m := newMemLog()
		return m, m
	}},
	{"file", func(t testing.TB) (commitlog.Source, interface{ Append(*wal.Frame) error }) {
		dir := t.TempDir()
		return commitlog.File{Dir: dir}, openWriter(t, dir)
	}},
}

// TestETagFollowsData checks that the tag changes if, and only if, the data
// does.
func TestETagFollowsData(t *testing.T) {
	source, log := logDrivers[1].open(t)
	w := newLedgerWriter(t, log)
	exampleLedger(w)
	r := startReader(t, source)
	targets := []string{"/v1/read/container/1", "/v1/read/container/1/balances", "/v1/read/container/3/slots", "/v1/read/container/4/grid",
		"/v1/read/class/1", "/v1/read/classes", "/v1/read/class/2/shapes", "/v1/read/class/1/stats", "/v1/read/instance/1", "/v1/read/containers",
		"/v1/read/commit/1", "/v1/read/commits", "/v1/read/commits?limit=1", "/v1/read/freshness"}
	type seen struct{ tag, data string }
	before := map[string]seen{}
	look := func(target string) seen {
		rec := r.do(http.MethodGet, target)
		data := rec.Body.String()
		if target != "/v1/read/freshness" {
			data = data[:strings.Index(data, `,"freshness"`)]
		}
		return seen{rec.Header().Get("ETag"), data}
	}
	for _, target := range targets {
		before[target] = look(target)
	}
	changed := map[string]int{}
	for _, op := range []string{"AddFungible container_id=9223372036854775807 class_id=3 key=0 quantity=1",
		"RemoveFungible container_id=1 class_id=1 key=0 quantity=1", "AddFungible container_id=1 class_id=1 key=0 quantity=1",
		"PlaceInSlot container_id=3 slot_index=0 instance_id=6", "MoveInGrid container_id=4 x=0 y=0 to_x=5 to_y=0",
		"RegisterClass class_id=9 name=New", "CreateContainer container_id=9 kind=Standard", "Detach instance_id=3",
		"RegisterClassShape class_id=2 key=9 width=1 height=1"} {
		r.until(w.commit(op))
		for _, target := range targets {
			now, was := look(target), before[target]
			if (now.tag == was.tag) != (now.data == was.data) {
				t.Errorf("%s of %s: the tag went from %s to %s, the data from %s to %s", op, target, was.tag, now.tag, was.data, now.data)
			}
			if now.tag != was.tag {
				changed[target]++
			}
			before[target] = now
			rec := r.do(http.MethodGet, target, `If-None-Match: "x", W/`+now.tag)
			if rec.Code != 304 || rec.Body.Len() != 0 || rec.Header().Get("ETag") != now.tag || rec.Header().Get("X-Asset-Seq") != fmt.Sprint(w.state.Seq()) {
				t.Errorf("%s, not modified: %d %q %v", target, rec.Code, rec.Body, rec.Header())
			}
		}
	}
	want := map[string]int{"/v1/read/container/1": 2, "/v1/read/container/1/balances": 2, "/v1/read/container/3/slots": 1, "/v1/read/container/4/grid": 1,
		"/v1/read/classes": 1, "/v1/read/class/2/shapes": 1, "/v1/read/class/1/stats": 2, "/v1/read/instance/1": 1, "/v1/read/containers": 1,
		"/v1/read/commits": 9, "/v1/read/freshness": 9}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
