package reader

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// untilBatches returns the transactions of each batch. Every read shows some of their
// effects.
func untilBatches(t *testing.T) [][]string {
	tx := func(words ...string) string { return transactionOf(t, words...) }
	return [][]string{
		{tx("RegisterClass class_id=1 name=gold code=G", "RegisterClass class_id=2 name=sword fungible=false", "RegisterClassShape class_id=1 width=1 height=1"),
			tx("CreateContainer container_id=1 kind=Standard owner=7 name=purse", "CreateContainer container_id=2 kind=Slots slot_count=4"),
			tx("CreateContainer container_id=3 kind=Grid grid_width=4 grid_height=4")},
		{tx("AddFungible container_id=1 class_id=1 key=0 quantity=100"), tx("TransferFungible from_container=1 to_container=3 class_id=1 key=0 quantity=30 x=2 y=1"),
			tx("HoldFungible hold_id=9 container_id=1 class_id=1 key=0 quantity=20"), tx("MintInstance class_id=2 key=1 container_id=2 slot_index=3")},
		{tx("RenameContainer container_id=1 name=wallet")},
		{tx("SettleHold hold_id=9 to_container=3 quantity=5"), tx("BurnInstance instance_id=1", "RemoveFungible container_id=1 class_id=1 key=0 quantity=65"),
			tx("RemoveContainer container_id=1")},
	}
}

// untilReads are the reads whose responses must not depend on whether the log ends
// at the stopping point or continues.
var untilReads = []string{"freshness", "container/1", "container/2", "container/3", "container/1/balances", "container/1/holds", "container/2/slots", "container/3/grid",
	"container/wallet", "containers", "containers?prefix=", "class/G", "classes", "class/1/shapes", "class/1/stats", "class/1/holders", "class/2/instances", "hold/9",
	"instance/1", "commit/1", "commit/5", "commit/9", "commits", "commits?order=newest", "commits?before=5", "container/1/history", "container/3/history?order=oldest",
	"container/1?at_seq=4", "container/1/balances?at_seq=9", "container/3/grid?at_time=2100-01-01T00:00:00Z", "container/1?at_time=2023-11-14T22:13:21Z", "containers?min_seq=6", "containers?min_seq=11"}

// answers returns the statuses, ETags and bodies of all reads in untilReads.
func (r *testReader) answers() (all []string) {
	for _, path := range untilReads {
		rec := r.do(http.MethodGet, "/v1/read/"+path)
		body := rec.Body.String()
		if path == "freshness" {
			body = strings.ReplaceAll(body, `"lag_ms":0`, "")
		}
		all = append(all, fmt.Sprintf("%s %d %s %s", path, rec.Code, rec.Header().Get("Etag"), body))
	}
	return all
}

// TestUntil checks that a daemon that stops after a commit, or at a time, answers
// every read like a daemon whose log ended there. This holds in the middle of a
// batch too, and whatever is committed later.
func TestUntil(t *testing.T) {
	t.Parallel()
	batches := untilBatches(t)
	log := newMemLog()
	w := newLedgerWriter(t, log)
	seq := 0
	for _, b := range batches {
		w.batch(b...)
		seq += len(b)
	}
	then := func(last int) *testReader {
		log := newMemLog()
		w := newLedgerWriter(t, log)
		for _, b := range batches {
			if n := min(last, len(b)); n > 0 {
				w.batch(b[:n]...)
			}
			last -= len(b)
		}
		r := startReader(t, log)
		r.until(w.state.Seq())
		return r
	}
	stopping := func(u Until) *testReader { return startReader(t, log, func(d *daemon) { d.tail.until = u }) }
	for n := range seq + 1 {
		r := stopping(Until{bySeq: true, seq: uint64(n)})
		if d := cmp.Diff(then(n).answers(), r.answers()); d != "" {
			t.Errorf("-until %d (-want +got): %s", n, d)
		}
		if health := r.get(http.StatusOK, "/v1/health"); !strings.Contains(health, fmt.Sprintf(`"lag":0},"until":%d}`, n)) {
			t.Errorf("-until %d: health is %s, want no lag, and until", n, health)
		}
	}
	at := func(batch int, more time.Duration) int64 {
		return testTime + int64(batch)*int64(time.Second) + int64(more)
	}
	for _, c := range []struct {
		time int64
		seq  int
	}{{at(0, -1), 0}, {at(0, 0), 3}, {at(1, -1), 3}, {at(1, 0), 7}, {at(2, 5), 8}} {
		r := stopping(Until{byTime: true, time: c.time})
		if d := cmp.Diff(then(c.seq).answers(), r.answers()); d != "" {
			t.Errorf("-until-time %d (-want +got): %s", c.time, d)
		}
		want := fmt.Sprintf(`"until":%d,"until_time":"%s"}`, c.seq, time.Unix(0, c.time).UTC().Format(time.RFC3339Nano))
		if health := r.get(http.StatusOK, "/v1/health"); !strings.Contains(health, want) {
			t.Errorf("%s, want %s", health, want)
		}
	}
}

// TestUntilLater checks that a daemon whose stopping point is in the future follows
// the log up to it, and no further.
func TestUntilLater(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	batches := untilBatches(t)
	w.batch(batches[0]...)
	bySeq := startReader(t, log, func(d *daemon) { d.tail.until = Until{bySeq: true, seq: 5} })
	byTime := startReader(t, log, func(d *daemon) { d.tail.until = Until{byTime: true, time: testTime + int64(time.Second)} })
	if health := byTime.get(http.StatusOK, "/v1/health"); strings.Contains(health, `"until":`) || !strings.Contains(health, `"until_time":"`) {
		t.Errorf("health: %s, want until_time and not yet until", health)
	}
	before := bySeq.tail.untilNote()
	for _, b := range batches[1:] {
		w.batch(b...)
	}
	bySeq.until(5)
	byTime.until(7)
	for r, want := range map[*testReader]string{bySeq: "5", byTime: "7"} {
		for r.tail.lastSeq() == endless { // until it has seen the first batch after the stopping point
			log.change(func() {})
		}
		if body := r.get(http.StatusOK, "/v1/read/freshness"); !strings.Contains(body, `"lag":0,`) || !strings.Contains(body, `{"checkpoint_seq":`+want+`,"commit_log_seq":`+want+`}`) {
			t.Errorf("%s, want no lag at commit %s", body, want)
		}
		r.get(http.StatusTooEarly, "/v1/read/containers?min_seq=8")
		if note := r.tail.untilNote(); !strings.Contains(note, "as it was after commit "+want+".") || note == before {
			t.Errorf("the note is %q, and was %q; want it to name commit %s", note, before, want)
		}
	}
}
