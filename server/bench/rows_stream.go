package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"time"
)

// throughStreams returns a probe of the transfers per second in streams. It also
// measures the daemon's CPU time per transfer.
func (b *bench) throughStreams(name string, p *process, l streamLoad) probe {
	var each float64
	return probe{name: name, unit: "transfers/s", measure: func() (float64, error) {
		before := p.processor()
		o, err := l.drive(b.ctx, b.slice)
		if err != nil {
			return 0, err
		}
		each = (p.processor() - before) / float64(max(1, o.ok)) * 1e6
		return o.rate(), o.check()
	}, more: []derived{{name + processorOf, "µs", func() float64 { return each }}}}
}

// full returns a probe of streams that are kept full.
func (b *bench) full(p *process, streams, window int) probe {
	return b.throughStreams(streamName(streams, window), p, streamed(p.url, accounts, streams, window))
}

func streamName(streams, window int) string {
	if streams == 1 {
		return fmt.Sprintf("1 stream, %d in flight", window)
	}
	return fmt.Sprintf("%d streams, %d in flight in each", streams, window)
}

var streamRow = row{
	name: "stream", what: "one-transfer commits through streams, against single requests and batches",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		return []probe{
			b.pressed(commitAlone, p.write, posts(p.write.url, "/v1/commit", singles(accounts)), connections),
			b.full(p.write, 1, 1024),
			b.full(p.write, 16, 1024),
			b.full(p.write, 1, 8192),
			b.batched(batched, p.write, accounts),
		}, nil
	},
	goals: []goal{
		{what: "1 stream x 1,024 / commits on 64 connections", of: ratio(streamName(1, 1024), commitAlone), bound: 20},
		{what: "1 stream x 8,192 / batches of 8,190", of: ratio(streamName(1, 8192), batched), bound: 0.9},
		{what: "processor time of a commit, 16 streams x 1,024 / on 64 connections",
			of: ratio(streamName(16, 1024)+processorOf, commitAlone+processorOf), atMost: true, bound: 0.05},
	},
}

var (
	redisPipe1  = redisLoad{1, 64}
	redisPipe16 = redisLoad{16, 512}
)

var streamPeersRow = row{
	name: "stream-peers", what: "one-transfer commits through streams, against Redis with pipelines, PostgreSQL and etcd",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		probes := []probe{
			b.full(p.write, 1, 64),
			b.full(p.write, 1, 1024),
			b.full(p.write, 16, 512),
		}
		puts, err := b.etcd()
		if err != nil {
			return nil, err
		}
		probes = append(probes, puts...)
		postgres, err := b.postgres(64)
		if err != nil {
			return nil, err
		}
		redis, err := b.redis(redisPipe1, redisPipe16)
		return append(append(probes, postgres...), redis...), err
	},
	goals: []goal{
		{what: "1 stream x 64 / Redis INCR, 1 client, pipeline of 64", of: ratio(streamName(1, 64), redisPipe1.String()), bound: 2},
		{what: "16 streams x 512 / Redis INCR, 16 clients, pipeline of 512", of: ratio(streamName(16, 512), redisPipe16.String()), bound: 1.5},
		{what: "1 stream x 1,024 / PostgreSQL, 64 clients", of: ratio(streamName(1, 1024), "PostgreSQL, 64 clients"), bound: 50},
		{what: "1 stream x 1,024 / etcd", of: ratio(streamName(1, 1024), etcdPut), bound: 100},
	},
}

const (
	besideNone = "commit, p50, alone"
	besideOne  = "commit, p50, beside 1 stream x 1,024"
	besideMany = "commit, p50, beside 16 streams x 1,024"
	streamP50  = "line of 1 stream x 64, p50"
)

// beside returns a probe of the p50 and p99 of the commits of one client, which sends
// one commit after another while the streams are full.
func (b *bench) beside(p *process, name string, streams int) probe {
	var p99, rate float64
	more := []derived{{name + ": p99", "µs", func() float64 { return p99 }}}
	if streams > 0 {
		more = append(more, derived{name + ": lines of the streams", "/s", func() float64 { return rate }})
	}
	return probe{name: name, unit: "µs", more: more, measure: func() (float64, error) {
		flood := streamed(p.url, accounts, streams, 1024)
		ctx, stop := context.WithCancel(b.ctx)
		got := make(chan error, 1)
		if streams == 0 {
			got <- nil
		} else {
			go func() {
				o, err := flood.drive(ctx, time.Hour)
				if err == nil {
					rate = o.rate()
					err = o.check()
				}
				got <- err
			}()
			time.Sleep(b.slice / 10) // the streams must be full before the first commit is timed
		}
		p50, tail, err := b.lone(p.url)
		stop()
		p99 = tail
		return p50, errors.Join(err, <-got)
	}}
}

// lone measures one client's commits from a separate process. In the process that sends
// the streams, the client would wait for its turn among their goroutines.
func (b *bench) lone(url string) (p50, p99 float64, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	out, err := b.output(exec.CommandContext(b.ctx, self, "lone", url, b.slice.String()))
	if err != nil {
		return 0, 0, err
	}
	if n, _ := fmt.Sscan(out, &p50, &p99); n != 2 {
		return 0, 0, fmt.Errorf("the lone client reported: %s", lastLine(out))
	}
	return p50, p99, nil
}

// lone is the main function of the process that bench.lone starts. It runs one client
// for the given time, prints the p50 and p99 of its commits in µs, and returns the exit
// code.
func lone(url, slice string) (code int) {
	d, err := time.ParseDuration(slice)
	if err == nil {
		var o *outcome
		l := posts(url, "/v1/commit", singles(accounts))
		if o, err = l.drive(context.Background(), 1, d); err == nil {
			err = o.check()
		}
		if err == nil {
			fmt.Println(float64(o.p50.Nanoseconds())/1e3, float64(o.p99.Nanoseconds())/1e3)
			return 0
		}
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

var besideRow = row{
	name: "stream-beside", what: "one client's single commits beside full streams, and the time of a line itself",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		line := streamed(p.write.url, accounts, 1, 64)
		return []probe{
			b.beside(p.write, besideNone, 0),
			b.beside(p.write, besideOne, 1),
			b.beside(p.write, besideMany, 16),
			{name: streamP50, unit: "µs", measure: func() (float64, error) {
				o, err := line.drive(b.ctx, b.slice)
				if err != nil {
					return math.NaN(), err
				}
				return float64(o.p50.Nanoseconds()) / 1e3, o.check()
			}},
		}, nil
	},
	goals: []goal{
		{what: "commit p50, beside 1 stream x 1,024 / alone", of: ratio(besideOne, besideNone), atMost: true, bound: 5},
		{what: "commit p50, beside 16 streams x 1,024 / alone", of: ratio(besideMany, besideNone), atMost: true, bound: 15},
		{what: "p50 of a line, 1 stream x 64 / of one client's commit", of: ratio(streamP50, besideNone), atMost: true, bound: 1.2},
	},
}
