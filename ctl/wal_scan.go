package ctl

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"assetledger/wal"
)

// The wal commands read a log's directory themselves, with or without a write
// daemon on it; they see what is durable and change nothing.

// logFlags say which log.
type logFlags struct{ dir string }

func (l *logFlags) declare(set *flag.FlagSet) {
	set.StringVar(&l.dir, "dir", "", "`DIR` of the log, as given to ledger-write")
}

// check refuses to guess which log is meant.
func (l *logFlags) check() error {
	if l.dir == "" {
		return usagef("which log? give its directory with -dir")
	}
	return nil
}

// explain says what to do about an error of opening the log.
func (l *logFlags) explain(err error) error {
	if errors.Is(err, wal.ErrNoLog) {
		return fmt.Errorf("there is no log in %s: give the directory of ledger-write with -dir", l.dir)
	}
	return err
}

// progress tells a person who waits how far a long run has come, on one line
// of a terminal. On anything else it is silent.
type progress struct {
	w    io.Writer // nil: silent
	next time.Time
}

// progressEvery is the time between two lines.
const progressEvery = 500 * time.Millisecond

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, next: time.Now().Add(progressEvery)}
}

func (p *progress) at(commit uint64) { p.say("commit %d is good", commit) }

// say shows a line in place of the last one, if that is long enough ago.
func (p *progress) say(format string, args ...any) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressEvery)
	fmt.Fprintf(p.w, "\rledgerctl: "+format+"\x1b[K", args...)
}

// bytes tells how much was copied, and how fast.
func (p *progress) bytes(done, total int64, took time.Duration) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressEvery)
	fmt.Fprintf(p.w, "\r\x1b[Kledgerctl: copied %d of %d MiB, %.0f MiB/s", done>>20, total>>20, float64(done>>20)/max(took.Seconds(), 1e-3))
}

// clear takes the line away.
func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
