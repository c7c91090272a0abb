package ctl

import (
	"flag"
	"maps"
	"net/url"
	"strconv"
	"time"

	"assetledger/ctl/client"
)

var readFreshnessCommand = readRow{
	words: "read freshness", purpose: "show which commit the read daemon has reached",
	notes:    "For scripts there is ledgerctl freshness, which waits and has limits.",
	examples: [2]string{"read freshness", "read freshness -min-seq 12 -wait 5s -o json"},
	path:     "/v1/read/freshness",
	render: func(c *call, a *answer) error {
		e, err := a.freshness()
		if err != nil {
			return err
		}
		return c.showItem(e, freshnessFields)
	},
}.command()

var freshnessCommand = command{
	Words:   "freshness",
	Purpose: "wait until the read daemon has reached a commit; for scripts",
	Notes: "The exit code is 5 if commit -min-seq cannot be read within -wait, or if more than -max-lag commits\n" +
		"are durable but cannot be read yet. -wait 12 without -min-seq, the older spelling, waits for commit 12.",
	Examples: [2]string{"freshness -min-seq 12 -wait 2s", "freshness -max-lag 10"},
	Setup: func(set *flag.FlagSet) action {
		f := &freshnessFlags{minSeq: anyKey(), maxLag: anyKey()}
		set.Var(&f.minSeq, "min-seq", "wait until commit `SEQ` can be read")
		set.Var(&f.wait, "wait", "maximum `TIME` to wait for -min-seq (default: that of -timeout)")
		set.Var(&f.maxLag, "max-lag", "allow a lag of at most `N` commits")
		return f.run
	},
}

type freshnessFlags struct {
	minSeq, maxLag number
	wait           textFlag
}

// bound parses -wait: a time with -min-seq, or the number of a commit without it.
func (f *freshnessFlags) bound(c *call) (err error) {
	switch {
	case f.wait == "":
		return nil
	case f.minSeq.given:
		err = c.timeout.Set(string(f.wait))
	case isInteger(string(f.wait)):
		err = f.minSeq.Set(string(f.wait))
	default:
		return usagef("-wait needs -min-seq, the commit to wait for")
	}
	if err != nil {
		return usagef("-wait is %s: %v", f.wait, err)
	}
	return nil
}

// freshness returns the freshness of a response with its data, the lag, as one object.
func (a *answer) freshness() (entry, error) {
	var page struct{ Data, Freshness entry }
	if err := a.decode(&page); err != nil {
		return nil, err
	}
	for _, field := range []string{"checkpoint_seq", "commit_log_seq"} {
		if !isInteger(string(page.Freshness[field])) {
			return nil, a.lacks(field)
		}
	}
	maps.Copy(page.Freshness, page.Data)
	return page.Freshness, nil
}

const freshnessFields view = "checkpoint_seq commit_log_seq lag lag_ms"

func (f *freshnessFlags) run(c *call) error {
	if err := f.bound(c); err != nil {
		return err
	}
	a, err := f.await(c)
	if err != nil {
		return err
	}
	e, err := a.freshness()
	if err != nil {
		return err
	}
	if c.json() {
		c.showRaw(a)
	} else if err := c.showItem(e, freshnessFields); err != nil {
		return err
	}
	lag, err := strconv.ParseInt(string(e["lag"]), 10, 64)
	switch {
	case !f.maxLag.given:
		return nil
	case err != nil:
		return a.lacks("lag")
	case lag > f.maxLag.value:
		return exitf(exitStale, "the read daemon is %s behind the log, and -max-lag is %d", count(lag, "commit"), f.maxLag.value)
	}
	return nil
}

// await sends the request until commit f.minSeq is visible or the time has passed. Usually
// the daemon waits. If the commit is not in the log yet, the daemon responds at once, and
// await sends the request again after a pause.
func (f *freshnessFlags) await(c *call) (*answer, error) {
	const grace = time.Second // for the response to arrive after the daemon has waited
	deadline := time.Now().Add(c.timeout.Duration)
	for i := 1; ; i++ {
		left := max(0, time.Until(deadline)).Truncate(time.Millisecond)
		q := url.Values{}
		if f.minSeq.given {
			setQuery(q, "min_seq", &f.minSeq)
			q.Set("wait", min(left, maxWait).String())
		}
		asked := *c
		asked.timeout.Duration = left + grace
		a, err := asked.peek("/v1/read/freshness", q)
		if err != nil {
			return nil, err
		}
		wait := client.Backoff(i, nil)
		if exitCode(a.check()) != exitStale || time.Until(deadline) < wait {
			return a, c.refusal(a)
		}
		if err := client.Pause(c.ctx, wait); err != nil {
			return nil, err
		}
	}
}
