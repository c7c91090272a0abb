package ctl

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"assetledger/ctl/client"
	"assetledger/server/httpclient"
	"assetledger/wal"
)

// Rules for output: data goes to standard output, messages to standard error. A message
// is one line: "ledgerctl: " and a sentence. The sentence begins in lower case, unless
// it begins with a code of the API or the name of an argument. It says what to do next if
// that is known. Messages have no color. Control characters in text from elsewhere are escaped.

const (
	exitDone    = 0
	exitFailure = 1
	exitUsage   = 2 // wrong usage
	exitRefused = 3 // the ledger rejected it (4xx)
	exitSilent  = 4 // no response: connection, timeout, 5xx
	exitStale   = 5 // freshness or a read missed its limit
	exitDamaged = 6 // the log is damaged
)

// An exitError is an error with an exit code.
type exitError struct {
	code int
	msg  string // "" if nothing remains to be reported
}

func (e *exitError) Error() string { return e.msg }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Sprintf(format, args...)}
}

func usagef(format string, args ...any) error { return exitf(exitUsage, format, args...) }

func exitCode(err error) int {
	var own *exitError
	var refused *apiError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &own):
		return own.code
	case errors.As(err, new(*httpclient.SettingError)), errors.Is(err, wal.ErrSameDir):
		return exitUsage
	case errors.As(err, new(*wal.CorruptError)):
		return exitDamaged
	case errors.As(err, new(*client.NoAnswer)):
		return exitSilent
	case !errors.As(err, &refused) || refused.Status < 400:
		return exitFailure
	case refused.Status == http.StatusTooEarly:
		return exitStale
	case refused.Status >= 500:
		return exitSilent
	}
	return exitRefused
}

// tell reports err, if there is one, and returns the exit code.
func tell(stderr io.Writer, err error) int {
	if err != nil && err.Error() != "" {
		say(stderr, "%v", err)
	}
	return exitCode(err)
}

// say writes a message on one line.
func say(stderr io.Writer, format string, args ...any) {
	fmt.Fprintf(stderr, "ledgerctl: %s\n", clean(fmt.Sprintf(format, args...)))
}

// say writes a message on one line of standard error.
func (c *call) say(format string, args ...any) { say(c.words, format, args...) }

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// clean escapes characters that could control a terminal or break the line.
func clean(s string) string { return escape(s, "") }

// escape writes unprintable characters as JSON escapes, except those in `keep`.
func escape(s, keep string) string {
	strange := func(r rune) bool { return unprintable(r) && !strings.ContainsRune(keep, r) }
	if strings.IndexFunc(s, strange) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !strange(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// count returns a number with its noun: "1 commit", "2 commits".
func count[T int | int64 | uint64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// progress shows the progress of a long command on one line of standard error. If
// that is not a terminal, it shows nothing.
type progress struct {
	w        io.Writer
	terminal bool // w is a terminal
	begin    time.Time
	next     time.Time // time of the next update
	shown    bool
}

const progressEvery = 500 * time.Millisecond

func newProgress(words io.Writer) *progress {
	now := time.Now()
	return &progress{w: words, terminal: isTerminal(words), begin: now, next: now.Add(progressEvery)}
}

func (p *progress) due() bool { return p.terminal && !time.Now().Before(p.next) }

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
