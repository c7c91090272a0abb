package reader

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/reader/history"
	"assetledger/server/servertest"
	"assetledger/wal"
)

// historyFrames returns the batches of a log that creates containers and then makes
// transfers between random ones, 1,000 in a batch. Every tenth transfer takes from
// container 1.
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

// BenchmarkHistory reads histories and past states from a log of 400,000 transfers
// between 100,000 containers. One container is the source of 40,000 of the transfers.
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
			timeReads(b, d, c.target)
			b.ReportMetric(float64(m.Bytes.Load())/float64(2*commits+2*containers), "index-B/change")
		})
	}
}

// BenchmarkLongHistory reads past states of a container with 2,000,000 changes, and
// the history of one of its stacks, which has not changed since the first commit.
func BenchmarkLongHistory(b *testing.B) {
	const commits, each = 40_000, 50
	dir := b.TempDir()
	log := openWriter(b, dir)
	w := newLedgerWriter(b, log)
	w.commit("RegisterClass class_id=1 name=Gold", "RegisterClass class_id=2 name=Iron", "CreateContainer container_id=1 kind=Standard",
		"AddFungible container_id=1 class_id=2 key=0 quantity=7")
	op := `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":3}}`
	tx := `{"operations":[` + strings.Repeat(op+",", each-1) + op + `]}`
	for range commits / 100 {
		w.batch(slices.Repeat([]string{tx}, 100)...)
	}
	d := startReader(b, commitlog.File{Dir: dir}, func(d *daemon) { d.tail.index = historyIndex(dir) })
	for _, where := range []string{"inMemory", "inFiles"} {
		if where == "inFiles" {
			d.proj.mu.Lock()
			d.tail.index.Cut()
			d.proj.mu.Unlock()
			if _, err := d.tail.index.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(3, 3))
		for name, path := range map[string]string{"balancesAt": "balances?at_seq=", "rareNewest": "history?class_id=2&to_seq="} {
			b.Run(name+"/"+where, func(b *testing.B) {
				timeReads(b, d, func() string { return fmt.Sprintf("/v1/read/container/1/%s%d", path, 2+r.IntN(commits)) })
			})
		}
	}
}

// timeReads reports the 99th percentile of the duration of reads.
func timeReads(b *testing.B, d *testReader, target func() string) {
	sink := servertest.NewSink()
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		d.api.ServeHTTP(sink, httptest.NewRequest("GET", target(), nil))
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// A cost is what it takes to follow the log: elapsed time, CPU time of the
// goroutine that applies batches, and CPU time of the whole process.
type cost struct{ wall, thread, process time.Duration }

func costNow(b *testing.B) cost {
	return cost{time.Duration(time.Now().UnixNano()), usedTime(b, thisThread), usedTime(b, syscall.RUSAGE_SELF)}
}

// least returns the minimum of each field.
func (c cost) least(o cost) cost {
	return cost{min(c.wall, o.wall), min(c.thread, o.thread), min(c.process, o.process)}
}

func (c cost) since(o cost) cost {
	return cost{c.wall - o.wall, c.thread - o.thread, c.process - o.process}
}

// BenchmarkFollow applies batches of transfers alternately with and without the
// history index, and compares the lowest costs. Meanwhile, the index writes its files
// in another goroutine. process-ratio includes all goroutines.
func BenchmarkFollow(b *testing.B) {
	for _, of := range []struct{ containers, commits int }{{100_000, 1_000_000}, {1_000_000, 2_000_000}} {
		b.Run(fmt.Sprintf("%dcontainers", of.containers), func(b *testing.B) {
			frames := historyFrames(b, of.containers, of.commits)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			without, with := followOnce(b, frames, of.commits, false), followOnce(b, frames, of.commits, true)
			for b.Loop() {
				without = without.least(followOnce(b, frames, of.commits, false))
				with = with.least(followOnce(b, frames, of.commits, true))
			}
			b.ReportMetric(float64(without.thread)/float64(of.commits), "plain-ns/commit")
			b.ReportMetric(float64(with.thread)/float64(of.commits), "indexed-ns/commit")
			b.ReportMetric(float64(with.thread)/float64(without.thread), "ratio")
			b.ReportMetric(float64(with.wall)/float64(without.wall), "wall-ratio")
			b.ReportMetric(float64(with.process)/float64(without.process), "process-ratio")
		})
	}
}

// followOnce returns what it costs to apply the transfers: the given number of commits
// at the end of frames.
func followOnce(b *testing.B, frames []*wal.Frame, commits int, indexed bool) cost {
	p := newProjection(0)
	var x *history.Index
	ctx, stop := context.WithCancel(b.Context())
	written := func() {
		if indexed {
			p.mu.Lock()
			x.Cut()
			p.mu.Unlock()
			if _, err := x.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if indexed {
		x = historyIndex(b.TempDir())
		p.keepIndex(x, wal.LogID{}, wal.Place{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			x.Run(ctx)
			x.Close()
		}()
		defer func() { <-done }()
		for x.Ready() != nil {
			runtime.Gosched()
		}
	}
	defer stop()
	apply := func(frames []*wal.Frame) {
		for _, f := range frames {
			if err := p.apply(f, endless); err != nil {
				b.Fatal(err)
			}
			if indexed {
				x.Await(ctx)
			}
		}
	}
	setup := len(frames) - commits/1000
	apply(frames[:setup])
	written()
	runtime.GC()
	begun := costNow(b)
	apply(frames[setup:])
	c := costNow(b).since(begun)
	written()
	c.process = usedTime(b, syscall.RUSAGE_SELF) - begun.process
	return c
}

const thisThread = 1 // RUSAGE_THREAD of Linux

// usedTime returns the CPU time used by the thread or the process.
func usedTime(b *testing.B, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Skip("needs Linux, for the time of a thread:", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func historyIndex(dir string) *history.Index {
	return history.New(history.Config{Dir: dir, Source: commitlog.File{Dir: dir}, Log: slog.New(slog.DiscardHandler)})
}
