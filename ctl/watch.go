package ctl

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"assetledger/ctl/client"
	"assetledger/server"
)

var watchCommand = command{
	Words:   "watch",
	Purpose: "follow the commits as they happen, one line each, until Ctrl-C",
	Notes: "Without -from or -after it begins with the next commit. It waits for commits without a limit, also with -to and\n" +
		"-count. A lost connection is made again for up to -timeout, and nothing is missed or shown twice. With -container\n" +
		"each commit that changes it is followed by what it held after that commit. With -freshness there is a line\n" +
		"of the read daemon's lag instead. As JSON each commit is an object.",
	Examples: [2]string{"watch -container 1", "watch -after 0 -count 100 -o ndjson"},
	Setup: func(set *flag.FlagSet) action {
		w := &watch{count: anyID(), every: duration{time.Second}}
		w.declare(set, true)
		w.container.kind = "CONTAINER"
		set.Var(&w.container, "container", "only commits that change this `CONTAINER`, each with what it held after it")
		set.BoolVar(&w.freshness, "freshness", false, "show how far the read daemon is behind the log, as a line that moves")
		set.Var(&w.every, "every", "`TIME` between two looks of -freshness")
		set.Var(&w.count, "count", "end after `N` commits, or looks")
		return w.run
	},
}

type watch struct {
	span
	count     number
	container reference
	freshness bool
	every     duration

	id   int64 // of the container; 0 for all commits
	seen int64 // commits shown, or looks taken
	most int64 // the largest lag
}

func (w *watch) run(c *call) error {
	switch {
	case w.freshness && w.container.value+w.from.word+w.to.word+w.after.word+w.before.word != "":
		return usagef("-freshness shows no commits: leave out -container, -from, -to, -after and -before")
	case w.every.Duration < time.Millisecond:
		return usagef("-every is %v, and must be at least 1ms", &w.every)
	}
	if !w.count.given {
		w.count.value = math.MaxInt64
	}
	if err := w.settle(); err != nil {
		return err
	}
	ctx := server.SignalContext()
	if w.freshness {
		return w.lag(ctx, c)
	}
	return w.commits(ctx, c)
}

func (w *watch) commits(ctx context.Context, c *call) error {
	if ref := w.container.value; ref != "" {
		var err error
		if w.id, err = c.containerID(ref); err != nil {
			return err
		}
	}
	after, last := max(w.from.seq.value-1, 0), int64(math.MaxInt64)
	if !w.from.seq.given {
		var err error
		if after, err = c.lastSeq(); err != nil {
			return err
		}
	}
	if w.to.seq.given {
		last = w.to.seq.value
	}
	if after >= last {
		return nil
	}
	for commit, err := range c.follow(ctx, after, 0) {
		if err == nil {
			err = w.commit(c, commit)
		}
		if err != nil || w.seen >= w.count.value || commit.GlobalSeq >= last {
			return err
		}
	}
	return nil
}

func (w *watch) commit(c *call, commit client.Commit) error {
	var d commitData
	if err := (&answer{client.Answer{Body: commit.JSON, URL: c.readURL}}).decode(&d); err != nil {
		return err
	}
	there := true
	if w.id != 0 {
		var touched bool
		var err error
		if touched, there, err = c.touched(&d, w.id); err != nil || !touched {
			return err
		}
	}
	w.seen++
	if c.json() {
		c.raw(commit.JSON)
		c.out.WriteByte('\n')
	} else {
		line, err := c.commitLine(&d)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.out, line)
	}
	if w.id != 0 {
		return c.showHoldings(w.id, commit.GlobalSeq, there)
	}
	return nil
}

// commitLine returns a commit on one line: number, time, operations, minted
// instances, idempotency key, and the commit that it reverses.
func (c *call) commitLine(d *commitData) (string, error) {
	for i := range d.Operations {
		if d.Operations[i].gives() {
			c.names, c.classes = nil, nil
		}
	}
	ops, err := c.summary(d.Operations)
	if err != nil {
		return "", err
	}
	at, err := time.Parse(time.RFC3339Nano, d.CommittedAt)
	if err != nil {
		return "", fmt.Errorf("commit %d has the time %q", d.GlobalSeq, d.CommittedAt)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%6d  %s  %s", d.GlobalSeq, at.UTC().Format("15:04:05.000Z"), ops)
	if len(d.Minted) > 0 {
		fmt.Fprintf(&b, "  minted %s", shorten(joinInts(d.Minted), 30, c.screen.ellipsis()))
	}
	if key := keyOf(d.Metadata); key != "" {
		fmt.Fprintf(&b, "  key %s", key)
	}
	if d.Reverses != 0 {
		fmt.Fprintf(&b, "  reverses %d", d.Reverses)
	}
	line := clean(b.String())
	if c.screen.width > 0 {
		line = shorten(line, c.screen.width, c.screen.ellipsis())
	}
	return line, nil
}

// lag polls the freshness: one line that moves on a terminal, elsewhere a line each.
func (w *watch) lag(ctx context.Context, c *call) error {
	rows := c.newTable(text("time"), numeric("checkpoint_seq"), numeric("commit_log_seq"), numeric("lag"), numeric("lag_ms"))
	failing := time.Time{}
	for w.seen < w.count.value {
		a, err := c.peek("/v1/read/freshness", nil)
		if err == nil {
			err = a.check()
		}
		switch {
		case err == nil:
			failing = time.Time{}
			if err := w.look(c, a, rows); err != nil {
				return err
			}
		case w.seen == 0 || exitCode(err) != exitSilent || !failing.IsZero() && time.Since(failing) > c.timeout.Duration:
			w.endLine(c)
			return err
		case failing.IsZero():
			failing = time.Now()
			w.endLine(c)
			c.say("%v; trying again", err)
		}
		if w.seen < w.count.value && client.Pause(ctx, w.every.Duration) != nil {
			break
		}
	}
	w.endLine(c)
	return nil
}

func (w *watch) endLine(c *call) {
	if c.screen.terminal && !c.json() && w.seen > 0 {
		fmt.Fprintln(c.out)
		c.out.Flush()
	}
}

func (w *watch) look(c *call, a *answer, rows *table) error {
	page, err := decodeFreshness(a)
	if err != nil {
		return err
	}
	w.seen++
	age := strconv.FormatFloat(page.Data.LagMS, 'f', -1, 64)
	switch {
	case c.json():
		c.showRaw(a)
	case c.screen.terminal:
		w.most = max(w.most, page.Data.Lag)
		fmt.Fprintf(c.out, "\rcommit %d  lag %d (%s ms)  max %d\x1b[K", page.Freshness.CheckpointSeq, page.Data.Lag, age, w.most)
	default:
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z")
		rows.row(at, page.Freshness.CheckpointSeq, page.Freshness.CommitLogSeq, page.Data.Lag, age)
		rows.flush()
	}
	return c.out.Flush()
}
