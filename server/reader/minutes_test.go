package reader

import (
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// TestMinutes compares the count of each minute with the times of all commits,
// as the last hour moves past them.
func TestMinutes(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("CreateContainer container_id=1 kind=Standard", "RegisterClass class_id=1 name=Gold")
	var made []time.Time // time of each commit; batches are one second apart
	for i := range 400 {
		bodies := slices.Repeat([]string{transactionOf(t, "AddFungible container_id=1 class_id=1 key=0 quantity=1")}, 1+i%5)
		w.batch(bodies...)
		for range bodies {
			made = append(made, time.Unix(0, testTime+int64(i+1)*int64(time.Second)))
		}
	}
	made = append([]time.Time{time.Unix(0, testTime)}, made...)
	var clock atomic.Int64
	clock.Store(testTime)
	r := startReader(t, log, func(d *daemon) { d.tail.now = func() time.Time { return time.Unix(0, clock.Load()) } })
	r.until(w.state.Seq())
	for _, after := range []time.Duration{0, 90 * time.Second, 7 * time.Minute, 58 * time.Minute, 62 * time.Minute, 3 * time.Hour} {
		now := time.Unix(0, testTime).Add(after)
		clock.Store(now.UnixNano())
		var got struct {
			Data struct {
				From    time.Time
				Commits []int
			}
		}
		if err := json.Unmarshal([]byte(r.get(200, "/v1/read/minutes")), &got); err != nil {
			t.Fatal(err)
		}
		from := now.Truncate(time.Minute).Add(-59 * time.Minute)
		want := make([]int, 60)
		for _, at := range made {
			if !at.Before(from) {
				want[min(int(at.Sub(from)/time.Minute), 59)]++ // commits ahead of the clock count in the last minute
			}
		}
		if !got.Data.From.Equal(from) || !slices.Equal(got.Data.Commits, want) {
			t.Errorf("after %v: %+v, want %v %v", after, got.Data, from, want)
		}
	}
}
