package ctl

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

func TestBarLine(t *testing.T) {
	b := &bar{size: 1000}
	for _, c := range []struct {
		position       int64
		lines, refused int
		elapsed        time.Duration
		want           string
	}{
		{0, 0, 0, 0, "[--------------------]   0%  0 lines"},
		{250, 1000, 0, time.Second, "[#####---------------]  25%  1000 lines  1000/s  3s left"},
		{1000, 4000, 2, 4 * time.Second, "[####################] 100%  4000 lines, 2 rejected  1000/s  0s left"},
		{2000, 1, 0, 4 * time.Second, "[####################] 100%  1 line  0/s  0s left"}, // the file has grown
	} {
		if got := b.line(c.position, c.lines, c.refused, c.elapsed); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := new(bar).line(0, 5, 0, time.Second); got != "5 lines  5/s" {
		t.Errorf("for a pipe: %s", got)
	}
}

// TestBarIsDrawnAndCleared checks that on a terminal the bar is redrawn at intervals,
// and cleared before results.
func TestBarIsDrawnAndCleared(t *testing.T) {
	var shown bytes.Buffer
	now := time.Unix(0, 0)
	b := &bar{progress: progress{w: &shown, now: func() time.Time { return now }, begin: now, next: now.Add(progressEvery)}}
	for range 4 {
		b.at(1, 0)
		now = now.Add(progressEvery / 2)
	}
	b.clear()
	b.clear()
	want := fmt.Sprintf("\r%s\x1b[K\r\x1b[K", b.line(0, 1, 0, progressEvery))
	if shown.String() != want {
		t.Errorf("got %q\nwant %q", shown.String(), want)
	}
}
