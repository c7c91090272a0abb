package main

import (
	"errors"
	"fmt"
	"math"
)

// strained returns a probe of the p99 of commits by 8 clients and of reads by
// 2, at the same time.
func (b *bench) strained(p *pair, containers int, commit, read string) probe {
	commits, reads := posts(p.write.url, "/v1/commit", singles(containers)), gets(p.read.url, balances(containers))
	var readOutcome *outcome
	return probe{name: commit, unit: "ms", measure: func() (float64, error) {
		got := make(chan error, 1)
		go func() {
			var err error
			readOutcome, err = reads.drive(b.ctx, 2, b.slice)
			got <- err
		}()
		o, err := commits.drive(b.ctx, 8, b.slice)
		if err = errors.Join(err, <-got); err != nil {
			return 0, err
		}
		return o.p99.Seconds() * 1e3, o.check()
	}, more: []derived{{read, "ms", func() float64 { return readOutcome.p99.Seconds() * 1e3 }}}}
}

const (
	p99Calm  = "commit p99, segments of 64 MiB"
	p99Cuts  = "commit p99, segments of 1 MiB"
	readCalm = "read p99, segments of 64 MiB"
	readCuts = "read p99, segments of 1 MiB"
)

// Segment rotation is measured with small segments: those of 1 MiB rotate several times a
// second.
var cutRow = row{
	name: "cut", what: "commit and read p99 while segments rotate, against no rotation",
	setup: func(b *bench) ([]probe, error) {
		var probes []probe
		for _, side := range []struct{ commit, read, size string }{
			{p99Calm, readCalm, "67108864"}, {p99Cuts, readCuts, "1048576"},
		} {
			p, err := b.newPair("-segment-size", side.size)
			if err != nil {
				return nil, err
			}
			if err := errors.Join(p.world(accounts, 1), p.follow(noCheckpoints...)); err != nil {
				return nil, err
			}
			probes = append(probes, b.strained(p, accounts, side.commit, side.read))
		}
		return probes, nil
	},
	goals: []goal{
		{what: "commit p99, rotating / not", of: ratio(p99Cuts, p99Calm), atMost: true, bound: 2},
		{what: "read p99, rotating / not", of: ratio(readCuts, readCalm), atMost: true, bound: 2},
	},
}

const (
	p99None  = "commit p99, no checkpoints"
	p99Made  = "commit p99, checkpoints being made"
	readNone = "read p99, no checkpoints"
	readMade = "read p99, checkpoints being made"
)

// Checkpoints of a tenth of the large ledger's stacks are made one after
// another, as often as the read daemon permits.
var checkpointRow = row{
	name: "checkpoint", what: "commit and read p99 while checkpoints are made, against none being made",
	setup: func(b *bench) ([]probe, error) {
		containers := max(2, b.stacks/stacksEach/10)
		var probes []probe
		for _, side := range []struct{ commit, read, every string }{{p99None, readNone, "0"}, {p99Made, readMade, "1000"}} {
			p, err := b.newWorld(containers, stacksEach)
			if err != nil {
				return nil, err
			}
			if err := p.follow("-checkpoint-every", side.every); err != nil {
				return nil, err
			}
			probes = append(probes, b.strained(p, containers, side.commit, side.read))
		}
		return probes, nil
	},
	goals: []goal{
		{what: "commit p99, checkpoints / none", of: ratio(p99Made, p99None), atMost: true, bound: 2},
		{what: "read p99, checkpoints / none", of: ratio(readMade, readNone), atMost: true, bound: 2},
	},
}

const (
	crowd     = 2000 // connections
	peak      = "commit, 64 connections: the peak"
	crowded   = "commit, 2,000 connections"
	shed      = "commit, 2,000 connections, a queue of 50"
	busyShare = "share of 503"
	busyP99   = "p99 of a 503"
	crowdP99  = "p99 of a commit, 2,000 connections"
	crowdMost = "peak resident memory, 2,000 connections"
)

var overloadRow = row{
	name: "overload", what: "2,000 connections that send without pause",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		short, err := b.newWorld(accounts, 1, "-queue", "50")
		if err != nil {
			return nil, err
		}
		bodies := singles(accounts)
		l, lShort := posts(p.write.url, "/v1/commit", bodies), posts(short.write.url, "/v1/commit", bodies)
		var many, refused *outcome
		crowdOn := func(l load, keep **outcome) func() (float64, error) {
			return func() (float64, error) {
				o, err := l.drive(b.ctx, crowd, b.slice)
				if err != nil {
					return 0, err
				}
				if o.other > 0 {
					return 0, fmt.Errorf("%d responses were neither 200 nor 503, the first: %s", o.other, o.firstFail)
				}
				*keep = o
				return o.rate(), nil
			}
		}
		return []probe{
			{name: peak, unit: "req/s", measure: func() (float64, error) {
				o, err := l.drive(b.ctx, connections, b.slice)
				if err != nil {
					return 0, err
				}
				return o.rate(), o.check()
			}},
			{name: crowded, unit: "req/s", measure: crowdOn(l, &many), more: []derived{
				{crowdP99, "ms", func() float64 { return many.p99.Seconds() * 1e3 }},
				{crowdMost, "MiB", func() float64 { return p.write.peakMemory() / (1 << 20) }},
			}},
			{name: shed, unit: "req/s", measure: crowdOn(lShort, &refused), more: []derived{
				{busyShare, "", func() float64 { return float64(refused.busy) / float64(refused.ok+refused.busy) }},
				{busyP99, "ms", func() float64 {
					if refused.busy == 0 {
						return math.NaN() // none was rejected
					}
					return refused.p99Busy.Seconds() * 1e3
				}},
			}},
		}, nil
	},
	goals: []goal{
		{what: "goodput, 2,000 connections / peak", of: ratio(crowded, peak), bound: 0.8},
		{what: "goodput with a queue of 50 / peak", of: ratio(shed, peak), bound: 0.8},
		{what: "p99 of a 503", of: only(busyP99), atMost: true, bound: 200, unit: " ms"},
		{what: "peak memory", of: only(crowdMost), atMost: true, bound: 256, unit: " MiB"},
	},
}
