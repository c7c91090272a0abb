package ctl

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"assetledger/ctl/client"
)

// A benchResult is the result of a run, to which all of its clients add.
type benchResult struct {
	took   time.Duration
	mu     sync.Mutex
	kinds  [benchKinds]latencies // of requests that were answered with 200
	failed uint64
	first  error
}

func (r *benchResult) answered(kind int, took time.Duration, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kinds[kind].add(took, n)
}

func (r *benchResult) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if r.first == nil {
		r.first = err
	}
}

func (r *benchResult) count() (n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.kinds {
		n += r.kinds[i].count
	}
	return n
}

func (b *bench) load(ctx context.Context, c *call) *benchResult {
	c.api = newClient(&c.connecting, int(b.clients.value))
	ctx, cancel := context.WithTimeout(ctx, b.duration.Duration)
	defer cancel()
	r := &benchResult{}
	start := time.Now()
	var clients sync.WaitGroup
	for i := range int(b.clients.value) {
		clients.Go(func() { b.client(ctx, c, i, r) })
	}
	stopped := make(chan struct{})
	go func() {
		clients.Wait()
		close(stopped)
	}()
	b.watch(c, start, r, stopped)
	r.took = time.Since(start)
	return r
}

// watch updates a line of progress until the clients have stopped.
func (b *bench) watch(c *call, start time.Time, r *benchResult, stopped <-chan struct{}) {
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
			n := r.count()
			line.say("%d of %d s, %.0f requests/s", int(now.Sub(start).Seconds()), int(b.duration.Seconds()),
				float64(n-before)/now.Sub(at).Seconds())
			before, at = n, now
		}
	}
}

// client sends one request after the other. The last one is completed, and counts.
func (b *bench) client(ctx context.Context, c *call, index int, r *benchResult) {
	k := &benchClient{bench: b, c: c, result: r, random: rand.New(rand.NewPCG(uint64(index), uint64(time.Now().UnixNano())))}
	defer k.close()
	for n := index; ctx.Err() == nil; n++ {
		kind := b.mix.pick(n)
		start := time.Now()
		var err error
		if kind == streamed {
			err = k.lines()
		} else if err = k.once(kind); err == nil {
			r.answered(kind, time.Since(start), 1)
		}
		if err != nil {
			r.fail(err)
			client.Pause(ctx, failurePause)
		}
	}
}

type benchClient struct {
	*bench
	c      *call
	result *benchResult
	random *rand.Rand
	body   []byte
	stream *benchStream // nil: none is open
}

func (k *benchClient) once(kind int) error {
	q := request{Method: http.MethodPost, Base: k.c.writeURL, Path: "/v1/commit"}
	switch kind {
	case single:
		k.body = k.appendTransfer(k.body[:0], k.random)
	case batched:
		q.Path, k.body = "/v1/commit/batch", append(k.body[:0], `{"transactions":[`...)
		for range k.batch.value {
			k.body = append(k.appendTransfer(k.body, k.random), ',')
		}
		k.body = append(k.body[:len(k.body)-1], "]}"...)
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

// lines sends lines in the client's stream, and waits for their results.
func (k *benchClient) lines() error {
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
			k.result.answered(streamed, time.Since(start), n)
			n = 0
		}
	}
	return nil
}

func (k *benchClient) close() {
	if s := k.stream; s != nil {
		k.stream = nil
		close(s.runs)
		s.next() // so that it ends as it should, unless it failed
		s.stop()
	}
}

const failurePause = 100 * time.Millisecond

func (b *bench) appendTransfer(dst []byte, random *rand.Rand) []byte {
	n := b.containers.value
	from := random.Int64N(n)
	to := (from + 1 + random.Int64N(n-1)) % n
	return fmt.Appendf(dst, `{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":0,"quantity":1}}]}`,
		b.firstID.value+from, b.firstID.value+to, b.firstID.value)
}

// latencySteps is the number of buckets that share a power of two.
const latencySteps = 32

// latencies counts durations in buckets: a quantile is at most 1/32 too high, and memory is bounded.
type latencies struct {
	buckets [64 * latencySteps]uint32
	count   uint64
	most    time.Duration
}

// lowMantissa is the number of low bits of a float64 in which the durations of a bucket differ.
const lowMantissa = 52 - 5

var firstBucket = math.Float64bits(1) >> lowMantissa

// bucket returns the bucket in which d is counted.
func bucket(d time.Duration) int {
	return int(math.Float64bits(float64(max(d, 1)))>>lowMantissa - firstBucket)
}

// upper returns the highest duration that is counted in bucket i.
func upper(i int) time.Duration {
	next := math.Float64frombits((firstBucket + uint64(i) + 1) << lowMantissa)
	return time.Duration(math.Ceil(next)) - 1
}

func (l *latencies) add(d time.Duration, n int) {
	l.buckets[bucket(d)] += uint32(n)
	l.count += uint64(n)
	l.most = max(l.most, d)
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
