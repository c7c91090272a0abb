// Package ctl is ledgerctl, the ledger's tool for people and scripts.
//
//	arguments → words and flags, in any order → a command of the table
//	→ its flags, from the arguments or the environment → run
//	→ data on standard output; messages on standard error, and an exit code
//
// The main invariant: a command says whether its commit took effect, or that this is
// unknown.
//
// Data and messages never mix: standard output holds only the requested data, usually as
// a table, as CSV or as JSON. The JSON of a response is the API's own. manners.go has
// the rules for messages and exit codes, this file the table from which help is generated.
package ctl

import (
	"bufio"
	"cmp"
	"context"
	"flag"
	"io"
	"slices"
	"strings"

	"assetledger/ctl/client"
	"assetledger/server/settings"
)

// Main runs ledgerctl and returns its exit code. args does not include the program's
// name. env is os.LookupEnv, or a function of a test.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) (string, bool)) int {
	c := &call{ctx: context.Background(), in: stdin, out: bufio.NewWriterSize(stdout, 64<<10), words: stderr, table: commands, screen: screenOf(stdout)}
	return tell(stderr, cmp.Or(c.run(args, env), c.out.Flush()))
}

// A call is one run of one command.
type call struct {
	ctx    context.Context
	args   []string      // the words after those of the command
	in     io.Reader     // standard input
	out    *bufio.Writer // standard output: data
	words  io.Writer     // standard error: messages
	screen screen
	table  []command
	globals
	api     *client.Client
	made    []string              // operations of a verb, in words
	classes map[string]*classData // classes that were read, by id or code
	unit    *classData            // class of the amount of a verb
	noClass bool                  // a class could not be read in time for an error message
	names   map[string]string     // names of containers that were read, by id; "-" if there is none
	related *commitReader         // adds fields of commits to entries of a history; nil for other lists
}

func (c *call) run(args []string, env func(string) (string, bool)) error {
	flags, words, help := split(args, valueFlags(c.table))
	if help {
		return c.showHelp(words)
	}
	if len(words) == 0 && len(args) == 0 {
		writeOverview(c.words, c.table, "") // to standard error, because no output was requested
		return exitf(exitUsage, "")
	}
	if len(words) == 0 && len(flags) == 1 && (flags[0] == "-v" || strings.TrimLeft(flags[0], "-") == "version") {
		words, flags = []string{versionCommand.Words}, nil
	}
	cmd, rest, err := resolve(c.table, words)
	if err != nil {
		return err
	}
	set, run := cmd.flags(&c.globals)
	if err := settings.Parse(set, flags, env); err != nil {
		return flagError(cmd, set, err)
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	c.args, err = cmd.takeWords(set, rest, given)
	if err = cmp.Or(cmd.checkArgs(rest), err, c.connecting.load(env)); err != nil {
		return err
	}
	if c.csv() && !cmd.List {
		return usagef("-o csv is for lists, and %s shows none: use -o json", cmd.Words)
	}
	c.api = newClient(&c.connecting, idle)
	return run(c)
}

func resolve(table []command, words []string) (command, []string, error) {
	if len(words) == 0 {
		return command{}, nil, usagef("no command was given: ledgerctl help lists them")
	}
	var found command
	for _, cmd := range table {
		if own := strings.Fields(cmd.Words); hasPrefix(words, own) && len(cmd.Words) > len(found.Words) {
			found = cmd
		}
	}
	if found.Words == "" {
		return command{}, nil, unknownCommand(table, words)
	}
	return found, words[len(strings.Fields(found.Words)):], nil
}

func hasPrefix(words, prefix []string) bool {
	return len(words) >= len(prefix) && slices.Equal(words[:len(prefix)], prefix)
}

// A command is a row of the table from which arguments are resolved and help is generated.
type command struct {
	Words    string    // as typed: "read balances"
	Args     string    // names of the arguments, at most one of them [optional]: "CLASS_ID NAME", or the values of the only one: "bash|zsh"
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
// words. The names of the flags on the command line are in `given`. It is an error to give
// one of these flags as a word too. A word takes precedence over the environment.
func (cmd *command) takeWords(set *flag.FlagSet, words []string, given map[string]bool) (rest []string, err error) {
	names := strings.Fields(cmd.Args)
	if len(words) <= cmd.least() { // without the optional one
		names = slices.DeleteFunc(names, func(name string) bool { return name[0] == '[' })
	}
	names = names[:min(len(names), len(words))]
	for i, name := range names {
		word, bare, to := words[i], strings.Trim(name, "[]…"), wordFlags[name]
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
	}
	return append(rest, words[len(names):]...), nil
}
