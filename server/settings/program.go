package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// A Program is the command line of a daemon. Help, the manual page and
// docs/configuration.md are generated from its flags. A flag's usage may end with
// ", for example VALUE". Otherwise the default serves as the example in the error
// for an invalid value.
type Program struct {
	Name    string
	Purpose string // one sentence
	Flags   *flag.FlagSet
	Check   func() error // checks the settings together; an error begins with the invalid flag

	version string
	format  string
	ask     struct{ version, config bool }
}

// New returns a program with the flags that every daemon has.
func New(name, purpose, version string) *Program {
	p := &Program{Name: name, Purpose: purpose, version: version, Flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	p.Flags.SetOutput(io.Discard) // Begin reports the errors instead
	p.Flags.Usage = func() {}
	p.Flags.StringVar(&p.format, "log-format", "text", "`FORMAT` of the log on standard error: text or json")
	p.Flags.BoolVar(&p.ask.version, "version", false, "print the version and exit")
	p.Flags.BoolVar(&p.ask.config, "print-config", false, "print every setting with its value and source, and exit")
	return p
}

// Exit codes of Begin.
const (
	exitDone  = 0
	exitUsage = 2
)

// Begin reads the settings. If done is true, the program must end with the returned
// exit code.
func (p *Program) Begin(args []string, lookup func(string) (string, bool), stdout, stderr io.Writer) (exit int, done bool) {
	err := p.read(args, lookup)
	switch {
	case errors.Is(err, flag.ErrHelp):
		p.help(stdout)
		return exitDone, true
	case err == nil && p.ask.version:
		fmt.Fprintln(stdout, p.Name, p.version)
		return exitDone, true
	case err == nil && p.ask.config: // show even settings that contradict each other
		p.printConfig(stdout, lookup)
	case err == nil && p.Check != nil:
		err = p.Check()
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %s\n", p.Name, p.Explain(err))
		return exitUsage, true
	}
	return exitDone, p.ask.config
}

// read reads the flags and the environment.
func (p *Program) read(args []string, lookup func(string) (string, bool)) error {
	if err := Parse(p.Flags, args, lookup); err != nil {
		return err
	}
	if p.Flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q: all settings are flags", p.Flags.Arg(0))
	}
	if p.format != "text" && p.format != "json" {
		return fmt.Errorf("-log-format is text or json, not %q", p.format)
	}
	return nil
}

// Explain returns the text of err. If it begins with a flag, as errors about a
// setting do, Explain adds an example.
func (p *Program) Explain(err error) string {
	text := err.Error()
	name, ok := strings.CutPrefix(text, "-")
	if end := strings.IndexAny(name, " :,"); ok && end > 0 {
		if f := p.Flags.Lookup(name[:end]); f != nil {
			return text + "; for example " + describe(f).command()
		}
	}
	return text
}

// Log returns the program's log.
func (p *Program) Log(stderr io.Writer) *slog.Logger {
	if p.format == "json" {
		return slog.New(slog.NewJSONHandler(stderr, nil))
	}
	return slog.New(slog.NewTextHandler(stderr, nil))
}
