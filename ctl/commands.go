package ctl

import (
	"flag"
	"slices"
	"strings"
)

// A command is a row of the table from which arguments are resolved and help is generated.
type command struct {
	Words    string    // as typed: "read balances"
	Args     string    // names of the arguments, with [optional] ones last: "CLASS_ID NAME"
	Choices  []string  // values of the only argument, if they are few; for completion
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
	most := len(strings.Fields(cmd.Args))
	if strings.HasSuffix(cmd.Args, "…") {
		most = max(most, len(given))
	}
	meant := ""
	if len(given) > 0 {
		meant = didMean(otherWords[cmd.Words+" "+given[0]])
	}
	if len(given) < cmd.least() {
		return usagef("%s needs %s, as in: ledgerctl %s%s", cmd.Words, cmd.Args, cmd.Examples[0], meant)
	}
	if len(given) > most {
		takes := ""
		if most > 0 {
			takes = "takes " + cmd.Args + ", and "
		}
		return usagef("%s %sdoes not take %q%s; see ledgerctl %s -h", cmd.Words, takes, given[most], meant, cmd.Words)
	}
	return nil
}

// wordFlags maps optional arguments to the flags that they set.
var wordFlags = map[string]string{"[DIR]": "dir", "[FILE]": "f"}

// refuseEmptyWord rejects an empty word. The usual cause is an unset shell variable, and
// an empty path would be the current directory. Only words to complete may be empty.
func refuseEmptyWord(name, word string) error {
	switch bare := strings.Trim(name, "[]…"); {
	case word != "" || bare == "WORD":
		return nil
	case name[0] == '[':
		return usagef("%s is empty: give it a value, or omit it", bare)
	default:
		return usagef("%s is empty: give it a value", bare)
	}
}

// takeWords sets the flags that some of the words stand for, and returns the other
// words. flags are those of the command line. It is an error to give one of them as a
// word too. A word takes precedence over the environment.
func (cmd *command) takeWords(set *flag.FlagSet, words, flags []string) ([]string, error) {
	names := strings.Fields(cmd.Args)
	spare := len(words) - cmd.least()
	var rest []string
	for _, name := range names {
		if len(words) == 0 || name[0] == '[' && spare == 0 {
			continue
		}
		if err := refuseEmptyWord(name, words[0]); err != nil {
			return nil, err
		}
		to := wordFlags[name]
		switch {
		case to == "":
			rest = append(rest, words[0])
		case slices.ContainsFunc(flags, func(f string) bool { return isFlag(f, to) }):
			return nil, usagef("%s is given twice, as %s and as -%s: use one", strings.Trim(name, "[]"), words[0], to)
		default:
			if err := set.Set(to, words[0]); err != nil {
				return nil, usagef("%s is %q: %v", strings.Trim(name, "[]"), words[0], err)
			}
		}
		if name[0] == '[' {
			spare--
		}
		words = words[1:]
	}
	return append(rest, words...), nil
}

func isFlag(word, name string) bool {
	word, _, _ = strings.Cut(word, "=")
	return len(word) > 1 && word[0] == '-' && strings.TrimPrefix(word[1:], "-") == name
}
