package client

import (
	"context"
	"time"
)

// retry waits before the next attempt. It returns an error if there must be none.
func (p *pipeline) retry(ctx context.Context, err error) error {
	keyed, safe := true, true
	for _, l := range p.queue {
		again := l.Keyed || l.Given != nil
		keyed = keyed && again
		safe = safe && (again || p.opened && !l.doubt)
	}
	p.tries++
	wait := Backoff(p.tries, p.answer)
	switch {
	case ctx.Err() != nil:
		return p.unanswered(&NoAnswer{p.address, ctx.Err()})
	case p.halted(), p.refused, !safe, !passes(err), p.tries >= p.o.Tries, time.Now().Add(wait).After(p.since.Add(p.o.GiveUp)):
		return p.unanswered(err)
	}
	if p.answer != nil {
		p.c.turn(p.o.Base, p.address)
	}
	if !p.said && p.o.Again != nil {
		p.o.Again(err, keyed)
	}
	p.said = true
	if p.c.pause(p.sending, wait) != nil {
		return p.unanswered(err)
	}
	return nil
}

// unanswered returns the error of the lines without a result. It is errStopped if the caller has stopped sending, and nothing
// is in doubt.
func (p *pipeline) unanswered(err error) error {
	failed := &Unanswered{Answer: p.answer, Err: err}
	for _, l := range p.queue {
		if l.doubt {
			failed.Doubtful = append(failed.Doubtful, l)
		}
	}
	if p.halted() && len(failed.Doubtful) == 0 {
		return errStopped
	}
	return failed
}

// halted reports whether the caller has stopped sending.
func (p *pipeline) halted() bool { return context.Cause(p.sending) == errStopped }

// doubt notes that the outcome of what was sent and not answered is unknown.
func (p *pipeline) doubt() {
	for i := p.held; i < p.sent; i++ {
		p.queue[i].doubt = p.queue[i].Given == nil
	}
}
