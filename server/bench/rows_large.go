package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"time"
)

var replayLine = regexp.MustCompile(`msg="(?:replayed the log|caught up with the log)".* took=(\S+)`)

// replayTime returns the time, in seconds, that a daemon reports for reaching
// the end of the log.
func replayTime(p *process) (seconds float64, err error) {
	err = until(p, func() error { // the daemon may report the time a moment after it is ready
		found := replayLine.FindStringSubmatch(p.said())
		if found == nil {
			return errors.New(p.name + " did not report how long its replay took")
		}
		d, err := time.ParseDuration(found[1])
		seconds = d.Seconds()
		return err
	})
	return seconds, err
}

const (
	bareGet     = "bare GET"
	readUnder   = "balances, 10,000 commits/s being applied"
	bareUnder   = "bare GET, beside the same commits"
	appliedRate = "commits applied in the meantime"
)

var readsRow = row{
	name: "reads", what: "reads of one container's balances, 64 connections",
	setup: func(b *bench) ([]probe, error) {
		bare, err := b.bare()
		if err != nil {
			return nil, err
		}
		p, err := b.followedWorld(accounts, 1)
		if err != nil {
			return nil, err
		}
		paths := balances(accounts)
		var applied float64
		beside := func(l load) func() (float64, error) {
			return func() (float64, error) {
				stop := p.commitSteadily(10_000)
				o, err := b.press(l, connections, b.slice)
				n, stopErr := stop()
				if err = errors.Join(err, stopErr); err != nil {
					return 0, err
				}
				applied = float64(n) / o.seconds
				return o.rate(), o.check()
			}
		}
		return []probe{
			b.pressed(bareGet, bare, gets(bare.url, paths), connections),
			{name: readUnder, unit: "req/s", measure: beside(gets(p.read.url, paths)),
				more: []derived{{appliedRate, "/s", func() float64 { return applied }}}},
			{name: bareUnder, unit: "req/s", measure: beside(gets(bare.url, paths))},
		}, nil
	},
	goals: []goal{
		{what: "read beside commits / bare GET alone", of: ratio(readUnder, bareGet), bound: 0.9},
		{what: "read / bare GET, both beside the same commits", of: ratio(readUnder, bareUnder), bound: 0.9},
	},
}

// commitSteadily commits transfers at the rate perSecond until stop is called. It sends
// a hundred requests a second, each with a hundredth of that number. stop returns the
// number of transfers committed.
func (p *pair) commitSteadily(perSecond int) (stop func() (int, error)) {
	quit, done := make(chan struct{}), make(chan error, 1)
	body := transfers(rand.New(rand.NewPCG(5, 5)), perSecond/100, accounts)
	n := 0
	go func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				done <- nil
				return
			case <-tick.C:
			}
			if err := p.post("/v1/commit/batch", body); err != nil {
				done <- err
				return
			}
			n += perSecond / 100
		}
	}()
	return func() (int, error) {
		close(quit)
		err := <-done
		return n, err
	}
}

const stacksEach = 10 // in a container of the large ledger

// large returns a pair with b.stacks stacks.
func (b *bench) large() (*pair, error) {
	return b.newWorld(b.stacks/stacksEach, stacksEach)
}

const (
	perStackWrite = "write daemon, resident bytes a stack"
	perStackRead  = "read daemon, resident bytes a stack"
	quick         = ", started from a checkpoint"
	idleWrite     = "write daemon, idle"
	idleRead      = "read daemon, idle"
	startWrite    = "write daemon, start by replaying"
	startRead     = "read daemon, start by replaying"
	quickWrite    = "write daemon, start from a checkpoint"
	quickRead     = "read daemon, start from a checkpoint"
)

var memoryRow = row{
	name: "memory", what: "resident memory and start time at 10,000,000 stacks in 1,000,000 containers", once: true,
	setup: func(b *bench) ([]probe, error) {
		idle, err := b.newPair()
		if err != nil {
			return nil, err
		}
		if err := idle.follow(); err != nil {
			return nil, err
		}
		const mib = 1 << 20
		idleNow := []float64{idle.write.memory() / mib, idle.read.memory() / mib}
		idle.remove()
		p, err := b.large()
		if err != nil {
			return nil, err
		}
		p.write.stop()
		var started float64
		each := func(start func() error, of func() *process) func() (float64, error) {
			return func() (float64, error) {
				began := time.Now()
				if err := start(); err != nil {
					return 0, err
				}
				started = time.Since(began).Seconds()
				defer of().stop()
				return of().memory() / float64(b.stacks), nil
			}
		}
		seconds := func() float64 { return started }
		follow := func() error { return p.follow() }
		return []probe{
			{name: perStackWrite, unit: "bytes", measure: each(func() error { return p.startWriter() }, func() *process { return p.write }),
				more: []derived{{startWrite, "s", seconds}}},
			// The read daemon makes a checkpoint when it stops, and the next start uses it.
			{name: perStackRead, unit: "bytes", measure: each(follow, func() *process { return p.read }),
				more: []derived{{startRead, "s", seconds}}},
			{name: perStackRead + quick, unit: "bytes", measure: each(follow, func() *process { return p.read }),
				more: []derived{{quickRead, "s", seconds}}},
			{name: perStackWrite + quick, unit: "bytes", measure: each(func() error { return p.startWriter() }, func() *process { return p.write }),
				more: []derived{{quickWrite, "s", seconds}}},
			{name: idleWrite, unit: "MiB", measure: func() (float64, error) { return idleNow[0], nil }},
			{name: idleRead, unit: "MiB", measure: func() (float64, error) { return idleNow[1], nil }},
		}, nil
	},
	goals: []goal{
		{what: "write daemon, bytes a stack", of: only(perStackWrite), atMost: true, bound: 100, unit: " B"},
		{what: "read daemon, bytes a stack", of: only(perStackRead), atMost: true, bound: 100, unit: " B"},
		{what: "write daemon, idle", of: only(idleWrite), atMost: true, bound: 25, unit: " MiB"},
		{what: "read daemon, idle", of: only(idleRead), atMost: true, bound: 25, unit: " MiB"},
		{what: "write daemon, start from a checkpoint / by replaying", of: ratio(quickWrite, startWrite), atMost: true, bound: 0.5},
		{what: "read daemon, start from a checkpoint / by replaying", of: ratio(quickRead, startRead), atMost: true, bound: 0.5},
	},
}

// Commits and reads are measured on separate ledgers, so that no read daemon follows the
// commits and competes with the write daemon for the cores.
var growthRow = row{
	name: "growth", what: "commit and read cost at 10,000,000 stacks against 10,000",
	setup: func(b *bench) ([]probe, error) {
		var probes []probe
		for _, side := range []struct {
			name       string
			containers int
		}{{"10,000 stacks", 10_000 / stacksEach}, {"many stacks", b.stacks / stacksEach}} {
			p, err := b.newWorld(side.containers, stacksEach)
			if err != nil {
				return nil, err
			}
			followed, err := b.followedWorld(side.containers, stacksEach)
			if err != nil {
				return nil, err
			}
			probes = append(probes,
				b.pressed("commit, "+side.name, p.write, posts(p.write.url, "/v1/commit", singles(side.containers)), connections),
				b.pressed("read, "+side.name, followed.read, gets(followed.read.url, balances(side.containers)), connections),
				b.batched("batch, "+side.name, p.write, side.containers),
				b.throughStreams("stream, "+side.name, p.write, streamed(p.write.url, side.containers, 1, 8192)))
		}
		return probes, nil
	},
	goals: []goal{
		{what: "cost of a commit over HTTP, many / 10,000", of: ratio("commit, 10,000 stacks", "commit, many stacks"), atMost: true, bound: 1.5},
		{what: "cost of a read, many / 10,000", of: ratio("read, 10,000 stacks", "read, many stacks"), atMost: true, bound: 1.5},
		{what: "cost of a transfer in a batch, many / 10,000", of: ratio("batch, 10,000 stacks", "batch, many stacks"), atMost: true, bound: 1.5},
		{what: "cost of a transfer in a stream, many / 10,000", of: ratio("stream, 10,000 stacks", "stream, many stacks"), atMost: true, bound: 1.5},
	},
}

const (
	pageSmall = "page of 1,000 of 1,000 stacks"
	pageFirst = "first page of 1,000 of 100,000 stacks"
	pageLast  = "last page of 1,000 of 100,000 stacks"
)

var pagingRow = row{
	name: "paging", what: "paging through 100,000 stacks in one container, in pages of 1,000",
	setup: func(b *bench) ([]probe, error) {
		p, err := b.newWorld(1, 1000)
		if err != nil {
			return nil, err
		}
		const each = 5000 // operations per transaction
		for id, n := 2, 0; n < 100_000; n += each {
			body := []byte(`{"operations":[`)
			if n == 0 {
				body = fmt.Appendf(body, `{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}},`, id)
			}
			for key := n; key < n+each; key++ {
				if key > n {
					body = append(body, ',')
				}
				body = fmt.Appendf(body, `{"op":"AddFungible","args":{"container_id":%d,"class_id":1,"key":%d,"quantity":1000000000000}}`, id, key)
			}
			if err := p.post("/v1/commit", append(body, "]}"...)); err != nil {
				return nil, err
			}
		}
		if err := p.follow(); err != nil {
			return nil, err
		}
		first := "/v1/read/container/2/balances?limit=1000"
		last, err := lastPage(p.read.url + first)
		if err != nil {
			return nil, err
		}
		page := func(name, path string) probe {
			return b.pressed(name, p.read, gets(p.read.url, []string{path}), 4)
		}
		return []probe{
			page(pageSmall, "/v1/read/container/1/balances?limit=1000"),
			page(pageFirst, first),
			page(pageLast, first+"&cursor="+last),
		}, nil
	},
	goals: []goal{
		{what: "cost, first page of 100,000 / page of 1,000", of: ratio(pageSmall, pageFirst), atMost: true, bound: 1.5},
		{what: "cost, last page of 100,000 / page of 1,000", of: ratio(pageSmall, pageLast), atMost: true, bound: 1.5},
	},
}

// lastPage reads all pages and returns the cursor of the last one.
func lastPage(url string) (cursor string, err error) {
	for {
		resp, err := http.Get(url + map[bool]string{true: "&cursor=" + cursor}[cursor != ""])
		if err != nil {
			return "", err
		}
		var page struct {
			Next string `json:"next_cursor"`
		}
		err = json.NewDecoder(resp.Body).Decode(&page)
		resp.Body.Close()
		if err != nil || page.Next == "" {
			return cursor, err
		}
		cursor = page.Next
	}
}
