package ctl

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/server/metrics"
)

var healthCommand = command{
	Words:   "health",
	List:    true,
	Purpose: "show whether the daemons are healthy",
	Notes: "The exit code is 4 unless all requested daemons are healthy, and 2 if an address is that of the wrong daemon, or the\n" +
		"daemons belong to different ledgers. CSV lists only the daemons. JSON also lists the write daemon's readers.",
	Examples: [2]string{"health", "health -read -read-url http://127.0.0.1:8082"},
	Setup:    setup((*which).health),
}

// which says which daemons a command asks: both unless exactly one flag is given.
type which struct{ write, read bool }

func (w *which) declare(set *flag.FlagSet) {
	set.BoolVar(&w.write, "write", false, "only the write daemon")
	set.BoolVar(&w.read, "read", false, "only the read daemon")
}

type daemon struct{ name, url string }

func (w *which) daemons(c *call) (list []daemon) {
	for _, d := range []daemon{{"write", c.writeURL}, {"read", c.readURL}} {
		if w.write != w.read && w.write != (d.name == "write") {
			continue // only the other one is asked
		}
		for _, at := range strings.Split(d.url, ",") {
			list = append(list, daemon{d.name, at})
		}
	}
	return list
}

type healthData struct {
	Status    string
	CommitLog *reached `json:"commit_log"` // of a write daemon
	Freshness *reached // of a read daemon
}

// reached says how far a daemon has got.
type reached struct {
	CheckpointSeq int64 `json:"checkpoint_seq"`
	CommitLogSeq  int64 `json:"commit_log_seq"`
	EndSeq        int64 `json:"end_seq"`
	Lag           int64
	Driver        struct{ Name, Path string }
	Readers       []struct {
		Name          string
		CheckpointSeq int64 `json:"checkpoint_seq"`
		Lag           int64
	}
}

func (w *which) health(c *call) error {
	overview := c.listTable("daemon status checkpoint_seq commit_log_seq lag log")
	readers := c.listTable("reader checkpoint_seq lag")
	var worst error
	for _, d := range w.daemons(c) {
		if err := d.health(c, overview, readers); err != nil {
			c.say("%s daemon: %v", d.name, err)
			worst = errors.Join(worst, err)
		}
	}
	if !c.json() && len(overview.rows) > 0 {
		overview.flush()
		if len(readers.rows) > 0 && !c.csv() {
			fmt.Fprintln(c.out)
			readers.flush()
		}
	}
	if worst != nil {
		return exitf(exitCode(worst), "")
	}
	if w.write == w.read { // both were asked
		return c.sameLedger(false)
	}
	return nil
}

// health asks a daemon for its health, and adds it to the tables.
func (d daemon) health(c *call, overview, readers *table) error {
	a, err := c.askQuietly(request{Method: http.MethodGet, Base: d.url, Path: "/v1/health"})
	if err != nil {
		return err
	}
	var h healthData
	if a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable {
		return a.check()
	}
	if err := a.decode(&h); err != nil {
		return err
	}
	at, other, otherName := h.CommitLog, h.Freshness, "read"
	if d.name == "read" {
		at, other, otherName = other, at, "write"
	}
	switch {
	case h.Status == "", at == nil && other == nil:
		return inWords(a.Refused())
	case at == nil:
		return usagef("-%s-url %s is the address of a %s daemon", d.name, d.url, otherName)
	}
	if c.json() {
		c.showRaw(a)
	}
	log := strings.TrimSpace(at.Driver.Name + " " + at.Driver.Path)
	overview.row(d.name, h.Status, at.CheckpointSeq, max(at.CommitLogSeq, at.EndSeq), at.Lag, cmp.Or(log, none))
	for _, r := range at.Readers {
		readers.row(r.Name, r.CheckpointSeq, r.Lag)
	}
	if a.Status != http.StatusOK {
		return exitf(exitSilent, "it is %s", h.Status)
	}
	return nil
}

var metricsCommand = command{
	Words:    "metrics",
	Purpose:  "show the daemons' metrics unchanged",
	Notes:    "Without -write or -read it shows both, each after a comment with the name of the daemon.",
	Examples: [2]string{"metrics -write", "metrics -read | grep lag"},
	Setup:    setup((*which).metrics),
}

func (w *which) metrics(c *call) error {
	daemons := w.daemons(c)
	for _, d := range daemons {
		a, err := c.get(d.url, "/v1/metrics", nil)
		if err != nil {
			return err
		}
		if kind := a.Header.Get("Content-Type"); kind != metrics.ContentType {
			return notALedgers(a.URL, "its Content-Type is %q", kind)
		}
		if len(daemons) > 1 {
			fmt.Fprintf(c.out, "# %s daemon\n", d.name)
		}
		c.raw(a.Body)
	}
	return c.out.Flush()
}

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

// bound parses -wait: with -min-seq it is a time, and without -min-seq the number of a commit.
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

// freshness returns the freshness in a response, together with its data, which is the lag,
// as one object.
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
