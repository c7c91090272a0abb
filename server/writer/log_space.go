package writer

import (
	"math"
	"sync"
	"syscall"
	"time"

	"assetledger/wal"
)

// A logRate measures how fast the log grows, by the bytes of the previous minute
// and of the current one so far. The rate moves smoothly, forgets after two
// minutes, and costs one addition for each batch.
type logRate struct {
	mu            sync.Mutex
	total         uint64
	began         time.Time // of the present minute
	earlier, last float64   // bytes in the minute before, and in the present one
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

// turn begins a new window when the present one is over.
func (r *logRate) turn() {
	switch past := r.now().Sub(r.began); {
	case past >= 2*rateWindow:
		r.earlier, r.last, r.began = 0, 0, r.now()
	case past >= rateWindow:
		r.earlier, r.last, r.began = r.last, 0, r.began.Add(rateWindow)
	}
}

// perSecond returns the growth in bytes a second: of the current window, and of
// as much of the previous one as completes a whole window.
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

// spaceGauges adds the gauges of the log's free space. A log that fills no disk of this machine has none.
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
	g.GaugeFunc(metricPrefix+"log_disk_free_bytes", "Free space on the filesystem of the log, for a user without privileges, in bytes.", func() float64 { return diskFree(path) })
	g.GaugeFunc(metricPrefix+"log_segment_free_bytes", "Room in the present segment of the log, in bytes.", free)
	g.GaugeFunc(metricPrefix+"log_next_segment_seconds", "Time until the next segment is begun, at the growth of the last minute, in seconds; +Inf while nothing is written.",
		func() float64 { return secondsLeft(free(), rate.perSecond()) })
}

func secondsLeft(bytes, perSecond float64) float64 {
	if perSecond <= 0 {
		return math.Inf(1)
	}
	return bytes / perSecond
}

// diskFree returns the free bytes of a path's filesystem, NaN if unknown.
func diskFree(path string) float64 {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return math.NaN()
	}
	return float64(s.Bavail) * float64(s.Bsize)
}

// grew records a batch that is in the log.
func (m *meters) grew(f *wal.Frame) { m.growth.add(wal.FrameSize(len(f.Body))) }
