package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// rows returns all rows of the table, in its order.
func rows() []row {
	return []row{singlesRow, latencyRow, batchRow, streamRow, streamPeersRow, besideRow, readsRow, historyRow, visibilityRow, mirrorRow, clusterRow, clusterSeenRow, replayRow, memoryRow, growthRow, pagingRow, cutRow, checkpointRow, overloadRow}
}

const (
	connections = 64
	accounts    = 10_000
)

// pressed returns a probe of how many requests per second are answered with 200.
// If a process is given, it also measures that process's CPU time per request,
// which other work on the machine disturbs less.
func (b *bench) pressed(name string, p *process, l load, connections int) probe {
	var each float64
	probe := probe{name: name, unit: "req/s", measure: func() (float64, error) {
		before := 0.0
		if p != nil {
			before = p.processor()
		}
		o, err := b.press(l, connections, b.slice)
		if err != nil {
			return 0, err
		}
		if p != nil {
			each = (p.processor() - before) / float64(max(1, o.ok)) * 1e6
		}
		return o.rate(), o.check()
	}}
	if p != nil {
		probe.more = []derived{{name + processorOf, "µs", func() float64 { return each }}}
	}
	return probe
}

// processorOf is the suffix for the name of a probe of CPU time per request.
const processorOf = ": processor time per request"

const (
	bareDefault = "bare POST"
	bareTuned   = "bare POST, GOGC=200"
	commitAlone = "commit"
	commitRead  = "commit, with a read daemon following"
	etcdPut     = "etcd put"
)

var singlesRow = row{
	name: "singles", what: "single-operation commits over HTTP, 64 connections, each durable before its response",
	setup: func(b *bench) ([]probe, error) {
		bare, err := b.bare()
		if err != nil {
			return nil, err
		}
		os.Setenv("GOGC", "200")
		tuned, err := b.bare()
		os.Unsetenv("GOGC")
		if err != nil {
			return nil, err
		}
		alone, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		followed, err := b.followedWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		bodies := singles(accounts)
		probes := []probe{
			b.pressed(bareDefault, bare, posts(bare.url, "/v1/commit", bodies), connections),
			b.pressed(commitAlone, alone.write, posts(alone.write.url, "/v1/commit", bodies), connections),
			b.pressed(bareTuned, tuned, posts(tuned.url, "/v1/commit", bodies), connections),
			b.pressed(commitRead, followed.write, posts(followed.write.url, "/v1/commit", bodies), connections),
		}
		puts, err := b.etcd()
		if err != nil {
			return nil, err
		}
		probes = append(probes, puts...)
		postgres, err := b.postgres(16, 64)
		if err != nil {
			return nil, err
		}
		redis, err := b.redis(redisLoad{16, 1}, redisLoad{64, 1})
		return append(append(probes, postgres...), redis...), err
	},
	goals: []goal{
		{what: "commit / bare POST", of: ratio(commitAlone, bareDefault), bound: 0.66},
		{what: "commit / bare POST with the daemon's GOGC", of: ratio(commitAlone, bareTuned), bound: 0.66},
		{what: "commit / PostgreSQL", of: func(v values) float64 {
			return v.get(commitAlone) / math.Max(v.get("PostgreSQL, 16 clients"), v.get("PostgreSQL, 64 clients"))
		}, bound: 5},
		{what: "commit / etcd", of: ratio(commitAlone, etcdPut), bound: 5},
	},
}

const (
	bareOne    = "bare POST, p50"
	syncOne    = "write and fdatasync of 4 KiB, p50"
	commitOne  = "commit, p50"
	durableOne = "bare POST that writes and syncs, p50"
)

// syncFile is the size, in bytes, of files in which single blocks are synced.
const syncFile = 64 << 20

var latencyRow = row{
	name: "latency", what: "one client, one commit at a time",
	setup: func(b *bench) ([]probe, error) {
		bare, err := b.bare()
		if err != nil {
			return nil, err
		}
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		file, err := zeroFile(filepath.Join(b.dir, "sync"), syncFile)
		if err != nil {
			return nil, err
		}
		bodies := singles(accounts)
		p50 := func(l load) func() (float64, error) {
			return func() (float64, error) { return micros50(l.drive(b.ctx, 1, b.slice)) }
		}
		commits := posts(p.write.url, "/v1/commit", bodies)
		return []probe{
			{name: bareOne, unit: "µs", measure: p50(posts(bare.url, "/v1/commit", bodies))},
			{name: commitOne, unit: "µs", measure: func() (float64, error) { return b.pictured(p.write, func() (float64, error) { return p50(commits)() }) }},
			{name: durableOne, unit: "µs", measure: p50(posts(bare.url, "/v1/durable", bodies))},
			{name: syncOne, unit: "µs", measure: func() (float64, error) { return syncTime(file, b.slice) }},
		}, nil
	},
	// A sync takes longer if the machine has been idle since the last sync, as it is
	// between two requests. So the second goal compares syncs at the same pace.
	goals: []goal{
		{what: "commit / (bare + one write and fdatasync)", of: func(v values) float64 {
			return v.get(commitOne) / (v.get(bareOne) + v.get(syncOne))
		}, atMost: true, bound: 1.3},
		{what: "commit / bare that writes and syncs", of: ratio(commitOne, durableOne), atMost: true, bound: 1.3},
	},
}

// micros50 returns the p50 of an outcome in µs.
func micros50(o *outcome, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return float64(o.p50.Nanoseconds()) / 1e3, o.check()
}

// zeroFile returns a file with all blocks written, like those of a segment.
func zeroFile(name string, size int64) (*os.File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	zeroes := make([]byte, 1<<20)
	for off := int64(0); off < size; off += int64(len(zeroes)) {
		if _, err := f.WriteAt(zeroes, off); err != nil {
			return nil, err
		}
	}
	return f, f.Sync()
}

// syncTime returns the median time of writing and syncing 4 KiB, in µs.
func syncTime(f *os.File, d time.Duration) (float64, error) {
	w := &blockWriter{file: f}
	var times []float64
	var err error
	pinToThread(func() {
		end := time.Now().Add(d)
		for err == nil {
			start := time.Now()
			if !start.Before(end) {
				return
			}
			err = w.next()
			times = append(times, float64(time.Since(start).Nanoseconds())/1e3)
		}
	})
	return median(times), err
}

const (
	batchSize = 8190
	batched   = "transfers in batches, durable"
)

var batchRow = row{
	name: "batch", what: "commit/batch, 8,190 independent one-transfer transactions a request, 10,000 containers, one connection",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		bare, err := b.bare()
		if err != nil {
			return nil, err
		}
		return []probe{
			b.batched(batched, p.write, accounts),
			b.pressed(bareDefault, bare, posts(bare.url, "/v1/commit", singles(accounts)), connections),
		}, nil
	},
	goals: []goal{
		{what: "transfers / bare POSTs of 64 connections", of: ratio(batched, bareDefault), bound: 8},
		{what: "the same, stretch", of: ratio(batched, bareDefault), bound: 13},
	},
}

// batched returns a probe of the transfers per second in batch requests. It
// also measures the daemon's CPU time per transfer.
func (b *bench) batched(name string, p *process, containers int) probe {
	l := batches(p.url, containers)
	var each float64
	return probe{name: name, unit: "transfers/s", measure: func() (float64, error) {
		before := p.processor()
		o, err := l.drive(b.ctx, 1, b.slice)
		if err != nil {
			return 0, err
		}
		each = (p.processor() - before) / float64(max(1, o.ok)*batchSize) * 1e6
		return o.rate() * batchSize, o.check()
	}, more: []derived{{name + ": processor time per transfer", "µs", func() float64 { return each }}}}
}

// batches returns a few different batch requests with transfers among n containers.
func batches(url string, n int) load {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	bodies := make([]string, 8)
	for i := range bodies {
		bodies[i] = string(transfers(r, batchSize, n))
	}
	return posts(url, "/v1/commit/batch", bodies)
}

// noCheckpoints disables checkpoints in a read daemon, so that the whole log is
// replayed.
var noCheckpoints = []string{"-checkpoint-every", "0"}

const (
	replayWrite = "replay, write daemon"
	replayRead  = "replay, read daemon"
	replayLog   = "the same commits in batches, durable"
	older       = ", older version"
)

var replayRow = row{
	name: "replay", what: "replay of a log of one-transfer commits, both daemons",
	setup: func(b *bench) ([]probe, error) {
		probes, err := b.replays(b.bin, "")
		if err != nil {
			return nil, err
		}
		if b.before == "" {
			b.skip("replay by an older version", "-before, the directory with its programs, is not set")
			return probes, nil
		}
		more, err := b.replays(b.before, older)
		return append(probes, more...), err
	},
	goals: []goal{
		{what: "write daemon / the same commits in batches", of: ratio(replayWrite, replayLog), bound: 2.2},
		{what: "read daemon / the same commits in batches", of: ratio(replayRead, replayLog), bound: 2.2},
		{what: "write daemon / the older version", of: ratio(replayWrite, replayWrite+older), bound: 1.3},
		{what: "read daemon / the older version", of: ratio(replayRead, replayRead+older), bound: 1.3},
	},
}

// replays returns probes of both daemons in the directory bin. Each replays the
// same commits, from a log written by its own version: older programs can't read
// what newer ones write.
func (b *bench) replays(bin, suffix string) ([]probe, error) {
	defer func(now string) { b.bin = now }(b.bin)
	b.bin = bin
	p, err := b.newWorld(accounts, 1)
	if err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(4, 4))
	var bodies [][]byte
	for range 16 {
		bodies = append(bodies, transfers(r, batchSize, accounts))
	}
	sent, began := 0, time.Now()
	for ; sent < b.commits; sent += batchSize {
		if err := p.post("/v1/commit/batch", bodies[sent/batchSize%len(bodies)]); err != nil {
			return nil, err
		}
	}
	written := float64(sent) / time.Since(began).Seconds()
	p.write.stop()
	replay := func(name string, start func() error, of func() *process) probe {
		var each float64
		return probe{name: name + suffix, unit: "commits/s", measure: func() (float64, error) {
			defer func(now string) { b.bin = now }(b.bin)
			b.bin = bin
			if err := start(); err != nil {
				return 0, err
			}
			defer of().stop()
			took, err := replayTime(of())
			each = of().processor() / float64(sent) * 1e9
			return float64(sent) / took, err
		}, more: []derived{{name + suffix + ": processor time per commit, including the start", "ns", func() float64 { return each }}}}
	}
	return []probe{
		replay(replayWrite, func() error { return p.startWriter() }, func() *process { return p.write }),
		replay(replayRead, func() error { return p.follow(noCheckpoints...) }, func() *process { return p.read }),
		{name: replayLog + suffix, unit: "commits/s", measure: func() (float64, error) { return written, nil }},
	}, nil
}

// bucketBounds are the bucket bounds of the daemons' histograms of durations,
// in seconds.
var bucketBounds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

const (
	visible50 = "durable to readable, p50"
	visible99 = "durable to readable, p99"
)

var visibilityRow = row{
	name: "visibility", what: "durable to readable at full commit load",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.followedWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		file, err := zeroFile(filepath.Join(b.dir, "sync"), syncFile)
		if err != nil {
			return nil, err
		}
		l := posts(p.write.url, "/v1/commit", singles(accounts))
		const name = "asset_ledger_read_visibility_seconds"
		var p99 float64
		return []probe{{
			name: visible50, unit: "ms",
			more: []derived{{visible99, "ms", func() float64 { return p99 }}},
			measure: func() (float64, error) {
				before, err := samples(p.read.url)
				if err != nil {
					return 0, err
				}
				o, err := b.press(l, connections, b.slice)
				if err != nil {
					return 0, err
				}
				after, err := samples(p.read.url)
				if err != nil {
					return 0, err
				}
				p99 = quantile(before, after, name, 0.99) * 1e3
				return quantile(before, after, name, 0.5) * 1e3, o.check()
			},
		}, {name: syncOne, unit: "µs", measure: func() (float64, error) { return syncTime(file, b.slice) }}}, nil
	},
	goals: []goal{
		{what: "p50 / one write and fdatasync", of: func(v values) float64 { return v.get(visible50) * 1e3 / v.get(syncOne) }, atMost: true, bound: 2},
		{what: "p99 / p50", of: ratio(visible99, visible50), atMost: true, bound: 25},
	},
}
