package ctl

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Limits of trying again.
const (
	maxTries   = 50
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// submit asks for a commit. With an idempotency key, in the header or in the
// body, it tries again while there is no connection or the daemon answers 503,
// within the time allowed; the key makes sure that it happens once. Without a
// key it asks once, since a request without an answer may have taken effect.
func (c *call) submit(r request, keyed bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	tries := 1
	if keyed {
		tries = maxTries
	}
	a, err := c.try(ctx, r, tries)
	if err != nil {
		return nil, unknownOutcome(err, keyed)
	}
	err = c.refusal(a)
	var refused *apiError
	if errors.As(err, &refused) && refused.Code == "" && (a.status < 400 || a.status >= 500) {
		err = mayBeCommitted(err, keyed) // of something in between, which may have passed it on
	}
	return a, err
}

// try asks up to n times.
func (c *call) try(ctx context.Context, r request, n int) (*answer, error) {
	again := "trying again with the same key"
	if r.method == http.MethodGet {
		again = "trying again"
	}
	return c.tryTo(ctx, n, again, func() (*answer, error) { return c.api.do(ctx, r) })
}

// tryTo calls ask up to n times, and once says why it tries again.
func (c *call) tryTo(ctx context.Context, n int, saying string, ask func() (*answer, error)) (*answer, error) {
	for i := 1; ; i++ {
		a, err := ask()
		again, why := worthTrying(a, err)
		if !again || i == n || ctx.Err() != nil {
			return a, err
		}
		wait := backoff(i, a)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return a, err
		}
		if i == 1 {
			c.say("%s; %s", why, saying)
		}
		if c.api.pause(ctx, wait) != nil {
			return a, err
		}
	}
}

// worthTrying reports whether the same request may be answered later, and why it was not now.
func worthTrying(a *answer, err error) (bool, string) {
	var silent *noAnswer
	if errors.As(err, &silent) {
		if distrust(silent.err) != "" {
			return false, "" // and will not later
		}
		return true, err.Error()
	}
	if err == nil && a.status == http.StatusServiceUnavailable {
		return true, a.check().Error()
	}
	return false, ""
}

// backoff is the pause after try i (from 1): doubling, and at least what
// Retry-After asks for, up to maxPause.
func backoff(i int, a *answer) time.Duration {
	wait := firstPause << min(i-1, 10)
	if a != nil {
		if seconds, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil {
			wait = max(wait, time.Duration(min(seconds, 3600))*time.Second)
		}
	}
	return min(wait, maxPause)
}

// unknownOutcome adds to a missing answer what it means for a commit.
func unknownOutcome(err error, keyed bool) error {
	var silent *noAnswer
	if !errors.As(err, &silent) || silent.neverSent() {
		return err
	}
	return mayBeCommitted(err, keyed)
}

// mayBeCommitted adds to an error that the outcome is unknown, and what to do.
func mayBeCommitted(err error, keyed bool) error {
	if keyed {
		return exitf(exitSilent, "%v; whether it was committed is not known: run it again with the same key", err)
	}
	return exitf(exitSilent, "%v; whether it was committed is not known: "+
		"look with ledgerctl read commits, and give -key to be able to run it again", err)
}
