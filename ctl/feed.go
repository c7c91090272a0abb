package ctl

import (
	"context"
	"errors"
	"math"
	"time"

	"assetledger/ctl/client"
)

// errEnough ends a feed without an error.
var errEnough = errors.New("enough was seen")

// follow calls each for every commit after `after`, with the commit's JSON, until
// ctx is done (then the error is nil) or each returns an error. It reconnects after
// a lost connection, for at most the call's time. If the log is known to reach a
// commit, known, the next one must come within that time too; otherwise known is
// math.MaxInt64.
func (c *call) follow(ctx context.Context, after, known int64, each func(seq int64, commit []byte) error) error {
	o := client.FeedOptions{Base: c.readURL, After: after, Lost: c.lost}
	if known < math.MaxInt64 {
		o.Within = c.timeout.Duration
	}
	for commit, err := range c.api.Feed(ctx, o) {
		if err == nil {
			err = each(commit.GlobalSeq, commit.JSON)
		}
		if err == nil && !commit.More {
			err = c.out.Flush() // what was written, before waiting for more
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return inWords(err)
		}
	}
	return nil
}

// lost reports that a connection to the feed is lost, and gives up after the call's
// time.
func (c *call) lost(err error, since time.Duration, connected bool) error {
	silent, _ := errors.AsType[*client.NoAnswer](err)
	err = inWords(err)
	switch {
	case since == 0 && !connected && silent.NeverSent():
		return err
	case since == 0:
		c.say("%v; trying again", err)
	case since > c.timeout.Duration:
		return exitf(exitSilent, "%v; gave up after %v: -timeout gives it longer", err, c.timeout.Duration)
	}
	return nil
}

// lastSeq requests the last durable commit.
func (c *call) lastSeq() (int64, error) {
	a, err := c.get(c.readURL, "/v1/read/freshness", nil)
	if err != nil {
		return 0, err
	}
	page, err := decodeFreshness(a)
	return page.Freshness.CommitLogSeq, err
}
