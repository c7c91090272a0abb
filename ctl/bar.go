package ctl

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// A bar shows a person how far a long run over a file has come, on one line of
// the terminal that standard error is. On anything else it is silent:
//
//	[########------------]  41%  1230000 lines  85000/s  12s left
type bar struct {
	w       io.Writer // nil: silent
	in      io.Seeker // nil: position not known
	regular bool      // the input is a file, which never makes one wait
	size    int64     // bytes of the input; 0: not known
	now     func() time.Time
	begin   time.Time
	next    time.Time
	shown   bool
}

func newBar(words io.Writer, in io.Reader) *bar {
	b := &bar{now: time.Now, begin: time.Now()}
	if b.size, b.regular = regularSize(in); b.size > 0 {
		b.in = in.(*os.File)
	}
	if isTerminal(words) {
		b.w = words
	}
	b.next = b.begin.Add(progressEvery)
	return b
}

// at draws the bar, if it was not drawn just now.
func (b *bar) at(lines, refused int) {
	now := b.now()
	if b.w == nil || now.Before(b.next) {
		return
	}
	position := int64(0)
	if b.in != nil {
		position, _ = b.in.Seek(0, io.SeekCurrent)
	}
	fmt.Fprint(b.w, "\r"+b.line(position, lines, refused, now.Sub(b.begin))+"\x1b[K")
	b.next, b.shown = now.Add(progressEvery), true
}

// line is the bar after so many bytes and lines.
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
		fmt.Fprintf(&s, ", %d refused", refused)
	}
	if elapsed > 0 {
		fmt.Fprintf(&s, "  %.0f/s", float64(lines)/elapsed.Seconds())
	}
	if b.size > 0 && position > 0 {
		left := time.Duration(float64(elapsed) * float64(b.size-min(position, b.size)) / float64(position))
		fmt.Fprintf(&s, "  %v left", left.Round(time.Second))
	}
	return s.String()
}

// clear takes the bar away, to make room for other output.
func (b *bar) clear() {
	if b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.shown, b.next = false, time.Time{}
	}
}

func (b *bar) elapsed() time.Duration { return b.now().Sub(b.begin).Round(time.Millisecond) }
