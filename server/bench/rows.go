package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// rows are all lines of the table, in its order.
func rows() []row {
	return []row{singlesRow, latencyRow, batchRow, streamRow, streamPeersRow, besideRow, readsRow, historyRow, visibilityRow, mirrorRow, replayRow, memoryRow, growthRow, pagingRow, cutRow, checkpointRow, overloadRow}
}

const (
	connections = 64
	accounts    = 10_000
)

// pressed is a probe of the requests a second that are answered 200, and of
// the processor time that each takes from the process, if one is given: other
// work on the machine disturbs the first more than the second.
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

// processorOf ends the name of a probe's processor time a request.
const processorOf = ": processor time a request"

const (
	bareDefault = "bare POST"
	bareTuned   = "bare POST, GOGC=200"
	commitAlone = "commit"
	commitRead  = "commit, with a read daemon following"
	etcdPut     = "etcd put"
)

var singlesRow = row{
	name: "singles", what: "single-operation commits over HTTP, 64 connections, each durable before its answer",
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
		alone, err := b.newPair()
		if err != nil {
			return nil, err
		}
		followed, err := b.newPair()
		if err != nil {
			return nil, err
		}
		for _, p := range []*pair{alone, followed} {
			if err := p.world(accounts, 1); err != nil {
				return nil, err
			}
		}
		if err := followed.follow(); err != nil {
			return nil, err
		}
		bodies := singles(accounts)
		probes := []probe{
			b.pressed(bareDefault, bare, posts(bare.url, "/v1/commit", bodies), connections),
			b.pressed(commitAlone, alone.write, posts(alone.write.url, "/v1/commit", bodies), connections),
			b.pressed(bareTuned, tuned, posts(tuned.url, "/v1/commit", bodies), connections),
			b.pressed(commitRead, followed.write, posts(followed.write.url, "/v1/commit", bodies), connections),
		}
		put, err := b.etcd()
		if err != nil {
			return nil, err
		}
		if put != nil {
			probes = append(probes, b.pressed(etcdPut, nil, *put, connections))
		}
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

// syncFile is how large the files are in which single blocks are synced.
const syncFile = 64 << 20

var latencyRow = row{
	name: "latency", what: "one client, one commit at a time",
	setup: func(b *bench) ([]probe, error) {
		bare, err := b.bare()
		if err != nil {
			return nil, err
		}
		p, err := b.newPair()
		if err != nil {
			return nil, err
		}
		if err := p.world(accounts, 1); err != nil {
			return nil, err
		}
		file, err := zeroFile(filepath.Join(b.dir, "sync"), syncFile)
		if err != nil {
			return nil, err
		}
		bodies := singles(accounts)
		p50 := func(l load) func() (float64, error) {
			return func() (float64, error) {
				o, err := l.drive(b.ctx, 1, b.slice)
				if err != nil {
					return 0, err
				}
				return float64(o.p50.Nanoseconds()) / 1e3, o.check()
			}
		}
		commits := posts(p.write.url, "/v1/commit", bodies)
		return []probe{
			{name: bareOne, unit: "µs", measure: p50(posts(bare.url, "/v1/commit", bodies))},
			{name: commitOne, unit: "µs", measure: func() (float64, error) { return b.pictured(p.write, func() (float64, error) { return p50(commits)() }) }},
			{name: durableOne, unit: "µs", measure: p50(posts(bare.url, "/v1/durable", bodies))},
			{name: syncOne, unit: "µs", measure: func() (float64, error) { return syncTime(file, b.slice) }},
		}, nil
	},
	// A sync takes longer on a machine that slept since the last one, as it does
	// between two requests: the second goal compares what is done in one rhythm.
	goals: []goal{
		{what: "commit / (bare + one write and fdatasync)", of: func(v values) float64 {
			return v.get(commitOne) / (v.get(bareOne) + v.get(syncOne))
		}, atMost: true, bound: 1.3},
		{what: "commit / bare that writes and syncs", of: ratio(commitOne, durableOne), atMost: true, bound: 1.3},
	},
}

// zeroFile is a file whose blocks are written, as those of a segment are.
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

// syncTime is the median time of a write of 4 KiB and its sync, in µs.
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
		p, err := b.newPair()
		if err != nil {
			return nil, err
		}
		if err := p.world(accounts, 1); err != nil {
			return nil, err
		}
		return []probe{b.batched(batched, p.write, accounts)}, nil
	},
	goals: []goal{
		{what: "transfers a second", of: only(batched), bound: 600_000, unit: "/s"},
		{what: "transfers a second, stretch", of: only(batched), bound: 1_000_000, unit: "/s"},
	},
}

// batched is a probe of the transfers a second through batch requests, and of
// the processor time that each takes from the daemon.
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
	}, more: []derived{{name + ": processor time a transfer", "µs", func() float64 { return each }}}}
}

// batches are a few different batch requests among n containers.
func batches(url string, n int) load {
	r := rand.New(rand.NewPCG(3, uint64(n)))
	bodies := make([]string, 8)
	for i := range bodies {
		bodies[i] = string(transfers(r, batchSize, n))
	}
	return posts(url, "/v1/commit/batch", bodies)
}

// noCheckpoints has a read daemon make none, so that all of the log is replayed.
var noCheckpoints = []string{"-checkpoint-every", "0"}

const (
	replayWrite = "replay, write daemon"
	replayRead  = "replay, read daemon"
	older       = ", the version before"
)

var replayRow = row{
	name: "replay", what: "replay of a log of one-transfer commits, both daemons",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newPair()
		if err != nil {
			return nil, err
		}
		if err := p.world(accounts, 1); err != nil {
			return nil, err
		}
		r := rand.New(rand.NewPCG(4, 4))
		var bodies [][]byte
		for range 16 {
			bodies = append(bodies, transfers(r, batchSize, accounts))
		}
		sent := 0
		for ; sent < b.commits; sent += batchSize {
			if err := p.post("/v1/commit/batch", bodies[sent/batchSize%len(bodies)]); err != nil {
				return nil, err
			}
		}
		p.write.stop()
		var each float64
		rate := func(bin string, start func() error, of func() *process) func() (float64, error) {
			return func() (float64, error) {
				now := b.bin
				b.bin = bin
				err := start()
				b.bin = now
				if err != nil {
					return 0, err
				}
				defer of().stop()
				took, err := replayTime(of())
				each = of().processor() / float64(sent) * 1e9
				return float64(sent) / took, err
			}
		}
		write := func() error { return p.startWriter() }
		read := func() error { return p.follow(noCheckpoints...) }
		perCommit := func(name string) []derived {
			return []derived{{name + ": processor time a commit, the start included", "ns", func() float64 { return each }}}
		}
		probes := []probe{
			{name: replayWrite, unit: "commits/s", measure: rate(b.bin, write, func() *process { return p.write }), more: perCommit(replayWrite)},
			{name: replayRead, unit: "commits/s", measure: rate(b.bin, read, func() *process { return p.read }), more: perCommit(replayRead)},
		}
		if b.before == "" {
			b.skip("replay by the version before", "no -before names a folder with its programs")
			return probes, nil
		}
		return append(probes,
			probe{name: replayWrite + older, unit: "commits/s", measure: rate(b.before, write, func() *process { return p.write })},
			probe{name: replayRead + older, unit: "commits/s", measure: rate(b.before, read, func() *process { return p.read })},
		), nil
	},
	goals: []goal{
		{what: "write daemon, commits a second", of: only(replayWrite), bound: 4_000_000, unit: "/s"},
		{what: "read daemon, commits a second", of: only(replayRead), bound: 4_000_000, unit: "/s"},
		{what: "write daemon / the version before", of: ratio(replayWrite, replayWrite+older), bound: 1.3},
		{what: "read daemon / the version before", of: ratio(replayRead, replayRead+older), bound: 1.3},
	},
}

// bucketBounds are those of the daemons' histograms of durations, in seconds.
var bucketBounds = []float64{10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10}

const (
	visible50 = "durable to readable, p50"
	visible99 = "durable to readable, p99"
)

var visibilityRow = row{
	name: "visibility", what: "durable to readable at full commit load",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newPair()
		if err != nil {
			return nil, err
		}
		if err := p.world(accounts, 1); err != nil {
			return nil, err
		}
		if err := p.follow(); err != nil {
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
		}}, nil
	},
	goals: []goal{
		{what: "p50", of: only(visible50), atMost: true, bound: 0.2, unit: " ms"},
		{what: "p99", of: only(visible99), atMost: true, bound: 5, unit: " ms"},
	},
}
