// Package settings configures every program of the ledger in the same way: from a
// flag, else from the environment variable (LEDGER_ and the flag's name in
// capitals, with _ for -), else from the default.
package settings

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"strings"
)

// EnvName returns the environment variable of a flag, such as LEDGER_SEGMENT_SIZE
// for -segment-size.
func EnvName(flagName string) string {
	return "LEDGER_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// Parse parses args into the flags, and then sets the other flags from the
// environment. lookup is os.LookupEnv, or a test's replacement. The error for an
// invalid value begins with the flag. flag.ErrHelp means that help was requested.
func Parse(flags *flag.FlagSet, args []string, lookup func(string) (string, bool)) error {
	var wrong error
	flags.VisitAll(func(f *flag.Flag) { f.Value = &watched{Value: f.Value, name: f.Name, wrong: &wrong} })
	defer flags.VisitAll(func(f *flag.Flag) { f.Value = f.Value.(*watched).Value })
	if err := flags.Parse(args); err != nil {
		return cmp.Or(wrong, err)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	flags.VisitAll(func(f *flag.Flag) {
		if value, ok := lookup(EnvName(f.Name)); ok && !given[f.Name] {
			f.Value.Set(value) // an error is in wrong
		}
	})
	return wrong
}

// A watched value records which flag can't be set, and why. It rejects an empty
// value, which usually comes from an unset shell variable, and a second value unless
// the flag's value has a method Repeatable. Ignoring either would drop a setting that
// somebody asked for.
type watched struct {
	flag.Value
	name  string
	wrong *error
	given bool
}

func (w *watched) Set(s string) error {
	var err error
	_, repeatable := w.Value.(interface{ Repeatable() })
	switch {
	case strings.TrimSpace(s) == "":
		err = errors.New("it is empty; give it a value, or omit it")
	case w.given && !repeatable:
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
func (w *watched) IsBoolFlag() bool { return IsSwitch(w.Value) }

// IsSwitch reports whether a flag may be given without a value.
func IsSwitch(v flag.Value) bool {
	b, ok := v.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}
