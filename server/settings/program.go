package settings

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// A Program is a daemon as the command line sees it. Its flags are the one
// place from which help, the manual page and docs/configuration.md are made. A
// flag's usage may end in ", for example VALUE"; without that its default is
// the example that a wrong value is answered with.
type Program struct {
	Name    string
	Purpose string // a sentence
	Flags   *flag.FlagSet
	Check   func() error // of the settings together; an error begins with the flag at fault

	version string
	format  string
	ask     struct{ version, config bool }
}

// New makes a program with the flags that every daemon has.
func New(name, purpose, version string) *Program {
	p := &Program{Name: name, Purpose: purpose, version: version, Flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	p.Flags.SetOutput(io.Discard) // what is wrong is told once, by Begin
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

// Begin reads the settings. If done, that was all: the program ends with the
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
	case err == nil && p.ask.config: // also of settings that don't go together
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

// read reads flags and environment.
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

// parse is Parse, with errors that begin with the flag at fault.
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

// A watched value notes which flag can't be set, and why not. It refuses an empty
// value, which is usually a shell variable that was not set, and a second one: to
// take either for "not given" would drop what was asked for.
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
		err = errors.New("it is empty; give it a value, or leave it out")
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

// IsBoolFlag says whether the flag may stand without a value.
func (w *watched) IsBoolFlag() bool { return isSwitch(w.Value) }

func isSwitch(v flag.Value) bool {
	b, ok := v.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// Explain is the words of err; to those that begin with a flag, as what is
// wrong with one does, it adds an example.
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

// Log makes the program's log.
func (p *Program) Log(stderr io.Writer) *slog.Logger {
	if p.format == "json" {
		return slog.New(slog.NewJSONHandler(stderr, nil))
	}
	return slog.New(slog.NewTextHandler(stderr, nil))
}
