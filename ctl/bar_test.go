package ctl

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestBatchProgress(t *testing.T) {
	for _, c := range []struct {
		position       int64
		lines, refused int
		elapsed        time.Duration
		want           string
	}{
		{0, 0, 0, 0, "0%, 0 lines, 0s left"},
		{250, 1000, 0, time.Second, "25%, 1000 lines, 1000/s, 3s left"},
		{1000, 4000, 2, 4 * time.Second, "100%, 4000 lines, 2 rejected, 1000/s, 0s left"},
		{2000, 1, 0, 4 * time.Second, "100%, 1 line, 0/s, 0s left"}, // the file has grown
	} {
		b := &batch{again: strings.NewReader(""), size: 1000, last: c.lines, refused: c.refused}
		b.again.Seek(c.position, io.SeekStart)
		if got := b.progress(c.elapsed); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := (&batch{last: 5}).progress(time.Second); got != "5 lines, 5/s" {
		t.Errorf("for a pipe: got %s, want 5 lines, 5/s", got)
	}
}

// TestProgressIsDrawnAndCleared checks that on a terminal the progress is redrawn at
// intervals, and cleared before results.
func TestProgressIsDrawnAndCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shown bytes.Buffer
		begin := time.Now()
		p := &progress{w: &shown, terminal: true, begin: begin, next: begin.Add(progressEvery)}
		for range 4 {
			p.say("at %v", p.elapsed())
			time.Sleep(progressEvery / 2)
		}
		p.clear()
		p.clear()
		if want := "\rat 500ms\x1b[K\r\x1b[K"; shown.String() != want {
			t.Errorf("got %q\nwant %q", shown.String(), want)
		}
	})
}
