package server

import (
	"context"
	"flag"
	"io"
	"os"

	"assetledger/server/httpserver"
	"assetledger/server/settings"
	"assetledger/server/version"
)

// A Config is the configuration of a daemon, as a program needs it.
type Config interface {
	// Flags defines a flag for every setting. Its default is the current value.
	Flags(*flag.FlagSet)
	// Validate returns an error for the first setting that is out of range.
	// Its message begins with the flag.
	Validate() error
	// Run runs the daemon until ctx is done.
	Run(ctx context.Context, p httpserver.Process) error
}

// NewProgram returns the command line of a daemon.
func NewProgram(name, purpose string, c Config) *settings.Program {
	p := settings.New(name, purpose, version.Build())
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
	notify, err := httpserver.NewNotifier(os.LookupEnv)
	if err == nil {
		TuneMemory()
		TuneProcessors()
		err = c.Run(SignalContext(), httpserver.Process{Ready: stdout, Notify: notify, Log: log, Exit: exitFailure})
	}
	if err != nil {
		log.Error("stopped", "error", p.Explain(err))
	}
	return ExitCode(err)
}
