package reader

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/reader/history"
	"assetledger/server/servertest"
	"assetledger/wal"
)

// historyFrames makes batches of 1,000 transfers between random containers;
// each tenth takes from container 1.
func historyFrames(b *testing.B, containers, commits int) []*wal.Frame {
	log := &frameList{}
	w := newLedgerWriter(b, log)
	w.commit("RegisterClass class_id=1 name=Gold")
	for id := 1; id <= containers; id += 1000 {
		var words []string
		for i := id; i < min(id+1000, containers+1); i++ {
			words = append(words, fmt.Sprintf("CreateContainer container_id=%d kind=Standard", i), fmt.Sprintf("AddFungible container_id=%d class_id=1 key=0 quantity=1000000000", i))
		}
		w.commit(words...)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for n := 0; n < commits; n += 1000 {
		var batch []string
		for i := range 1000 {
			from := 1
			if i%10 != 0 {
				from = 2 + r.IntN(containers-1)
			}
			to := 2 + (from+r.IntN(containers-2))%(containers-1)
			if to == from {
				to = 2 + (to-1)%(containers-1)
			}
			batch = append(batch, fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":1,"key":0,"quantity":%d}}]}`, from, to, 1+r.IntN(1000)))
		}
		w.batch(batch...)
	}
	return log.frames
}

type frameList struct{ frames []*wal.Frame }

func (l *frameList) Append(f *wal.Frame) error {
	l.frames = append(l.frames, f)
	return nil
}

// BenchmarkHistory asks a read daemon for histories and the past, over a log
// of 400,000 transfers between 100,000 containers, one of which has 40,000.
func BenchmarkHistory(b *testing.B) {
	const containers, commits = 100_000, 400_000
	frames := historyFrames(b, containers, commits)
	dir := b.TempDir()
	log := openWriter(b, dir)
	for _, f := range frames {
		if err := log.Append(f); err != nil {
			b.Fatal(err)
		}
	}
	d := startReader(b, commitlog.File{Dir: dir}, func(d *daemon) { d.tail.index = historyIndex(dir) })
	d.proj.mu.Lock()
	d.tail.index.Cut()
	d.proj.mu.Unlock()
	if _, err := d.tail.index.Flush(); err != nil {
		b.Fatal(err)
	}
	m := &d.tail.index.Meter
	first := uint64(len(frames)) - commits/1000
	r := rand.New(rand.NewPCG(2, 2))
	anyone := func() int { return 2 + r.IntN(containers-1) }
	for _, c := range []struct {
		name   string
		target func() string
	}{
		{"newest100", func() string { return fmt.Sprintf("/v1/read/container/%d/history?limit=100", anyone()) }},
		{"balancesAt", func() string {
			return fmt.Sprintf("/v1/read/container/%d/balances?at_seq=%d", anyone(), first+r.Uint64N(commits))
		}},
		{"newest100OfBusy", func() string { return "/v1/read/container/1/history?limit=100" }},
		{"balancesAtOfBusy", func() string {
			return fmt.Sprintf("/v1/read/container/1/balances?at_seq=%d", first+r.Uint64N(commits))
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			sink := servertest.NewSink()
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				d.api.ServeHTTP(sink, httptest.NewRequest("GET", c.target(), nil))
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
			b.ReportMetric(float64(m.Bytes.Load())/float64(2*commits+2*containers), "index-B/change")
		})
	}
}

// BenchmarkFollow applies batches of transfers with the history index and without,
// in turns, and compares the processor time of the goroutine that applies them: what
// links the index runs beside it.
func BenchmarkFollow(b *testing.B) {
	const containers, commits = 100_000, 200_000
	frames := historyFrames(b, containers, commits)
	setup := len(frames) - commits/1000
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	follow := func(indexed bool) time.Duration {
		p := newProjection(0)
		if indexed {
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			x := historyIndex("")
			p.keepIndex(x, wal.LogID{}, wal.Place{})
			x.Run(ctx)
		}
		var begun time.Duration
		for i, f := range frames {
			if i == setup {
				begun = threadTime(b)
			}
			if err := p.apply(f, endless); err != nil {
				b.Fatal(err)
			}
		}
		took := threadTime(b) - begun
		if indexed {
			p.index.Link()
		}
		return took
	}
	best := map[bool]time.Duration{false: time.Hour, true: time.Hour}
	for b.Loop() {
		for _, indexed := range []bool{false, true} {
			best[indexed] = min(best[indexed], follow(indexed))
		}
	}
	b.ReportMetric(float64(best[false].Nanoseconds())/commits, "plain-ns/commit")
	b.ReportMetric(float64(best[true].Nanoseconds())/commits, "indexed-ns/commit")
	b.ReportMetric(float64(best[true])/float64(best[false]), "ratio")
}

// threadTime is the processor time that the calling thread has taken.
func threadTime(b *testing.B) time.Duration {
	const thisThread = 1 // RUSAGE_THREAD of Linux
	var u syscall.Rusage
	if err := syscall.Getrusage(thisThread, &u); err != nil {
		b.Skip("needs Linux, for the time of a thread:", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func historyIndex(dir string) *history.Index {
	return history.New(history.Config{Dir: dir, Source: commitlog.File{Dir: dir}, Log: slog.New(slog.DiscardHandler)})
}
