package ctl

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"time"
)

// maxListLimit is the longest page that a read daemon gives.
const maxListLimit = 10_000

// maxWait is the longest wait for a commit that one request may ask for.
const maxWait = 30 * time.Second

// readFlags are the flags of every read.
type readFlags struct {
	minSeq number
	wait   duration
	at     moment
}

func (r *readFlags) declare(set *flag.FlagSet) {
	r.minSeq = anyKey()
	set.Var(&r.minSeq, "min-seq", "answer only when commit `SEQ` can be read: with the global_seq of a commit, read it back")
	set.Var(&r.wait, "wait", "longest `TIME` to wait for -min-seq, up to 30s; the daemon's own default is 1s")
}

// declarePast declares the flag of reads that can answer as it was.
func (r *readFlags) declarePast(set *flag.FlagSet) {
	r.at.last = true
	set.Var(&r.at, "at", "as it was after this `SEQ|TIME`: "+momentUsage)
}

// query is what the flags ask of the daemon.
func (r *readFlags) query(c *call) (url.Values, error) {
	q := url.Values{}
	if r.wait.Duration > maxWait {
		return nil, usagef("-wait is %v, and must be at most %v", &r.wait, maxWait)
	}
	if r.wait.Duration > 0 && !r.minSeq.given && r.at.word == "" {
		return nil, usagef("-wait waits for the commit that -min-seq names: give that too")
	}
	if r.minSeq.given && r.at.word != "" {
		return nil, usagef("-at waits for its commit itself: leave out -min-seq")
	}
	setQuery(q, "min_seq", &r.minSeq)
	r.at.ask(q, "at")
	if r.wait.Duration > 0 {
		q.Set("wait", r.wait.String())
		c.timeout.Duration += r.wait.Duration // the wait comes on top of the time for an answer
	}
	return q, nil
}

// show reads path and shows its answer: as it came, or by render.
func (r *readFlags) show(c *call, path string, render func(a *answer) error) error {
	q, err := r.query(c)
	if err != nil {
		return err
	}
	a, err := c.get(c.readURL, path, q)
	if err != nil {
		return err
	}
	if c.json() {
		c.showRaw(a)
		return nil
	}
	return render(a)
}

// listFlags are the flags of reads that give a list page by page.
type listFlags struct {
	readFlags
	limit  number
	cursor string
	all    bool
	whole  bool // one page is all that is asked for
}

func (l *listFlags) declare(set *flag.FlagSet) {
	l.readFlags.declare(set)
	l.limit = number{least: 1, most: maxListLimit}
	set.Var(&l.limit, "limit", "at most `N` entries a page, up to 10000; the daemon's own default is 1000")
	set.StringVar(&l.cursor, "cursor", "", "go on from the page that gave this `CURSOR`")
	set.BoolVar(&l.all, "all", false, "follow the pages to the end; each is consistent in itself")
}

// show reads a list: one page, or all of them. filters are further parameters.
// addRows adds a page's entries to the table; as JSON each page is a line.
func (l *listFlags) show(c *call, path string, filters url.Values, t *table, addRows func(a *answer) error) error {
	q, err := l.query(c)
	if err != nil {
		return err
	}
	for name, values := range filters {
		q[name] = values
	}
	setQuery(q, "limit", &l.limit)
	if l.cursor != "" {
		q.Set("cursor", l.cursor)
	}
	for {
		a, err := c.get(c.readURL, path, q)
		if err != nil {
			return err
		}
		if err := c.showPage(a, t, addRows); err != nil {
			return err
		}
		next := a.nextCursor()
		if next == "" {
			return nil
		}
		if !l.all {
			if !c.json() && !l.whole {
				c.say("there is more: go on with -cursor %s, or use -all", next)
			}
			return nil
		}
		if next == q.Get("cursor") {
			return endlessList(a)
		}
		q.Set("cursor", next)
	}
}

func endlessList(a *answer) error {
	return fmt.Errorf("the answer of %s gives the cursor that was asked for: the list would never end", a.url)
}

// paged reports whether a page was asked for, and not simply what there is.
func (l *listFlags) paged() bool { return l.limit.given || l.cursor != "" || l.all }

// collect reads all pages of a list without showing them.
func (l *listFlags) collect(c *call, path string, filters url.Values, add func(a *answer) error) error {
	whole := *l
	whole.all, whole.limit.value, whole.limit.given = true, maxListLimit, true
	return whole.show(c, path, filters, c.newTable(), add)
}

func (c *call) showPage(a *answer, t *table, addRows func(a *answer) error) error {
	switch {
	case c.ndjson():
		if err := c.showEntries(a); err != nil {
			return err
		}
	case c.json():
		c.showRaw(a)
	default:
		if err := addRows(a); err != nil {
			return err
		}
		t.flush()
	}
	return c.out.Flush()
}

// showEntries writes each entry of a list on a line of its own, without what
// stands around the list.
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

// entries is the list of a page: its only array, in data or beside it.
func (a *answer) entries() ([]json.RawMessage, error) {
	var page map[string]json.RawMessage
	if err := a.decode(&page); err != nil {
		return nil, err
	}
	if data, ok := page["data"]; ok {
		page = nil
		if err := (&answer{body: data, url: a.url}).decode(&page); err != nil {
			return nil, err
		}
	}
	for _, field := range page {
		var list []json.RawMessage
		if len(field) > 0 && field[0] == '[' && json.Unmarshal(field, &list) == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("the answer of %s has no list", a.url)
}

// nextCursor is where a list goes on, "" at its end.
func (a *answer) nextCursor() string {
	var page struct {
		Next string `json:"next_cursor"`
		Data struct {
			Next string `json:"next_cursor"`
		} `json:"data"`
	}
	if json.Unmarshal(a.body, &page) != nil {
		return ""
	}
	if page.Next != "" {
		return page.Next
	}
	return page.Data.Next
}
