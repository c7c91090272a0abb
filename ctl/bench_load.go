package ctl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"assetledger/ctl/client"
)

// A benchResult is the combined result of all clients of a run.
type benchResult struct {
	took   time.Duration
	kinds  [benchKinds]latencies // of requests that were answered with 200
	failed uint64
	first  error // the first failure of one of the clients
}

// load sends requests for the configured time, or until ctx is done.
func (b *bench) load(ctx context.Context, c *call) (*benchResult, error) {
	c.api = newClient(&c.connecting, int(b.clients.value))
	ctx, cancel := context.WithTimeout(ctx, b.duration.Duration)
	defer cancel()
	var done atomic.Uint64
	results := make([]benchResult, b.clients.value)
	start := time.Now()
	var clients sync.WaitGroup
	for i := range results {
		clients.Go(func() { b.client(ctx, c, i, &results[i], &done) })
	}
	stopped := make(chan struct{})
	go func() {
		clients.Wait()
		close(stopped)
	}()
	b.watch(c, start, &done, stopped)
	all := &benchResult{took: time.Since(start)}
	for i := range results {
		all.add(&results[i])
	}
	return all, nil
}

// watch updates a line of progress until the clients have stopped.
func (b *bench) watch(c *call, start time.Time, done *atomic.Uint64, stopped <-chan struct{}) {
	line := newProgress(c.words)
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	before, at := uint64(0), start
	for {
		select {
		case <-stopped:
			line.clear()
			return
		case now := <-tick.C:
			n := done.Load()
			line.say("%d of %d s, %.0f requests/s", int(now.Sub(start).Seconds()), int(b.duration.Seconds()),
				float64(n-before)/now.Sub(at).Seconds())
			before, at = n, now
		}
	}
}

// client sends one request after the other. A request in progress when the time is
// over is completed, and counts.
func (b *bench) client(ctx context.Context, c *call, index int, r *benchResult, done *atomic.Uint64) {
	k := &benchClient{bench: b, c: c, random: rand.New(rand.NewPCG(uint64(index), uint64(time.Now().UnixNano())))}
	defer k.close()
	for n := index; ctx.Err() == nil; n++ {
		kind := b.mix.pick(n)
		start := time.Now()
		var err error
		if kind == streamed {
			err = k.lines(&r.kinds[kind], done)
		} else if err = k.once(kind); err == nil {
			r.kinds[kind].add(time.Since(start), 1)
			done.Add(1)
		}
		if err == nil {
			continue
		}
		r.failed++
		if r.first == nil {
			r.first = err
		}
		if client.Pause(ctx, failurePause) != nil {
			return
		}
	}
}

// A benchClient is one client of a run.
type benchClient struct {
	*bench
	c      *call
	random *rand.Rand
	body   []byte
	stream *benchStream // nil: none is open
}

// once sends a request that is not of a stream.
func (k *benchClient) once(kind int) error {
	q := request{Method: http.MethodPost, Base: k.c.writeURL, Path: "/v1/commit"}
	switch kind {
	case single:
		k.body = k.appendTransfer(k.body[:0], k.random)
	case batched:
		q.Path, k.body = "/v1/commit/batch", append(k.body[:0], `{"transactions":[`...)
		for i := range k.batch.value {
			if i > 0 {
				k.body = append(k.body, ',')
			}
			k.body = k.appendTransfer(k.body, k.random)
		}
		k.body = append(k.body, "]}"...)
	case reading:
		q.Method, q.Base, k.body = http.MethodGet, k.c.readURL, k.body[:0]
		q.Path = fmt.Sprintf("/v1/read/container/%d/balances", k.firstID.value+k.random.Int64N(k.containers.value))
	}
	q.Body = k.body
	a, err := k.c.askQuietly(q)
	if err != nil {
		return err
	}
	return a.check()
}

// A benchStream is a stream of commits, with one run of lines in it at a time.
type benchStream struct {
	run  []client.Line
	runs chan []client.Line
	next func() (client.Answered, error, bool) // result
	stop func()
}

// open opens a stream.
func (k *benchClient) open() *benchStream {
	s := &benchStream{run: make([]client.Line, k.batch.value), runs: make(chan []client.Line, 1)}
	source := func(yield func([]client.Line, bool) bool) {
		for run := range s.runs {
			if !yield(run, false) {
				return
			}
		}
	}
	o := client.LinesOptions{Base: k.c.writeURL, Window: len(s.run), Tries: 1, GiveUp: k.c.timeout.Duration}
	s.next, s.stop = iter.Pull2(k.c.api.CommitLines(k.c.ctx, source, o))
	return s
}

// lines sends lines in the client's stream, which it opens if necessary, and waits
// for their results.
func (k *benchClient) lines(l *latencies, done *atomic.Uint64) error {
	if k.stream == nil {
		k.stream = k.open()
	}
	s := k.stream
	k.body = k.body[:0]
	for i := range s.run {
		from := len(k.body)
		k.body = k.appendTransfer(k.body, k.random)
		s.run[i].Text = k.body[from:]
	}
	start := time.Now()
	s.runs <- s.run
	n := 0
	for range s.run {
		r, err, _ := s.next()
		if failed, ok := errors.AsType[*client.Unanswered](err); ok {
			err = inWords(failed.Err)
		} else if r.Err != nil {
			err = fmt.Errorf("a line was refused: %.300s", r.Raw)
		}
		if err != nil {
			k.close()
			return err
		}
		if n++; !r.More {
			l.add(time.Since(start), n)
			done.Add(uint64(n))
			n = 0
		}
	}
	return nil
}

// close ends the stream, if there is one.
func (k *benchClient) close() {
	if s := k.stream; s != nil {
		k.stream = nil
		close(s.runs)
		s.next() // so that it ends as it should, unless it failed
		s.stop()
	}
}

// failurePause is how long a client waits after a failed request.
const failurePause = 100 * time.Millisecond

// appendTransfer appends a transaction that moves 1 between two containers.
func (b *bench) appendTransfer(dst []byte, random *rand.Rand) []byte {
	n := b.containers.value
	from := random.Int64N(n)
	to := (from + 1 + random.Int64N(n-1)) % n
	return fmt.Appendf(dst, `{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":0,"quantity":1}}]}`,
		b.firstID.value+from, b.firstID.value+to, b.firstID.value)
}

func (r *benchResult) add(o *benchResult) {
	for i := range r.kinds {
		r.kinds[i].merge(&o.kinds[i])
	}
	r.failed += o.failed
	if r.first == nil {
		r.first = o.first
	}
}

// latencies counts durations in buckets of which 32 share a power of two
// nanoseconds: a quantile is at most 1/32 too high, and memory is bounded.
type latencies struct {
	buckets [64 * latencySteps]uint32
	count   uint64
	most    time.Duration
}

const (
	latencyBits  = 5
	latencySteps = 1 << latencyBits
)

// bucket returns the bucket in which d is counted.
func bucket(d time.Duration) int {
	n := uint64(max(d, 1))
	power := bits.Len64(n) - 1
	if power < latencyBits {
		return int(n)
	}
	return (power-latencyBits+1)<<latencyBits + int(n>>(power-latencyBits))&(latencySteps-1)
}

// upper returns the highest duration that is counted in bucket i.
func upper(i int) time.Duration {
	if i < latencySteps {
		return time.Duration(i)
	}
	shift := i>>latencyBits - 1
	return time.Duration((uint64(i&(latencySteps-1))+latencySteps+1)<<shift - 1)
}

// add counts n requests that took d.
func (l *latencies) add(d time.Duration, n int) {
	l.buckets[bucket(d)] += uint32(n)
	l.count += uint64(n)
	l.most = max(l.most, d)
}

func (l *latencies) merge(o *latencies) {
	for i, n := range o.buckets {
		l.buckets[i] += n
	}
	l.count += o.count
	l.most = max(l.most, o.most)
}

// at returns the duration that the share q of all requests do not exceed, 0 without any.
func (l *latencies) at(q float64) time.Duration {
	want, seen := uint64(q*float64(l.count)), uint64(0)
	for i, n := range l.buckets {
		if seen += uint64(n); seen > want {
			return min(upper(i), l.most)
		}
	}
	return l.most
}
