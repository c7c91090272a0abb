package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// A process is what surrounds a daemon that is a program of its own.
type process struct {
	ready  io.Writer
	notify *Notifier
	log    *slog.Logger
	exit   func() // ends the process as a failure
}

// surround fills in what only a process has.
func (a *Access) surround() (err error) {
	a.Reload = Hangups()
	a.Inherited, err = Inherited(os.LookupEnv)
	return err
}

var errNoDir = errors.New("-dir is required: the directory of the commit log")

// maxKeys is the largest number of idempotency keys that can be remembered.
const maxKeys = 1 << 30

// A span is a number that must be within bounds.
type span struct {
	flag            string
	value, min, max int64
}

// checkSpans returns an error for the first number that is out of bounds.
func checkSpans(spans ...span) error {
	for _, n := range spans {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("-%s must be from %d to %d, not %d", n.flag, n.min, n.max, n.value)
		}
	}
	return nil
}
