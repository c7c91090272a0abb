package server

import (
	"context"
	"flag"
	"io"
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
		err = c.run(SignalContext(), process{stdout, notify, log, exitFailure})
	}
	if err != nil {
		log.Error("stopped", "error", p.Explain(err))
	}
	return ExitCode(err)
}
