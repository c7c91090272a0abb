package ctl

import (
	"cmp"
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

// add counts n requests that took the same time, or one that failed.
func (b *bench) add(kind int, took time.Duration, n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed++
		b.reason = cmp.Or(b.reason, err)
		return
	}
	b.kinds[kind].add(took, n)
}

// load sends requests until -duration has passed or ctx is done.
func (b *bench) load(ctx context.Context, c *call) {
	c.api = newClient(&c.connecting, int(b.clients.value))
	ctx, cancel := context.WithTimeout(ctx, b.duration.Duration)
	defer cancel()
	b.shown = newProgress(c.words)
	var clients sync.WaitGroup
	for i := range int(b.clients.value) {
		clients.Go(func() { b.client(ctx, c, i) })
	}
	clients.Wait()
	b.shown.clear()
	b.took = b.shown.elapsed()
}

// client sends one request after another. It waits for the response to the last one, which
// is counted, too.
func (b *bench) client(ctx context.Context, c *call, index int) {
	k := &benchClient{bench: b, c: c, random: rand.New(rand.NewPCG(uint64(index), uint64(time.Now().UnixNano())))}
	defer k.close()
	for n := index; ctx.Err() == nil; n++ {
		send := k.once
		kind := b.order[n%len(b.order)]
		if kind == streamed {
			send = k.lines
		}
		if send(kind) != nil {
			client.Pause(ctx, failurePause)
		}
		if index == 0 && b.shown.due() {
			b.shown.say("%d of %d s", int(b.shown.elapsed().Seconds()), int(b.duration.Seconds()))
		}
	}
}

// A benchClient has at most one stream of commits, with one group of lines in flight at a time.
type benchClient struct {
	*bench
	c      *call
	random *rand.Rand
	body   []byte
	runs   chan []client.Line // to the stream; nil if none is open
	next   func() (client.Answered, error, bool)
	stop   func()
}

// once sends one request, and adds its result.
func (k *benchClient) once(kind int) error {
	q := request{Method: http.MethodPost, Base: k.c.writeURL, Path: "/v1/commit"}
	switch kind {
	case single:
		k.body = k.appendTransfer(k.body[:0])
	case batched:
		q.Path, k.body = "/v1/commit/batch", append(k.body[:0], `{"transactions":[`...)
		for range k.batch.value {
			k.body = append(k.appendTransfer(k.body), ',')
		}
		k.body = append(k.body[:len(k.body)-1], "]}"...)
	case reading:
		q.Method, q.Base, k.body = http.MethodGet, k.c.readURL, k.body[:0]
		q.Path = fmt.Sprintf("/v1/read/container/%d/balances", k.first+k.random.Int64N(k.made))
	}
	q.Body = k.body
	start := time.Now()
	a, err := k.c.askQuietly(q)
	if err == nil {
		err = a.check()
	}
	k.add(kind, time.Since(start), 1, err)
	return err
}

// open opens a stream.
func (k *benchClient) open() {
	runs := make(chan []client.Line, 1)
	o := client.LinesOptions{Base: k.c.writeURL, Window: int(k.batch.value), Tries: 1, GiveUp: k.c.timeout.Duration}
	k.next, k.stop = iter.Pull2(k.c.api.CommitLines(k.c.ctx, func(yield func([]client.Line, bool) bool) {
		for run := range runs {
			if !yield(run, false) {
				return
			}
		}
	}, o))
	k.runs = runs
}

// lines sends lines over the client's stream, and waits for their results, which it adds.
func (k *benchClient) lines(kind int) error {
	if k.runs == nil {
		k.open()
	}
	run := make([]client.Line, k.batch.value)
	k.body = k.body[:0]
	for i := range run {
		from := len(k.body)
		k.body = k.appendTransfer(k.body)
		run[i].Text = k.body[from:]
	}
	start := time.Now()
	k.runs <- run
	n := 0
	for range run {
		r, err, _ := k.next()
		if failed, ok := errors.AsType[*client.Unanswered](err); ok {
			err = inWords(failed.Err)
		} else if r.Err != nil {
			err = fmt.Errorf("a line was rejected: %.300s", r.Raw)
		}
		if err != nil {
			k.add(kind, 0, 0, err)
			k.close()
			return err
		}
		if n++; !r.More {
			k.add(kind, time.Since(start), n, nil)
			n = 0
		}
	}
	return nil
}

func (k *benchClient) close() {
	if k.runs != nil {
		close(k.runs)
		k.next() // waits for the end of the stream, unless it failed
		k.stop()
		k.runs = nil
	}
}

const failurePause = 100 * time.Millisecond

func (k *benchClient) appendTransfer(dst []byte) []byte {
	n := k.made
	from := k.random.Int64N(n)
	to := (from + 1 + k.random.Int64N(n-1)) % n
	return fmt.Appendf(dst, `{"operations":[{"op":"TransferFungible","args":{"from_container":%d,"to_container":%d,"class_id":%d,"key":0,"quantity":1}}]}`,
		k.first+from, k.first+to, k.class)
}

// latencies counts durations in buckets, 32 for each power of two. Quantiles are at most
// 2.2 % too high, and memory is bounded.
type latencies struct {
	buckets [64 * latencySteps]uint32
	count   uint64
	most    time.Duration
}

const latencySteps = 32

func (l *latencies) add(d time.Duration, n int) {
	l.buckets[int(math.Log2(float64(max(d, 1)))*latencySteps)] += uint32(n)
	l.count += uint64(n)
	l.most = max(l.most, d)
}

// at returns quantile q of the durations, or 0 if there are none.
func (l *latencies) at(q float64) time.Duration {
	want, seen := uint64(q*float64(l.count)), uint64(0)
	for i, n := range l.buckets {
		if seen += uint64(n); seen > want {
			return min(time.Duration(math.Exp2(float64(i+1)/latencySteps)), l.most)
		}
	}
	return l.most
}
