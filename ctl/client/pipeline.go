package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"time"
)

const (
	longLine = 1 << 20  // longest line for a stream in bytes: the daemon's default of -max-body
	maxAhead = 32 << 20 // when the lines without a result have this size in bytes, no more are taken from the source
)

// A pipeline is one call to CommitLines:
//
//	source → queue → stream, or batch request → results → yield
//	a stream breaks → the whole queue is sent again, in the next stream
//
// The queue begins with held lines. Their results, such as Overloaded, say that a retry is safe, so they wait to be sent
// again. Then come the lines that were sent and have no result, and then those that were not sent.
type pipeline struct {
	c       *Client
	o       LinesOptions
	source  <-chan run      // nil once it has ended
	sending context.Context // done once nothing more is to be sent
	more    bool            // the source can yield more lines without waiting
	queue   []Line          // lines without a final result, the oldest first
	memory  []Line          // the array that queue is a part of
	size    int             // size of the lines in queue in bytes
	sent    int             // number of lines in queue that were sent, including the held ones
	held    int             // number of held lines in queue
	out     Answered        // the last result
	yield   func(Answered, error) bool

	opened   bool      // a daemon has accepted a stream or a batch request
	noStream bool      // the daemon's version does not support streams
	refused  bool      // a line was rejected, and OnError is stop
	said     bool      // Again was called since the last result
	tries    int       // number of attempts since a result was yielded
	since    time.Time // when a result was last yielded, or the queue was last empty
	address  string    // address of the daemon
	answer   *Answer   // response with which the daemon rejected the last attempt; nil: it did not
}

// A run is a group of lines that the source yields at once.
type run struct {
	lines []Line
	more  bool // more lines are available without waiting
}

var (
	errStopped = errors.New("stopped")        // the caller ended the iteration, or closed Stop
	errHeld    = errors.New("lines are held") // all lines that were sent after the held ones can be sent again
)

// run makes attempts until every line has a result.
func (p *pipeline) run(ctx context.Context) error {
	for {
		for len(p.queue) == 0 && p.source != nil && !p.halted() {
			if err := p.receive(ctx); err != nil {
				return err
			}
		}
		if len(p.queue) == 0 {
			return nil
		}
		if p.halted() {
			return p.unanswered(&NoAnswer{p.address, context.Canceled})
		}
		p.sent, p.held, p.answer = 0, 0, nil
		err := p.attempt(ctx)
		if err == errHeld {
			err = p.answer.Err()
		}
		if err == errStopped {
			return err
		}
		if err != nil {
			p.doubt()
			err = p.retry(ctx, err)
		}
		if err != nil {
			return err
		}
	}
}

// receive waits for lines from the source.
func (p *pipeline) receive(ctx context.Context) error {
	select {
	case r, open := <-p.source:
		return p.take(r, open)
	case <-p.sending.Done():
		if ctx.Err() == nil {
			return nil
		}
		return &Unanswered{Err: &NoAnswer{p.o.Base, ctx.Err()}}
	}
}

// take appends a run, and all others that have already arrived, to the queue, up to the limits.
func (p *pipeline) take(r run, open bool) error {
	if len(p.queue) == 0 {
		p.since = time.Now()
	}
	for arrived := true; arrived; {
		if !open {
			p.source, p.more = nil, false
			break
		}
		p.push(r.lines)
		p.more = r.more
		if p.full() {
			break
		}
		select {
		case r, open = <-p.source:
		default:
			arrived = false
		}
	}
	return p.passGiven()
}

// push appends lines to the queue. If its capacity is used up, the queue moves to the front of memory, or to a larger array.
func (p *pipeline) push(lines []Line) {
	if n := len(p.queue) + len(lines); n > cap(p.queue) {
		if n > len(p.memory)/2 {
			p.memory = make([]Line, 2*n)
		}
		p.queue = p.memory[:copy(p.memory, p.queue)]
	}
	p.queue = append(p.queue, lines...)
	for i := range lines {
		p.size += len(lines[i].Text)
	}
}

func (p *pipeline) full() bool { return len(p.queue) >= p.o.Window || p.size >= maxAhead }

// passGiven yields the lines with given results at the front of the queue. After a held line, they are held too.
func (p *pipeline) passGiven() error {
	for len(p.queue) > 0 && p.held == 0 && p.queue[0].Given != nil {
		if err := p.tell(known(&p.queue[0])); err != nil {
			return err
		}
	}
	for p.held > 0 && p.held < p.sent && p.queue[p.held].Given != nil {
		p.held++
	}
	return nil
}

// attempt sends the queue over one stream, or its first lines in a batch request.
func (p *pipeline) attempt(ctx context.Context) error {
	p.address = p.c.address(p.o.Base)
	if p.noStream || len(p.queue[0].Text) > longLine {
		return p.request(ctx)
	}
	within, cancel := context.WithTimeout(p.sending, p.patience())
	defer cancel()
	s, refusal, err := p.c.openStream(within, ctx, p.o.Base, p.o.OnError)
	if err == errNoStream {
		p.noStream = true
		return p.request(ctx)
	}
	if err == nil && refusal != nil {
		p.answer, err = refusal, refusal.Err()
	}
	if err != nil {
		return err
	}
	p.opened, p.address = true, s.url
	defer s.close()
	if err = p.stream(ctx, s); err != nil {
		s.abort()
	}
	return err
}

// patience returns the maximum time to wait for the next result.
func (p *pipeline) patience() time.Duration {
	if p.c.o.Timeout > 0 {
		return p.c.o.Timeout
	}
	return p.o.GiveUp
}

// stream sends lines over an open stream until every line has a result, the stream ends, or the next line needs a batch
// request.
func (p *pipeline) stream(ctx context.Context, s *stream) (err error) {
	late := time.NewTimer(p.patience())
	defer late.Stop()
	stop := p.sending.Done()
	for err == nil && (p.source != nil || len(p.queue) > 0) {
		if !p.halted() {
			p.send(s)
		}
		if p.sent == 0 && (len(p.queue) > 0 || p.halted()) {
			return nil // the next line is too long, or sending has stopped
		}
		source := p.source
		if p.full() || p.halted() {
			source = nil
		}
		select {
		case r, open := <-source:
			if len(p.queue) == 0 {
				late.Reset(p.patience())
			}
			err = p.take(r, open)
		case lines, open := <-s.results:
			if !open {
				return p.ended(s)
			}
			late.Reset(p.patience())
			if err = p.results(s, lines); err == nil && s.last != nil {
				return p.ended(s) // the daemon keeps the connection open for a moment
			}
		case <-late.C:
			if len(p.queue) > 0 {
				err = &NoAnswer{s.url, os.ErrDeadlineExceeded}
			}
		case <-stop:
			if stop = nil; ctx.Err() != nil {
				err = &NoAnswer{s.url, ctx.Err()}
			}
		case <-ctx.Done():
			err = &NoAnswer{s.url, ctx.Err()}
		}
	}
	return err
}

// send sends the lines that have not been sent yet, up to the first that is too long for a stream.
func (p *pipeline) send(s *stream) {
	n := 0
	for i := p.sent; i < len(p.queue); i++ {
		n += len(p.queue[i].Text) + 1
	}
	text := make([]byte, 0, n)
	for ; p.sent < len(p.queue) && len(p.queue[p.sent].Text) <= longLine; p.sent++ {
		if l := &p.queue[p.sent]; l.Given == nil {
			text = append(append(text, l.Text...), '\n')
		}
	}
	if len(text) > 0 {
		s.send(text)
	}
}

// ended handles the end of a stream, and returns why it ended. Unless the connection broke, lines without a result had no
// effect.
func (p *pipeline) ended(s *stream) error {
	err := s.ended()
	if p.sent == 0 {
		return nil // the next attempt reports a lasting problem
	}
	if errors.As(err, new(*NoAnswer)) {
		return err
	}
	if p.refused {
		return p.results(s, bytes.Repeat([]byte(notTried), p.sent))
	}
	if s.last != nil {
		p.answer = s.last
	} else if p.held > 0 {
		err = errHeld
	}
	p.sent = p.held
	return err
}

// notTried is the result of the lines that the daemon did not read, because OnError is stop and an earlier line failed.
const notTried = `{"error":{"code":"NotAttempted","message":"Not tried, because an earlier transaction failed and on_error is stop.","details":{}}}` + "\n"

// results handles the next results, which arrive in the order of the lines.
func (p *pipeline) results(s *stream, lines []byte) error {
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if lines = rest; !s.isResult(line) {
			continue
		}
		if err := p.result(s.url, line, len(rest) > 0); err != nil {
			return err
		}
	}
	return nil
}

// result handles the result of the next line.
func (p *pipeline) result(url string, raw []byte, more bool) error {
	switch {
	case p.refused && p.sent == 0:
		return nil // the line was sent, but comes after a given result, and is not in the queue any more
	case p.held == p.sent:
		return fmt.Errorf("%s returned a result for a line that was not sent: %.200q", url, raw)
	}
	l := &p.queue[p.held]
	a := &p.out
	a.Raw, a.More = raw, more
	if err := ParseVerdict(raw, &a.Verdict); err != nil {
		return fmt.Errorf("%s returned an invalid result: %.200q", url, raw)
	}
	if p.holds(l, a.Err) {
		l.busy = bytes.Clone(raw)
		p.held++
		p.answer = &Answer{Status: http.StatusServiceUnavailable, Body: l.busy, URL: url}
		if err := p.passGiven(); err != nil || p.held < p.sent {
			return err
		}
		return errHeld
	}
	if p.held > 0 && !slices.ContainsFunc(p.queue[p.held:p.sent], func(l Line) bool { return !l.Keyed && l.Given == nil }) {
		return errHeld // all these lines have keys: this one too is sent again, so that the order is kept
	}
	for p.held > 0 { // a later line can't be sent again: to keep the order, the held ones get their last results
		if err := p.tell(known(&p.queue[0])); err != nil {
			return err
		}
	}
	if len(p.queue) == 0 {
		return nil // OnError is stop, and one of the held lines has failed
	}
	if err := p.tell(a); err != nil {
		return err
	}
	return p.passGiven()
}

// holds reports whether a line is to be sent again, because a retry may succeed and is safe: the line had no effect, or it may
// have had one, but has a key.
func (p *pipeline) holds(l *Line, refused *Refused) bool {
	switch {
	case refused == nil || p.refused:
		return false
	case refused.Code == "LogUnavailable":
		l.doubt = true
		return l.Keyed
	}
	return nothingDone(refused.Code) || refused.Code == "NotAttempted" && p.held > 0
}

// known returns the result that a line already has: the given one, or that of a held line.
func known(l *Line) *Answered {
	a := &Answered{}
	if a.Raw = l.Given; a.Raw == nil {
		a.Raw = l.busy
	}
	ParseVerdict(a.Raw, &a.Verdict) // ignore the error: a given result need not be from the ledger
	return a
}

// tell yields the result of the oldest line, and removes the line from the queue.
func (p *pipeline) tell(a *Answered) error {
	a.Line = p.queue[0]
	p.queue, p.size = p.queue[1:], p.size-len(a.Text)
	p.sent, p.held = max(p.sent-1, 0), max(p.held-1, 0)
	p.tries, p.since, p.said = 0, time.Now(), false
	p.c.saw(a.GlobalSeq)
	if a.Err != nil && a.Given == nil && p.o.OnError == "stop" && !p.refused {
		p.refused, p.source, p.more = true, nil, false
		given := func(l Line) bool { return l.Given != nil }
		if at := slices.IndexFunc(p.queue[:p.sent], given); at >= 0 {
			p.sent, p.held = at, min(p.held, at)
		}
		p.queue = p.queue[:p.sent]
	}
	if !p.yield(*a, nil) {
		return errStopped
	}
	return nil
}
