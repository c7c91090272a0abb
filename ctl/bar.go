package ctl

import (
	"fmt"
	"io"
	"time"
)

// progress shows the progress of a long command on one line of standard error. If
// that is not a terminal, it shows nothing.
type progress struct {
	w     io.Writer // nil: silent
	begin time.Time
	next  time.Time // time of the next update
	shown bool
}

const progressEvery = 500 * time.Millisecond

func newProgress(words io.Writer) *progress {
	p := &progress{begin: time.Now()}
	if isTerminal(words) {
		p.w = words
	}
	p.next = p.begin.Add(progressEvery)
	return p
}

func (p *progress) due() bool { return p.w != nil && !time.Now().Before(p.next) }

func (p *progress) say(format string, args ...any) {
	if p.due() {
		fmt.Fprintf(p.w, "\r"+format+"\x1b[K", args...)
		p.next, p.shown = time.Now().Add(progressEvery), true
	}
}

// clear removes the line before other output.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown, p.next = false, time.Time{}
	}
}

func (p *progress) elapsed() time.Duration { return time.Since(p.begin).Round(time.Millisecond) }

// left estimates the remaining time, given how long a part of the whole took.
func left(took time.Duration, part, all int64) time.Duration {
	return time.Duration(float64(took) * float64(all-part) / float64(part)).Round(time.Second)
}
