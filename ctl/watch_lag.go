package ctl

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"assetledger/ctl/client"
)

// lag polls the freshness: on a terminal it updates one line, elsewhere it writes a
// line each time.
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
		case w.seen == 0 || !mayBeLater(err) || !failing.IsZero() && time.Since(failing) > c.timeout.Duration:
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

// endLine ends the updated line.
func (w *watch) endLine(c *call) {
	if c.screen.terminal && !c.json() && w.seen > 0 {
		fmt.Fprintln(c.out)
		c.out.Flush()
	}
}

// look shows one response.
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
