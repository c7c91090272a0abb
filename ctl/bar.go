package ctl

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows the progress of a long command on one line of standard error. If
// that is not a terminal, it shows nothing.
type progress struct {
	w     io.Writer // nil: silent
	now   func() time.Time
	begin time.Time
	next  time.Time // time of the next update
	shown bool
}

const progressEvery = 500 * time.Millisecond

func newProgress(words io.Writer) *progress {
	p := &progress{now: time.Now, begin: time.Now()}
	if isTerminal(words) {
		p.w = words
	}
	p.next = p.begin.Add(progressEvery)
	return p
}

func (p *progress) due() bool { return p.w != nil && !p.now().Before(p.next) }

func (p *progress) say(format string, args ...any) {
	if p.due() {
		fmt.Fprintf(p.w, "\r"+format+"\x1b[K", args...)
		p.next, p.shown = p.now().Add(progressEvery), true
	}
}

// clear removes the line before other output.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown, p.next = false, time.Time{}
	}
}

func (p *progress) elapsed() time.Duration { return p.now().Sub(p.begin).Round(time.Millisecond) }

// A bar shows the progress through a file:
//
//	[########------------]  41%  1230000 lines  85000/s  12s left
type bar struct {
	progress
	in      io.Seeker // nil: the position is not known
	regular bool      // the input is a regular file or memory: a read never waits
	size    int64     // size of the input in bytes; 0: not known
}

func newBar(words io.Writer, in io.Reader) *bar {
	b := &bar{progress: *newProgress(words), regular: true}
	f, isFile := in.(*os.File)
	if !isFile {
		return b
	}
	info, err := f.Stat()
	if b.regular = err == nil && info.Mode().IsRegular(); b.regular && info.Size() > 0 {
		b.in, b.size = f, info.Size()
	}
	return b
}

func (b *bar) at(lines, refused int) {
	if !b.due() {
		return
	}
	position := int64(0)
	if b.in != nil {
		position, _ = b.in.Seek(0, io.SeekCurrent)
	}
	b.say("%s", b.line(position, lines, refused, b.now().Sub(b.begin)))
}

func (b *bar) line(position int64, lines, refused int, elapsed time.Duration) string {
	const cells = 20
	var s strings.Builder
	if b.size > 0 {
		part := min(float64(position)/float64(b.size), 1)
		full := int(part * cells)
		fmt.Fprintf(&s, "[%s%s] %3.0f%%  ", strings.Repeat("#", full), strings.Repeat("-", cells-full), part*100)
	}
	fmt.Fprintf(&s, "%s", count(lines, "line"))
	if refused > 0 {
		fmt.Fprintf(&s, ", %d rejected", refused)
	}
	if elapsed > 0 {
		fmt.Fprintf(&s, "  %.0f/s", float64(lines)/elapsed.Seconds())
	}
	if b.size > 0 && position > 0 {
		fmt.Fprintf(&s, "  %v left", left(elapsed, min(position, b.size), b.size))
	}
	return s.String()
}

// left estimates the remaining time, given how long a part of the whole took.
func left(took time.Duration, part, all int64) time.Duration {
	return time.Duration(float64(took) * float64(all-part) / float64(part)).Round(time.Second)
}
