package ctl

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
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

// open opens the log for reading.
func (l *logFlags) open() (*wal.Reader, error) {
	if l.dir == "" {
		return nil, usagef("which log? give its directory with -dir")
	}
	r, err := wal.OpenReader(l.dir, wal.Options{})
	if errors.Is(err, wal.ErrNoLog) {
		return nil, fmt.Errorf("there is no log in %s: give the directory of ledger-write with -dir", l.dir)
	}
	return r, err
}

// eachFrame calls fn for the frames from where r stands to the one that holds
// commit end, which is durable.
func eachFrame(r *wal.Reader, end uint64, fn func(f *wal.Frame) error) error {
	for done := uint64(0); done < end; {
		f, err := r.Next()
		if err != nil {
			return err
		}
		if err := fn(f); err != nil {
			return err
		}
		done = f.Last()
	}
	return nil
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

func (p *progress) at(done, end uint64) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.next = time.Now().Add(progressEvery)
	fmt.Fprintf(p.w, "\rledgerctl: commit %d of %d", done, end)
}

// clear takes the line away.
func (p *progress) clear() {
	if p.w != nil {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
