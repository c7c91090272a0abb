package httpserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
)

// A Process is the environment of a daemon that runs as a program of its own.
type Process struct {
	Ready  io.Writer
	Notify *Notifier
	Log    *slog.Logger
	Exit   func() // ends the process as a failure
}

// Surround sets the fields of Access that come from the process: its signals and an
// inherited socket.
func (a *Access) Surround() (err error) {
	a.Reload = Hangups()
	a.Inherited, err = Inherited(os.LookupEnv)
	return err
}

var ErrNoDir = errors.New("-dir is required: the directory of the commit log")

// MaxKeys is the maximum number of idempotency keys that can be remembered.
const MaxKeys = 1 << 30

// A Span is the value of a numeric flag, with its valid range.
type Span struct {
	Flag            string
	Value, Min, Max int64
}

// CheckSpans returns an error for the first value that is out of range.
func CheckSpans(spans ...Span) error {
	for _, n := range spans {
		if n.Value < n.Min || n.Value > n.Max {
			return fmt.Errorf("-%s must be from %d to %d, not %d", n.Flag, n.Min, n.Max, n.Value)
		}
	}
	return nil
}
