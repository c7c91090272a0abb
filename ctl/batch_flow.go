package ctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"assetledger/ledger"
)

// A flow is the requests of a batch on their way. While all is well they follow
// each other in one stream, and results are shown as they come. When a stream
// ends, what was in it is sent again if that is safe, one request after the other.
type flow struct {
	b       *batch
	c       *call
	filling *lineRequest   // not sent
	sent    []*lineRequest // in the stream, without all of their results; the oldest first
	stream  *lineStream    // nil: none is open
	noMore  bool           // the daemon is older than streams
	fatal   error          // it makes no sense to go on
}

// maxAhead is how many requests are on their way while another is filled.
const maxAhead = 3

// A failure is why a stream ended: an answer that refuses, or that there is
// none. With neither, lines without a result can be sent again in any case.
type failure struct {
	answer *answer
	err    error
}

// line adds a line to the request that is filled, which is sent first if it is
// full. A line that is not JSON would spoil a whole batch request: it is refused here.
func (f *flow) line(l inputLine) error {
	b, r := f.b, f.filling
	if b.mark.isDone(l.number) {
		b.skip(f.c, l.number)
		return nil
	}
	l.text = ofWords(l.text)
	refusal := ledger.ParseTransaction(l.text, &r.tx, jsonLimits)
	if refusal != nil && refusal.Code == ledger.MalformedJSON {
		if err := f.drain(); err != nil || b.stopped() {
			return err
		}
		one := &lineRequest{b: b, lines: []int{l.number}}
		if err := one.result(f.c, append(ledger.AppendError([]byte(`{"error":`), refusal), '}')); err != nil {
			return err
		}
		return one.finish(f.c)
	}
	text, keyed := l.text, refusal == nil && len(r.tx.Key) > 0
	if refusal == nil && !keyed && b.mark != nil {
		text, keyed = b.mark.withKey(text, l.number), true
	}
	if r.n() == ledger.MaxBatch || r.n() > 0 && len(r.body)+len(text) > maxBatchBytes {
		if err := f.dispatch(); err != nil || b.stopped() {
			return err
		}
		r = f.filling
	}
	r.add(text, l.number, keyed)
	return nil
}

// ofWords is the transaction of a line that is one operation in words, as -op
// takes it. Other lines stay.
func ofWords(line []byte) []byte {
	if line[0] < 'A' || line[0] > 'Z' {
		return line
	}
	op, err := ledger.ParseOpWords(string(line))
	if err != nil {
		return line
	}
	return append(ledger.AppendOperations([]byte(`{"operations":`), []ledger.Op{op}), '}')
}

// end sends what is left, and waits for all results.
func (f *flow) end(in *lineReader, why error) error {
	if err := f.drain(); err != nil {
		return err
	}
	if why != io.EOF && !f.b.stopped() {
		return f.b.unreadable(in, why)
	}
	return f.b.mark.save(f.c, true)
}

// drain sends what was filled, and waits for all results.
func (f *flow) drain() error {
	if err := f.dispatch(); err != nil {
		return err
	}
	return f.await(0)
}

// dispatch sends the request that was filled, if there is anything in it, and
// waits while too many are on their way.
func (f *flow) dispatch() error {
	r := f.filling
	if r.n() == 0 {
		return nil
	}
	f.filling = &lineRequest{b: f.b, body: make([]byte, 0, len(r.body)), tx: r.tx}
	if r.long || f.noMore || len(f.sent) == 0 && !f.stream.idle() {
		if err := f.await(0); err != nil || f.b.stopped() {
			return err
		}
		return f.settle(r)
	}
	f.put(r)
	return f.await(maxAhead)
}

// put sends what of a request has no result, and doesn't wait.
func (f *flow) put(r *lineRequest) {
	r.since = time.Now()
	f.sent = append(f.sent, r)
	f.stream.send(r.rest())
}

// awaits is where results come from, and when the oldest request is late.
func (f *flow) awaits() (results <-chan []byte, late <-chan time.Time) {
	if len(f.sent) == 0 {
		return nil, nil
	}
	return f.stream.results, time.After(time.Until(f.deadline()))
}

func (f *flow) deadline() time.Time { return f.sent[0].since.Add(f.c.timeout.Duration) }

// await takes results until at most so many requests are on their way.
func (f *flow) await(atMost int) error {
	for len(f.sent) > atMost {
		ctx, cancel := context.WithDeadline(f.c.ctx, f.deadline())
		chunk, open, err := f.stream.receive(ctx)
		cancel()
		if err != nil {
			err = f.broke(failure{err: err})
		} else {
			err = f.got(chunk, open)
		}
		if err != nil || f.b.stopped() && len(f.sent) == 0 {
			return err
		}
	}
	return nil
}

// got takes what came from the stream: results, or its end.
func (f *flow) got(chunk []byte, open bool) error {
	if !open {
		return f.broke(f.stream.why())
	}
	return f.results(chunk)
}

// results shows results, which are those of the oldest lines.
func (f *flow) results(chunk []byte) error {
	b, s := f.b, f.stream
	b.bar.clear()
	for line := range bytes.Lines(chunk) {
		if line = bytes.TrimSuffix(line, []byte{'\n'}); s.isOwn(line) {
			continue
		}
		if len(f.sent) == 0 {
			return b.unclear(fmt.Errorf("%s answered a line that was not sent: %.200q", s.url, line))
		}
		r := f.sent[0]
		if err := r.result(f.c, line); err != nil {
			return err
		}
		s.told++
		if r.done < r.n() {
			continue
		}
		if f.sent = f.sent[1:]; len(f.sent) > 0 {
			f.sent[0].since = time.Now()
		}
		if err := r.finish(f.c); err != nil {
			return err
		}
	}
	if !b.bar.regular && !f.c.json() {
		b.table.flush()
	}
	return f.c.out.Flush()
}

// broke is for a stream that ended, or must: what was in it is sent again, if
// that is safe.
func (f *flow) broke(why failure) error {
	f.stream.failed = true
	again := f.sent
	f.sent = nil
	if f.untried(why, again) {
		return f.fatal
	}
	for i, r := range again {
		if why != (failure{}) {
			r.failed = &why
		}
		if i > 0 {
			r.since = time.Now()
		}
		if f.b.stopped() && why.err != nil {
			return f.unanswered(why.err, again[i:])
		}
		if f.b.stopped() {
			return nil
		}
		if err := f.settle(again[i:]...); err != nil {
			return err
		}
	}
	return nil
}

// unanswered is the error of requests whose lines have no results.
func (f *flow) unanswered(err error, requests []*lineRequest) error {
	first, last := requests[0], requests[len(requests)-1]
	keyed := true
	for _, r := range requests {
		keyed = keyed && !r.unkeyed
	}
	return f.b.unanswered(err, fmt.Sprintf("of lines %d to %d", first.lines[first.done], last.lines[last.n()-1]), keyed)
}

// untried gives lines without a result theirs when the stream ended since one
// was refused and -on-error is stop; false if it did not.
func (f *flow) untried(why failure, requests []*lineRequest) bool {
	if why != (failure{}) || !f.b.stopped() {
		return false
	}
	for _, r := range requests {
		for r.done < r.n() && f.fatal == nil {
			f.fatal = r.result(f.c, []byte(notTried))
		}
		if f.fatal == nil {
			f.fatal = r.finish(f.c)
		}
	}
	return true
}

// settle sends a request alone, and waits until it is answered. When all its
// transactions have keys, it is tried again until then. What follows it in
// requests has no outcome either.
func (f *flow) settle(requests ...*lineRequest) error {
	r, tries := requests[0], 1
	if !r.unkeyed {
		tries = maxTries
	}
	if r.since.IsZero() {
		r.since = time.Now()
	}
	ctx, cancel := context.WithDeadline(f.c.ctx, r.since.Add(f.c.timeout.Duration))
	defer cancel()
	a, err := f.ask(ctx, r, tries)
	if f.fatal != nil {
		return f.fatal
	}
	if err == nil {
		err = f.c.refusal(a)
	}
	if err != nil {
		r.show(f.c)
		return f.unanswered(err, requests)
	}
	return r.finish(f.c)
}

// ask sends the lines in a stream, or as a batch request.
func (f *flow) ask(ctx context.Context, r *lineRequest, tries int) (*answer, error) {
	if !f.noMore && !r.long {
		a, err := f.c.tryTo(ctx, tries, "trying again with the same key", func() (*answer, error) { return f.askStream(ctx, r) })
		if f.noMore = errors.Is(err, errNoStream); !f.noMore {
			return a, err
		}
	}
	lines := r.rest()
	text := append([]byte(`{"transactions":[`), bytes.ReplaceAll(lines[:len(lines)-1], []byte{'\n'}, []byte{','})...)
	text = append(text, ']')
	if f.b.onError.value != "" {
		text = fmt.Appendf(text, `,"on_error":%q`, f.b.onError.value)
	}
	a, err := f.c.try(ctx, request{method: http.MethodPost, base: f.c.writeURL, path: "/v1/commit/batch", body: append(text, '}')}, tries)
	if err != nil || a.status != http.StatusOK {
		return a, err
	}
	f.fatal = f.wholeAnswer(a, r)
	return a, nil
}

// wholeAnswer takes the results of a batch request.
func (f *flow) wholeAnswer(a *answer, r *lineRequest) error {
	var whole struct{ Results []json.RawMessage }
	if err := a.decode(&whole); err != nil {
		return f.b.unclear(err)
	}
	if left := r.n() - r.done; len(whole.Results) != left {
		return f.b.unclear(fmt.Errorf("%s answered %s to %s", a.url, count(len(whole.Results), "result"), count(left, "transaction")))
	}
	f.b.bar.clear()
	for _, raw := range whole.Results {
		if err := r.result(f.c, raw); err != nil {
			return err
		}
	}
	return nil
}

// askStream sends the lines that have no result yet in the open stream, or in a
// new one. The outcome of the stream that failed under a request is that of the
// first try.
func (f *flow) askStream(ctx context.Context, r *lineRequest) (*answer, error) {
	if was := r.failed; was != nil {
		r.failed = nil
		return was.answer, was.err
	}
	for r.done < r.n() {
		if !f.stream.idle() {
			f.stream.close()
			s, refused, err := f.c.openStream(ctx, f.b.onError.value)
			if f.stream = s; s == nil {
				return refused, err
			}
		}
		why := f.exchange(ctx, r)
		if f.fatal != nil {
			return nil, f.fatal
		}
		if why != nil {
			return why.answer, why.err
		}
	}
	return &answer{status: http.StatusOK}, nil
}

// exchange sends the lines of a request and waits for their results; nil when
// they are there, or when the others can be sent in a new stream.
func (f *flow) exchange(ctx context.Context, r *lineRequest) *failure {
	f.sent = []*lineRequest{r}
	f.stream.send(r.rest())
	for len(f.sent) > 0 {
		chunk, open, err := f.stream.receive(ctx)
		if open {
			if f.fatal = f.results(chunk); f.fatal != nil {
				return nil
			}
			continue
		}
		f.sent, f.stream.failed = nil, true
		why := failure{err: err}
		if err == nil {
			why = f.stream.why()
		}
		if !f.untried(why, []*lineRequest{r}) && why != (failure{}) {
			return &why
		}
	}
	return nil
}

// close ends the stream.
func (f *flow) close() {
	if len(f.sent) > 0 {
		f.stream.failed = true
	}
	f.stream.close()
}
