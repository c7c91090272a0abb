package client

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Limits of retries.
const (
	MaxTries       = math.MaxInt // the retries are limited only by time
	firstPause     = 20 * time.Millisecond
	shortPauses    = 4 // number of pauses before they grow; a handover usually takes no longer than these
	maxPause       = 2 * time.Second
	mostRetryAfter = 30 * time.Second
)

// Try calls the function ask up to n times, with pauses, until there is a result that a retry would not change. It returns
// the last result. It does not begin a pause that would exceed ctx's deadline. Before the first retry, it passes the reason
// to the function `again`, unless that is nil.
func (c *Client) Try(ctx context.Context, n int, again func(why error), ask func() (*Answer, error)) (*Answer, error) {
	for i := 1; ; i++ {
		a, err := ask()
		why := transient(a, err)
		if why == nil || i == n || ctx.Err() != nil {
			return a, err
		}
		wait := Backoff(i, a)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return a, err
		}
		if i == 1 && again != nil {
			again(why)
		}
		if c.pause(ctx, wait) != nil {
			return a, err
		}
	}
}

// transient returns the failure if the same request may succeed later, and nil otherwise.
func transient(a *Answer, err error) error {
	if err == nil {
		err = a.Err()
	}
	if passes(err) {
		return err
	}
	return nil
}

// passes reports whether a failure may be temporary.
func passes(err error) bool {
	silent, isSilent := errors.AsType[*NoAnswer](err)
	refused, isRefused := errors.AsType[*Refused](err)
	return isSilent && silent.distrust() == "" || isRefused && refused.Status >= http.StatusInternalServerError
}

// Backoff returns the pause after attempt i, counted from 1. The first pauses are short. Then they double, up to 2 s. All
// have jitter. The Retry-After of the response is added, up to 30 s, except that of a daemon that hands over, because
// another daemon will be ready sooner.
func Backoff(i int, a *Answer) time.Duration {
	wait := min(firstPause<<min(max(i-shortPauses, 0), 10), maxPause)
	wait = wait/2 + rand.N(wait/2)
	if a != nil && !handsOver(Code(a.Err())) {
		if seconds, err := strconv.Atoi(a.Header.Get("Retry-After")); err == nil && seconds > 0 {
			wait += min(time.Duration(min(seconds, 3600))*time.Second, mostRetryAfter)
		}
	}
	return wait
}

// handsOver reports whether a daemon that rejects with this code is stopping or is not the writer.
func handsOver(code string) bool { return code == "ShuttingDown" || code == "NotTheWriter" }

// Pause waits for d, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retry waits before the next attempt. It returns an error if there must be no further attempt.
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

// unanswered returns the error for the lines without a result. If the caller has stopped sending and no line is in doubt, it
// is errStopped.
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

// doubt marks the lines that were sent and have no result.
func (p *pipeline) doubt() {
	for i := p.held; i < p.sent; i++ {
		p.queue[i].doubt = p.queue[i].Given == nil
	}
}
