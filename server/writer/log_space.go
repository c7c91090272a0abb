package writer

import (
	"math"
	"sync"
	"time"

	"assetledger/wal"
)

// A logRate measures how fast the log grows, from the bytes of the current minute
// and of the previous one. The rate changes smoothly, and bytes count for at most two
// minutes. Measuring costs a few additions for each batch.
type logRate struct {
	mu            sync.Mutex
	total         uint64
	began         time.Time // start of the current minute
	earlier, last float64   // bytes in the previous minute and in the current one
	now           func() time.Time
}

const rateWindow = time.Minute

func newLogRate(now func() time.Time) *logRate { return &logRate{began: now(), now: now} }

// add counts bytes that were written.
func (r *logRate) add(bytes int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	r.last += float64(bytes)
	r.total += uint64(bytes)
}

// turn begins a new minute when the current one is over.
func (r *logRate) turn() {
	switch past := r.now().Sub(r.began); {
	case past >= 2*rateWindow:
		r.earlier, r.last, r.began = 0, 0, r.now()
	case past >= rateWindow:
		r.earlier, r.last, r.began = r.last, 0, r.began.Add(rateWindow)
	}
}

// perSecond returns the growth in bytes per second over one minute: the current
// minute so far, and a share of the previous minute for the rest.
func (r *logRate) perSecond() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn()
	part := min(float64(r.now().Sub(r.began))/float64(rateWindow), 1)
	return (r.earlier*(1-part) + r.last) / rateWindow.Seconds()
}

func (r *logRate) bytes() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.total)
}

// spaceGauges registers the metrics of the log's size and of its free space. A log
// that is not stored on this machine has no metrics of free space.
func (d *daemon) spaceGauges() {
	rate, g := d.meters.growth, &d.registry
	g.CounterFunc(metricPrefix+"log_bytes_total", "Bytes of batches that the log has made durable.", rate.bytes)
	_, path := d.log().Space()
	if path == "" {
		return
	}
	free := func() float64 {
		n, _ := d.log().Space()
		return float64(n)
	}
	g.GaugeFunc(metricPrefix+"log_disk_free_bytes", "Free space on the filesystem of the log, for a user without privileges, in bytes.", func() float64 { return wal.DiskFree(path) })
	g.GaugeFunc(metricPrefix+"log_segment_free_bytes", "Free space in the current segment of the log, in bytes.", free)
	g.GaugeFunc(metricPrefix+"log_next_segment_seconds", "Time until the next segment begins, at the growth rate of the last minute, in seconds; +Inf while nothing is written.",
		func() float64 { return secondsLeft(free(), rate.perSecond()) })
}

func secondsLeft(bytes, perSecond float64) float64 {
	if perSecond <= 0 {
		return math.Inf(1)
	}
	return bytes / perSecond
}

// grew records a batch that is in the log.
func (m *meters) grew(f *wal.Frame) { m.growth.add(wal.FrameSize(len(f.Body))) }
