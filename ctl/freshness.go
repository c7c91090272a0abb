package ctl

import (
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

var readFreshnessCommand = command{
	Words:    "read freshness",
	Purpose:  "show how far the read daemon has come",
	Notes:    "For scripts there is ledgerctl freshness, which waits and sets bounds.",
	Examples: [2]string{"read freshness", "read freshness -min-seq 12 -wait 5s -o json"},
	Setup: func(set *flag.FlagSet) action {
		r := &readFlags{}
		r.declare(set)
		return func(c *call) error {
			return r.show(c, "/v1/read/freshness", func(a *answer) error {
				page, err := decodeFreshness(a)
				if err == nil {
					page.show(c)
				}
				return err
			})
		}
	},
}

var freshnessCommand = command{
	Words:   "freshness",
	Purpose: "wait until the read daemon has come far enough; for scripts",
	Notes: "The exit code is 5 when commit -wait cannot be read within -timeout, or when more than -max-lag commits\n" +
		"are durable but cannot be read yet.",
	Examples: [2]string{"freshness -wait 12 -timeout 2s", "freshness -max-lag 10"},
	Setup: func(set *flag.FlagSet) action {
		f := &freshnessFlags{wait: anyKey(), maxLag: anyKey()}
		// As the flag of readFlags it takes a value; here it is the commit.
		set.Var(&f.wait, "wait", "wait until commit `SEQ` can be read")
		set.Var(&f.maxLag, "max-lag", "allow a lag of at most `N` commits")
		return f.run
	},
}

type freshnessFlags struct {
	wait, maxLag number
}

type freshnessPage struct {
	Data struct {
		Lag   int64   `json:"lag"`
		LagMS float64 `json:"lag_ms"`
	}
	Freshness seqs
}

// seqs is the freshness object of every read.
type seqs struct {
	CheckpointSeq int64 `json:"checkpoint_seq"`
	CommitLogSeq  int64 `json:"commit_log_seq"`
}

func decodeFreshness(a *answer) (*freshnessPage, error) {
	page := &freshnessPage{}
	var has struct{ Freshness map[string]json.RawMessage }
	if err := errors.Join(a.decode(&has), a.decode(page)); err != nil {
		return page, err
	}
	for _, field := range []string{"checkpoint_seq", "commit_log_seq"} {
		if has.Freshness[field] == nil {
			return page, a.lacks(field)
		}
	}
	return page, nil
}

func (p *freshnessPage) show(c *call) {
	t := c.newTable()
	t.row("checkpoint_seq", strconv.FormatInt(p.Freshness.CheckpointSeq, 10))
	t.row("commit_log_seq", strconv.FormatInt(p.Freshness.CommitLogSeq, 10))
	t.row("lag", strconv.FormatInt(p.Data.Lag, 10))
	t.row("lag_ms", strconv.FormatFloat(p.Data.LagMS, 'f', -1, 64))
	t.flush()
}

func (f *freshnessFlags) run(c *call) error {
	a, err := f.await(c)
	if err != nil {
		return err
	}
	page, err := decodeFreshness(a)
	if err != nil {
		return err
	}
	if c.json() {
		c.showRaw(a)
	} else {
		page.show(c)
	}
	if f.wait.given && page.Freshness.CheckpointSeq < f.wait.value {
		return exitf(exitStale, "commit %d cannot be read yet: the read daemon is at %d of %d", f.wait.value, page.Freshness.CheckpointSeq, page.Freshness.CommitLogSeq)
	}
	if f.maxLag.given && page.Data.Lag > f.maxLag.value {
		return exitf(exitStale, "the read daemon lags %s behind the log, and -max-lag is %d", count(page.Data.Lag, "commit"), f.maxLag.value)
	}
	return nil
}

// await asks until commit f.wait can be read or the time is over. The daemon
// does the waiting, as long as it may; only when the commit is not even in the
// log does it answer at once, and is asked again after a pause.
func (f *freshnessFlags) await(c *call) (*answer, error) {
	const grace = time.Second // for the answer to travel when the daemon has waited
	deadline := time.Now().Add(c.timeout.Duration)
	for i := 1; ; i++ {
		left := max(0, time.Until(deadline)).Truncate(time.Millisecond)
		q := url.Values{}
		if f.wait.given {
			setQuery(q, "min_seq", &f.wait)
			q.Set("wait", min(left, maxWait).String())
		}
		asked := *c
		asked.timeout.Duration = left + grace
		a, err := asked.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/freshness", query: q})
		if err != nil {
			return nil, err
		}
		err = a.check()
		wait := backoff(i, nil)
		if exitCode(err) != exitStale || time.Until(deadline) < wait {
			return a, f.missed(c, a, err)
		}
		if err := c.api.pause(c.ctx, wait); err != nil {
			return nil, err
		}
	}
}

// missed says in numbers how far the daemon has come when it was not far enough.
func (f *freshnessFlags) missed(c *call, a *answer, err error) error {
	var refused *apiError
	if !errors.As(err, &refused) {
		return err
	}
	if c.json() {
		c.showRaw(a)
	}
	var at seqs
	if exitCode(err) != exitStale || json.Unmarshal(refused.Details, &at) != nil {
		return err
	}
	if at.CommitLogSeq < f.wait.value {
		return exitf(exitStale, "commit %d is not in the log: its last is %d", f.wait.value, at.CommitLogSeq)
	}
	return exitf(exitStale, "commit %d cannot be read yet: the read daemon is at %d of %d", f.wait.value, at.CheckpointSeq, at.CommitLogSeq)
}
