// Package settings configures every program of the ledger in the same way: from a
// flag, else from the environment variable (LEDGER_ and the flag's name in
// capitals, with _ for -), else from the default.
package settings

import (
	"flag"
	"fmt"
	"strings"
)

// EnvName returns the environment variable of a flag, such as LEDGER_SEGMENT_SIZE
// for -segment-size.
func EnvName(flagName string) string {
	return "LEDGER_" + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// Parse parses args into the flags, and then sets the flags that were not given
// from the environment. lookup is os.LookupEnv, or a test's replacement. The error
// names the flag or variable and its valid values. flag.ErrHelp means that help was
// requested.
func Parse(flags *flag.FlagSet, args []string, lookup func(string) (string, bool)) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var err error
	flags.VisitAll(func(f *flag.Flag) {
		if given[f.Name] || err != nil {
			return
		}
		value, ok := lookup(EnvName(f.Name))
		if !ok {
			return
		}
		if e := f.Value.Set(value); e != nil {
			err = fmt.Errorf("invalid value %q in %s for -%s: %v", value, EnvName(f.Name), f.Name, e)
		}
	})
	return err
}
