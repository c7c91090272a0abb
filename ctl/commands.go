package ctl

import (
	"flag"
	"slices"
	"strings"
)

// A command is a row of the table that resolves arguments and makes the help.
type command struct {
	Words    string    // as typed: "read balances"
	Args     string    // names of what follows, [optional]… last: "CLASS_ID NAME"
	Choices  []string  // of the only argument, if it has few; for completion
	Hidden   bool      // for programs: help does not list it
	List     bool      // it shows one table, which -o csv writes as CSV
	Purpose  string    // half a sentence: "show …"
	Notes    string    // what the flags do not say; may be empty
	Examples [2]string // without "ledgerctl "
	Run      action    // for a command without flags
	// Setup declares the command's flags and returns the action.
	Setup func(set *flag.FlagSet) action
}

type action func(c *call) error

// setup returns the Setup of a command that runs with an F, which declares its flags.
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

func (cmd *command) checkArgs(given []string) error {
	least, most := 0, 0
	for name := range strings.FieldsSeq(cmd.Args) {
		if most++; name[0] != '[' {
			least++
		}
		if strings.HasSuffix(name, "…") {
			most = max(most, len(given))
		}
	}
	meant := ""
	if len(given) > 0 {
		meant = didMean(otherWords[cmd.Words+" "+given[0]])
	}
	if len(given) < least {
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

// wordFlags are the flags that optional arguments set.
var wordFlags = map[string]string{"[DIR]": "dir", "[FILE]": "f"}

// places are the arguments that name something to read or write.
var places = []string{"DIR", "OUT", "FILE", "URL"}

// refuseEmptyWord rejects an empty place: its path would be the current directory.
func refuseEmptyWord(name, word string) error {
	bare := strings.Trim(name, "[]…")
	if word != "" || !slices.ContainsFunc(strings.Split(bare, "|"), func(s string) bool { return slices.Contains(places, s) }) {
		return nil
	}
	if name[0] == '[' {
		return usagef("%s is empty: give it a value, or leave it out", bare)
	}
	return usagef("%s is empty: give it a value", bare)
}

// takeWords sets the flags that some of the words stand for, and returns the
// other words. flags are those of the command line: setting one of them by a word
// too is an error. A word takes precedence over the environment.
func (cmd *command) takeWords(set *flag.FlagSet, words, flags []string) ([]string, error) {
	names := strings.Fields(cmd.Args)
	spare := len(words)
	for _, name := range names {
		if name[0] != '[' {
			spare--
		}
	}
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
