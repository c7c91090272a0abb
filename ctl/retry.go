package ctl

import (
	"context"
	"errors"

	"assetledger/ctl/client"
)

// submit sends a commit. With an idempotency key, in the header or in the body, it
// retries while there is no response or its status is 500 or more, within the time
// allowed. The key ensures that the commit takes effect once. Without a key it sends
// the request once, since one without a response may have taken effect.
func (c *call) submit(r request, keyed bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.timeout.Duration)
	defer cancel()
	tries := 1
	if keyed {
		tries = client.MaxTries
	}
	sent, unknown, err := c.api.Submit(ctx, r, tries, c.again(sameKey))
	a, err := received(sent, err)
	if err != nil && unknown {
		err = mayBeCommitted(err, keyed)
	}
	if err != nil {
		return nil, err
	}
	err = c.refusal(a)
	var refused *apiError
	if errors.As(err, &refused) && (a.Status == 500 || refused.Code == "" && (a.Status < 400 || a.Status > 500)) {
		err = mayBeCommitted(err, keyed) // of a defect, or of something in between, which may have passed it on
	}
	return a, err
}

// sameKey says how a commit is retried.
const sameKey = "trying again with the same key"

// again returns a function that reports why something is tried again.
func (c *call) again(saying string) func(why error) {
	return func(why error) { c.say("%v; %s", inWords(why), saying) }
}

// mayBeCommitted adds to an error that the outcome is unknown, and what to do.
func mayBeCommitted(err error, keyed bool) error {
	if keyed {
		return exitf(exitSilent, "%v; whether it was committed is not known: run it again with the same key", err)
	}
	return exitf(exitSilent, "%v; whether it was committed is not known: "+
		"look with ledgerctl read commits, and give -key to be able to run it again", err)
}
