package ctl

import (
	"flag"
	"slices"
	"strings"
)

// A command is a row of the table from which arguments are resolved and help is generated.
type command struct {
	Words    string    // as typed: "read balances"
	Args     string    // names of the arguments, with [optional] ones last: "CLASS_ID NAME", or the values of the only one: "bash|zsh"
	Hidden   bool      // not listed in help, because it is for programs
	List     bool      // it shows one table, so it has -o csv
	Purpose  string    // an imperative: "show …"
	Notes    string    // what the flags' descriptions do not say; may be empty
	Examples [2]string // without "ledgerctl "
	Run      action    // for a command without flags
	// Setup declares the command's flags and returns the action.
	Setup func(set *flag.FlagSet) action
}

type action func(c *call) error

// setup returns the Setup of a command with flags of type F. F declares the flags.
func setup[F any, P interface {
	*F
	declare(*flag.FlagSet)
}](run func(P, *call) error) func(*flag.FlagSet) action {
	return func(set *flag.FlagSet) action {
		f := P(new(F))
		f.declare(set)
		return func(c *call) error { return run(f, c) }
	}
}

// commands lists all commands in the order of the help. Those of a group are adjacent.
var commands = slices.Concat(verbCommands(verbs), []command{
	reverseCommand, commitCommand, batchCommand, exportCommand, preflightCommand,
}, verbCommands(registrations), readCommands(), []command{
	readGridCommand, readInstanceCommand, readCommitCommand, readCommitsCommand, readFreshnessCommand,
	historyCommand, statementCommand, freshnessCommand, watchCommand,
	healthCommand, metricsCommand,
	tokenNewCommand, tokenListCommand, tokenRevokeCommand,
	benchCommand, backupCommand, devCommand,
	walVerifyCommand, walDumpCommand, walStatCommand, walArchiveCommand, walRepairCommand,
	logPushCommand, logDetachCommand,
	versionCommand, helpCommand, completionCommand, completeCommand, manCommand,
})

// least returns the number of required arguments.
func (cmd *command) least() int {
	return len(strings.Fields(cmd.Args)) - strings.Count(cmd.Args, "[")
}

func (cmd *command) checkArgs(given []string) error {
	meant, takes := "", ""
	if len(given) > 0 {
		meant = didMean(otherWords[cmd.Words+" "+given[0]])
	}
	most := len(strings.Fields(cmd.Args))
	if most > 0 {
		takes = "takes " + cmd.Args + ", and "
	}
	switch {
	case len(given) < cmd.least():
		return usagef("%s needs %s, as in: ledgerctl %s%s", cmd.Words, cmd.Args, cmd.Examples[0], meant)
	case len(given) > most && !strings.HasSuffix(cmd.Args, "…"):
		return usagef("%s %sdoes not take %q%s; see ledgerctl %s -h", cmd.Words, takes, given[most], meant, cmd.Words)
	}
	return nil
}

// wordFlags maps optional arguments to the flags that they set.
var wordFlags = map[string]string{"[DIR]": "dir", "[FILE]": "f"}

// takeWords sets the flags that some of the words stand for, and returns the other
// words. given are the flags of the command line. It is an error to give one of them as a
// word too. A word takes precedence over the environment.
func (cmd *command) takeWords(set *flag.FlagSet, words []string, given map[string]bool) (rest []string, err error) {
	spare := len(words) - cmd.least()
	for _, name := range strings.Fields(cmd.Args) {
		optional := name[0] == '['
		if len(words) == 0 || optional && spare == 0 {
			continue
		}
		word, bare, to := words[0], strings.Trim(name, "[]…"), wordFlags[name]
		switch {
		case word == "" && bare != "WORD": // usually an unset shell variable; an empty path would be the current directory
			err = usagef("%s is empty: give it a value", bare)
		case to == "":
			rest = append(rest, word)
		case given[to]:
			err = usagef("%s is given twice, as %s and as -%s: use one", bare, word, to)
		default:
			err = set.Set(to, word)
		}
		if err != nil {
			return nil, err
		}
		if words = words[1:]; optional {
			spare--
		}
	}
	return append(rest, words...), nil
}
