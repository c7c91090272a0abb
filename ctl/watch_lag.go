package ctl

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lag looks at the freshness again and again: on a terminal one line that
// moves, elsewhere a line for each look.
func (w *watch) lag(ctx context.Context, c *call) error {
	rows := c.newTable(text("time"), numeric("checkpoint_seq"), numeric("commit_log_seq"), numeric("lag"), numeric("lag_ms"))
	var history []int64
	failing := time.Time{}
	for w.seen < w.count.value {
		a, err := c.askQuietly(request{method: http.MethodGet, base: c.readURL, path: "/v1/read/freshness"})
		if err == nil {
			err = a.check()
		}
		switch {
		case err == nil:
			failing = time.Time{}
			if err := w.look(c, a, rows, &history); err != nil {
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
		if w.seen < w.count.value && c.api.pause(ctx, w.every.Duration) != nil {
			break
		}
	}
	w.endLine(c)
	return nil
}

// endLine leaves the line that moves.
func (w *watch) endLine(c *call) {
	if c.screen.terminal && !c.json() && w.seen > 0 {
		fmt.Fprintln(c.out)
		c.out.Flush()
	}
}

// look shows one answer, with those before it.
func (w *watch) look(c *call, a *answer, rows *table, history *[]int64) error {
	page, err := decodeFreshness(a)
	if err != nil {
		return err
	}
	w.seen++
	lag, age := strconv.FormatInt(page.Data.Lag, 10), strconv.FormatFloat(page.Data.LagMS, 'f', -1, 64)
	switch {
	case c.json():
		c.showRaw(a)
	case c.screen.terminal:
		head := fmt.Sprintf("commit %d  lag %s (%s ms)  ", page.Freshness.CheckpointSeq, lag, age)
		*history = append(*history, page.Data.Lag)
		room := max(min(c.screen.drawWidth()-len(head)-16, 60), 8)
		*history = (*history)[max(0, len(*history)-room):]
		fmt.Fprintf(c.out, "\r%s%s  max %d\x1b[K", head, c.screen.sparkline(*history), slices.Max(*history))
	default:
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z")
		rows.row(at, strconv.FormatInt(page.Freshness.CheckpointSeq, 10), strconv.FormatInt(page.Freshness.CommitLogSeq, 10), lag, age)
		rows.flush()
	}
	return c.out.Flush()
}

// Heights of a sparkline, the lowest first. Nothing but 0 has the lowest.
var (
	sparks      = []rune("▁▂▃▄▅▆▇█")
	plainSparks = []rune("_.-:=+*#")
)

// sparkline draws values of 0 and more, the largest at full height.
func (s *screen) sparkline(values []int64) string {
	marks := plainSparks
	if s.utf8 {
		marks = sparks
	}
	var b strings.Builder
	if len(values) == 0 {
		return ""
	}
	most := slices.Max(values)
	for _, v := range values {
		height := math.Ceil(float64(v) / float64(max(most, 1)) * float64(len(marks)-1))
		b.WriteRune(marks[int(height)])
	}
	return b.String()
}
