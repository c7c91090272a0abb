package ctl

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

const (
	maxListLimit = 10_000           // maximum page length of a read daemon
	maxWait      = 30 * time.Second // maximum time that one request may wait for a commit
	mostDrawn    = 256              // maximum number of things to draw; more are listed
)

// A readRun is one run of a read.
type readRun struct {
	*readRow
	minSeq, limit, last number
	wait                duration
	at                  moment
	within              span
	cursor              textFlag
	all, asList         bool
	filters             []flag.Value // in the order of the row
}

// setup declares the flags of the read.
func (row *readRow) setup(set *flag.FlagSet) action {
	r := &readRun{readRow: row, minSeq: anyKey(), at: moment{last: true}, limit: number{least: 1, most: maxListLimit}, last: number{least: 1, most: maxListLimit}}
	set.Var(&r.minSeq, "min-seq", "respond only when commit `SEQ` is visible: pass the global_seq of a commit to read it back")
	set.Var(&r.wait, "wait", "maximum `TIME` to wait for -min-seq, up to 30s (the daemon's default is 1s)")
	if r.past {
		set.Var(&r.at, "at", "state as of this `SEQ|TIME`: "+momentUsage)
	}
	if r.list {
		set.Var(&r.limit, "limit", "at most `N` entries per page, up to 10000 (the daemon's default is 1000)")
		set.Var(&r.cursor, "cursor", "continue after the page that returned this `CURSOR`")
		set.BoolVar(&r.all, "all", false, "read all pages; each is consistent by itself")
	}
	if r.ofCommits {
		set.Var(&r.last, "last", "the newest `N` commits, or the newest before -before or up to -to, newest first")
		r.within.declare(set)
	} else if r.span {
		r.within.declareTimes(set)
	}
	if r.draw != nil {
		set.BoolVar(&r.asList, "list", false, "show a table instead of a drawing, as -limit, -cursor and -all do")
	}
	for _, f := range r.readRow.filters {
		value := f.value()
		set.Var(value, f.flag, f.usage)
		r.filters = append(r.filters, value)
	}
	return r.run
}

func (r *readRun) run(c *call) error {
	path := r.path
	if r.arg != "" {
		ref, err := c.ref(0, r.arg)
		if err != nil {
			return err
		}
		path = strings.Replace(path, "*", ref, 1)
	}
	q, err := r.query(c)
	switch {
	case err != nil:
		return err
	case !r.list:
		err = r.one(c, path, q)
	case r.draw != nil && !r.asList && !r.limit.given && r.cursor == "" && !r.all && !c.json() && !c.csv():
		err = r.drawing(c, path, q)
	default:
		err = r.pages(c, path, q)
	}
	return r.absent(c, err)
}

// query returns the parameters that the flags stand for.
func (r *readRun) query(c *call) (url.Values, error) {
	switch {
	case r.wait.Duration > maxWait:
		return nil, usagef("-wait is %v, but must be at most %v", &r.wait, maxWait)
	case r.wait.Duration > 0 && !r.minSeq.given && r.at.word == "":
		return nil, usagef("-wait needs -min-seq, the commit to wait for")
	case r.minSeq.given && r.at.word != "":
		return nil, usagef("-at waits for its commit itself: omit -min-seq")
	case r.last.given && (r.limit.given || r.cursor != "" || r.all):
		return nil, usagef("-last can't be combined with -limit, -cursor or -all")
	}
	if err := r.within.settle(); err != nil {
		return nil, err
	}
	q := url.Values{}
	for i, f := range r.readRow.filters {
		setQuery(q, f.param, r.filters[i])
	}
	setQuery(q, "min_seq", &r.minSeq)
	setQuery(q, "limit", &r.limit)
	setQuery(q, "cursor", &r.cursor)
	r.at.ask(q, "at")
	r.within.ask(q, r.ofCommits)
	if r.wait.Duration > 0 {
		q.Set("wait", r.wait.String())
		c.timeout.Duration += r.wait.Duration // the timeout for the response begins after the wait
	}
	if r.last.given {
		q.Set("order", "newest")
		q.Set("limit", r.last.String())
	}
	return q, nil
}

// one shows a single thing.
func (r *readRun) one(c *call, path string, q url.Values) error {
	a, err := c.get(c.readURL, path, q)
	switch {
	case err != nil:
		return err
	case c.json():
		c.showRaw(a)
		return nil
	case r.render != nil:
		return r.render(c, a)
	}
	e, err := a.item()
	if err != nil {
		return err
	}
	return c.showItem(e, r.fields)
}

// pages shows one page of a list, or all pages. As JSON, each page is a line. As NDJSON, each
// entry is a line.
func (r *readRun) pages(c *call, path string, q url.Values) error {
	fields := r.fields
	if c.csv() {
		fields = cmp.Or(r.csv, fields)
	}
	if r.commits {
		c.related = &commitReader{c: c, left: mostNames}
		if !c.json() {
			q.Set("payer", "true")
		}
	}
	t := c.listTable(fields)
	next, err := c.pages(path, q, r.all, c.refusal, func(a *answer) (err error) {
		switch {
		case c.ndjson():
			err = c.showEntries(a)
		case c.json():
			c.showRaw(a)
		default:
			if err = c.addEntries(t, a); err == nil {
				t.flush()
			}
		}
		return cmp.Or(err, c.out.Flush())
	})
	if err == nil && next != "" && !c.json() && !r.last.given {
		c.say("there is more: continue with -cursor %s, or use -all", next)
	}
	return err
}

// drawing draws the things of a list, or lists them if they can't be drawn.
func (r *readRun) drawing(c *call, path string, q url.Values) error {
	few := maps.Clone(q)
	few.Set("limit", strconv.Itoa(mostDrawn))
	a, err := c.get(c.readURL, path, few)
	if err != nil {
		return err
	}
	if a.nextCursor() != "" {
		c.say("more than %d things are too many to draw, so they are listed", mostDrawn)
	} else if drawn, err := r.draw(c, a, q); drawn || err != nil {
		return err
	}
	r.all = true
	return r.pages(c, path, q)
}

// absent adds a hint to the error of a read with -at: which command shows when the container existed.
func (r *readRun) absent(c *call, err error) error {
	code := ledger.Code(client.Code(err))
	if r.at.word != "" && (code == ledger.ContainerNotFound || code == ledger.Forbidden) { // Forbidden for a token limited to owners
		refused, _ := errors.AsType[*apiError](err)
		refused.Message = strings.TrimSuffix(refused.Message, ".") + ": ledgerctl history " + c.args[0] + " shows when it existed"
	}
	return err
}

// pages reads one page of a list and, if `all` is set, the pages after it. It calls `check`
// and then `add` with each page, and stops at the first error. next is the cursor of the next page.
func (c *call) pages(path string, q url.Values, all bool, check, add func(a *answer) error) (next string, err error) {
	for {
		a, err := c.peek(path, q)
		if err == nil {
			err = check(a)
		}
		if err == nil {
			err = add(a)
		}
		if err != nil {
			return "", err
		}
		if next = a.nextCursor(); next == "" || !all {
			return next, nil
		}
		if next == q.Get("cursor") {
			return "", fmt.Errorf("the response of %s returns the cursor of the request: the list would never end", a.URL)
		}
		q.Set("cursor", next)
	}
}

// showEntries writes only the entries of a list, one per line.
func (c *call) showEntries(a *answer) error {
	entries, err := a.entries()
	if err != nil {
		return err
	}
	for _, entry := range entries {
		c.raw(entry)
		c.out.WriteByte('\n')
	}
	return nil
}

func (a *answer) entries() ([]json.RawMessage, error) {
	list, _, err := client.Page(a.Body)
	switch {
	case err != nil:
		return nil, notALedgers(a.URL, "%v", err)
	case list == nil:
		return nil, a.lacks("list")
	}
	return list, nil
}

func (a *answer) nextCursor() string {
	_, next, _ := client.Page(a.Body)
	return next
}
