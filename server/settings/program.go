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

// Begin reads the settings. If done is true, the program must end with the exit
// code.
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
	if err := p.parse(args, lookup); err != nil {
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

// parse does the same as Parse, but its errors begin with the invalid flag.
func (p *Program) parse(args []string, lookup func(string) (string, bool)) error {
	var wrong error
	p.Flags.VisitAll(func(f *flag.Flag) { f.Value = &watched{Value: f.Value, name: f.Name, wrong: &wrong} })
	defer p.Flags.VisitAll(func(f *flag.Flag) { f.Value = f.Value.(*watched).Value })
	err := Parse(p.Flags, args, lookup)
	if err != nil && wrong != nil {
		return wrong
	}
	return err
}

// A watched value records which flag can't be set, and why. It rejects an empty
// value, which usually comes from an unset shell variable, and a second value.
// Ignoring either would drop a setting that somebody asked for.
type watched struct {
	flag.Value
	name  string
	wrong *error
	given bool
}

func (w *watched) Set(s string) error {
	var err error
	switch {
	case strings.TrimSpace(s) == "":
		err = errors.New("it is empty; give it a value, or omit it")
	case w.given:
		err = errors.New("it is given twice")
	default:
		err = w.Value.Set(s)
	}
	w.given = true
	if err != nil && *w.wrong == nil {
		*w.wrong = fmt.Errorf("-%s (or %s) can't be %q: %v", w.name, EnvName(w.name), s, err)
	}
	return err
}

// IsBoolFlag reports whether the flag may be given without a value.
func (w *watched) IsBoolFlag() bool { return isSwitch(w.Value) }

func isSwitch(v flag.Value) bool {
	b, ok := v.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
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
