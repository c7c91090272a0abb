package server

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"assetledger/server/settings"
)

// A Config is the configuration of a daemon, as a program needs it.
type Config interface {
	// Flags makes a flag for every setting, whose default is the present value.
	Flags(*flag.FlagSet)
	// Validate returns an error for the first setting that is out of range. It
	// begins with the name of the flag.
	Validate() error
	// run runs the daemon until ctx is done.
	run(ctx context.Context, p process) error
}

// A process is what surrounds a daemon that is a program of its own.
type process struct {
	ready  io.Writer
	notify *Notifier
	log    *slog.Logger
}

// NewProgram returns the command line of a daemon.
func NewProgram(name, purpose string, c Config) *settings.Program {
	p := settings.New(name, purpose, Build())
	c.Flags(p.Flags)
	p.Check = c.Validate
	return p
}

// Main reads the settings, runs the daemon until it is asked to stop or fails,
// and returns the exit code.
func Main(p *settings.Program, c Config, args []string, stdout, stderr io.Writer) int {
	if exit, done := p.Begin(args, os.LookupEnv, stdout, stderr); done {
		return exit
	}
	log := p.Log(stderr)
	notify, err := NewNotifier(os.LookupEnv)
	if err == nil {
		TuneMemory()
		err = c.run(SignalContext(), process{stdout, notify, log})
	}
	if err != nil {
		log.Error("stopped", "error", p.Explain(err))
	}
	return ExitCode(err)
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
