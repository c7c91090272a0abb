package writer

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestLogRate(t *testing.T) {
	now := time.Unix(1000, 0)
	r := newLogRate(func() time.Time { return now })
	for _, c := range []struct {
		after time.Duration
		add   int64
		rate  float64
	}{
		{0, 0, 0},
		{0, 6000, 100},
		{30 * time.Second, 0, 100},
		{30 * time.Second, 0, 100},              // a new window: the previous one counts in full
		{30 * time.Second, 0, 50},               // half of the previous window
		{0, 3000, 100},                          // plus the growth since
		{45 * time.Second, 0, 3000 * 0.75 / 60}, // the next window
		{10 * time.Minute, 0, 0},                // everything is forgotten
		{0, 60, 1},
	} {
		now = now.Add(c.after)
		if c.add > 0 {
			r.add(c.add)
		}
		if got := r.perSecond(); math.Abs(got-c.rate) > 1e-9 {
			t.Errorf("%+v: %v bytes a second, want %v", c, got, c.rate)
		}
	}
	if got := r.bytes(); got != 9060 {
		t.Errorf("%v bytes in all, want 9060", got)
	}
	if got := secondsLeft(100, 50); got != 2 {
		t.Errorf("100 bytes at 50 per second last %v s, want 2", got)
	}
	if got := secondsLeft(100, 0); !math.IsInf(got, 1) {
		t.Errorf("100 bytes without growth last %v s, want +Inf", got)
	}
}

// metric returns the value of one of the write daemon's metrics.
func metric(t *testing.T, w *runningWriter, name string) float64 {
	t.Helper()
	_, rest, ok := strings.Cut(w.do("GET", "/v1/metrics", "").body, "\n"+metricPrefix+name+" ")
	line, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(line, 64)
	if !ok || err != nil {
		t.Fatalf("the metric %s has the value %q: %v", name, line, err)
	}
	return v
}

// TestSpaceMetrics checks that the free space in the segment shrinks by as much as
// the log grows, and that the other metrics of space have plausible values.
func TestSpaceMetrics(t *testing.T) {
	w := runWriter(t, t.TempDir())
	defer w.end()
	room := metric(t, w, "log_segment_free_bytes")
	w.post(200, "/v1/commit", world)
	w.post(200, "/v1/commit", transferTx(1, ""))
	grown := metric(t, w, "log_bytes_total")
	if left := metric(t, w, "log_segment_free_bytes"); grown <= 0 || room-left != grown {
		t.Errorf("the log grew by %v bytes, and the room in the segment went from %v to %v", grown, room, left)
	}
	if s := metric(t, w, "log_next_segment_seconds"); !(s > 0) || math.IsInf(s, 1) {
		t.Errorf("%v seconds to the next segment, want a positive number", s)
	}
	if free := metric(t, w, "log_disk_free_bytes"); !(free > 0) {
		t.Errorf("%v bytes of the disk are free, want more than 0", free)
	}
	if n := metric(t, w, "readers"); n != 0 {
		t.Errorf("%v readers, want 0", n)
	}
}
