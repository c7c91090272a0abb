package ctl

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

// maxListLimit is the maximum page length of a read daemon.
const maxListLimit = 10_000

// errEnough ends the reading of a list early. It is not reported.
var errEnough = errors.New("enough was read")

// maxWait is the maximum time that one request may wait for a commit.
const maxWait = 30 * time.Second

type readFlags struct {
	minSeq number
	wait   duration
	at     moment
}

func (r *readFlags) declare(set *flag.FlagSet) {
	r.minSeq = anyKey()
	set.Var(&r.minSeq, "min-seq", "respond only when commit `SEQ` is visible: pass the global_seq of a commit to read it back")
	set.Var(&r.wait, "wait", "maximum `TIME` to wait for -min-seq, up to 30s (the daemon's default is 1s)")
}

func (r *readFlags) declarePast(set *flag.FlagSet) {
	r.at.last = true
	set.Var(&r.at, "at", "state as of this `SEQ|TIME`: "+momentUsage)
}

func (r *readFlags) query(c *call) (url.Values, error) {
	q := url.Values{}
	if r.wait.Duration > maxWait {
		return nil, usagef("-wait is %v, but must be at most %v", &r.wait, maxWait)
	}
	if r.wait.Duration > 0 && !r.minSeq.given && r.at.word == "" {
		return nil, usagef("-wait needs -min-seq, the commit to wait for")
	}
	if r.minSeq.given && r.at.word != "" {
		return nil, usagef("-at waits for its commit itself: omit -min-seq")
	}
	setQuery(q, "min_seq", &r.minSeq)
	r.at.ask(q, "at")
	if r.wait.Duration > 0 {
		q.Set("wait", r.wait.String())
		c.timeout.Duration += r.wait.Duration // the timeout for the response begins after the wait
	}
	return q, nil
}

// show reads path and shows the response, unchanged or with render.
func (r *readFlags) show(c *call, path string, render func(a *answer) error) error {
	q, err := r.query(c)
	if err != nil {
		return err
	}
	a, err := c.get(c.readURL, path, q)
	if err != nil {
		return r.absent(c, path, err)
	}
	if c.json() {
		c.showRaw(a)
		return nil
	}
	return render(a)
}

// absent explains the error of a read with -at if the container did not exist then. It
// reads from the history when the container was created.
func (r *readFlags) absent(c *call, path string, err error) error {
	var refused *apiError
	if r.at.word == "" || !errors.As(err, &refused) || refused.Code != string(ledger.ContainerNotFound) && refused.Code != string(ledger.Forbidden) {
		return err
	}
	var page struct {
		Entries []struct {
			Seq int64     `json:"global_seq"`
			At  time.Time `json:"committed_at"`
		}
	}
	container := strings.Join(strings.Split(path, "/")[:5], "/")
	if c.read(container+"/history", url.Values{"order": {"oldest"}, "limit": {"1"}}, &page) != nil || len(page.Entries) == 0 {
		return err
	}
	first := page.Entries[0]
	known := fmt.Sprintf("it was created in commit %d, at %s", first.Seq, first.At.Format(time.RFC3339Nano))
	if then := (moment{seq: number{value: first.Seq, given: r.at.seq.given}, at: first.At}); !then.isAfter(&r.at) {
		known = "ledgerctl history " + c.args[0] + " says when it was created and removed"
	}
	refused.Code = string(ledger.ContainerNotFound) // it is Forbidden for a token limited to owners
	refused.Message = fmt.Sprintf("container %s did not exist at %s: %s", c.args[0], r.at.said(), known)
	return err
}

// listFlags are the flags of reads that return a list page by page.
type listFlags struct {
	readFlags
	limit  number
	cursor string
	all    bool
	whole  bool // the caller needs only one page
}

// declare declares the flags of a list, including those of every read.
func (l *listFlags) declare(set *flag.FlagSet) {
	l.limit = number{least: 1, most: maxListLimit}
	set.Var(&l.limit, "limit", "at most `N` entries per page, up to 10000 (the daemon's default is 1000)")
	set.StringVar(&l.cursor, "cursor", "", "continue after the page that returned this `CURSOR`")
	set.BoolVar(&l.all, "all", false, "read all pages; each is consistent by itself")
}

func (l *listFlags) showTable(c *call, path string, filters url.Values, fields view) error {
	t := c.listTable(fields)
	return l.show(c, path, filters, t, func(a *answer) error { return c.addEntries(t, a) })
}

// show reads and shows one page of a list, or all pages. filters are further parameters
// of the query. addRows adds a page's entries to the table. As JSON, each page is a line.
func (l *listFlags) show(c *call, path string, filters url.Values, t *table, addRows func(a *answer) error) error {
	q, err := l.query(c)
	if err != nil {
		return err
	}
	maps.Copy(q, filters)
	setQuery(q, "limit", &l.limit)
	if l.cursor != "" {
		q.Set("cursor", l.cursor)
	}
	next, err := c.pages(path, q, l.all, c.refusal, func(a *answer) (err error) {
		switch {
		case c.ndjson():
			err = c.showEntries(a)
		case c.json():
			c.showRaw(a)
		default:
			if err = addRows(a); err == nil {
				t.flush()
			}
		}
		return cmp.Or(err, c.out.Flush())
	})
	if err == nil && next != "" && !c.json() && !l.whole {
		c.say("there is more: continue with -cursor %s, or use -all", next)
	}
	return l.absent(c, path, err)
}

// pages reads one page of a list, or with all also those after it. It calls add with each
// page for which check returns nil. next is the cursor of the next page.
func (c *call) pages(path string, q url.Values, all bool, check, add func(a *answer) error) (next string, err error) {
	for {
		a, err := c.peek(path, q)
		if err == nil && a.Status == http.StatusBadRequest && q.Has("payer") { // the daemon may be older than this parameter
			q.Del("payer")
			a, err = c.peek(path, q)
		}
		if err == nil {
			err = check(a)
		}
		if err == nil {
			err = add(a)
		}
		if next = ""; err == nil {
			next = a.nextCursor()
		}
		switch {
		case err != nil || next == "" || !all:
			return next, err
		case next == q.Get("cursor"):
			return "", fmt.Errorf("the response of %s returns the cursor of the request: the list would never end", a.URL)
		}
		q.Set("cursor", next)
	}
}

// paged reports whether a flag asks for pages.
func (l *listFlags) paged() bool { return l.limit.given || l.cursor != "" || l.all }

// mostDrawn is the maximum number of things to draw. More are listed.
const mostDrawn = 256

// draw draws the things of a list, or returns errEnough if there are too many.
func (l *listFlags) draw(c *call, path string, filters url.Values, draw func(*call, *answer, url.Values) error) error {
	few := *l
	few.limit.value, few.limit.given = mostDrawn, true
	return few.show(c, path, filters, c.newTable(), func(a *answer) error {
		if a.nextCursor() != "" {
			c.say("more than %d things are too many to draw, so they are listed", mostDrawn)
			return errEnough
		}
		return draw(c, a, filters)
	})
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
