package ctl

import (
	"flag"
	"slices"
	"strings"
)

// A command is one row of the table from which arguments are resolved and
// help is made.
type command struct {
	Words    string    // as typed: "read balances"
	Args     string    // names of what follows, [optional]… last: "CLASS_ID NAME"
	Choices  []string  // of the only argument, if it has few; for completion
	Hidden   bool      // for programs: help does not list it
	List     bool      // it shows one table, which -o csv writes as CSV
	Purpose  string    // half a sentence: "show …"
	Notes    string    // what the flags do not say; may be empty
	Examples [2]string // without "ledgerctl "
	// Setup declares the command's flags and returns what runs it.
	Setup func(set *flag.FlagSet) action
}

// An action runs a command whose flags are set.
type action func(c *call) error

// commands is the whole of ledgerctl, in the order of its help. Commands of a
// group (two words, the same first) stand together.
var commands = slices.Concat(verbCommands(), []command{
	reverseCommand,
	commitCommand,
	batchCommand,
	exportCommand,
	preflightCommand,
	registerClassCommand,
	registerShapeCommand,
}, readCommands(), []command{
	readSlotsCommand,
	readGridCommand,
	readShapesCommand,
	readInstanceCommand,
	readCommitCommand,
	readCommitsCommand,
	readFreshnessCommand,
	historyCommand,
	statementCommand,
	freshnessCommand,
	watchCommand,
	healthCommand,
	metricsCommand,
	tokenNewCommand,
	tokenListCommand,
	tokenRevokeCommand,
	benchCommand,
	backupCommand,
	devCommand,
	walVerifyCommand,
	walDumpCommand,
	walStatCommand,
	walArchiveCommand,
	walRepairCommand,
	logPushCommand,
	logDetachCommand,
	versionCommand,
	helpCommand,
	completionCommand,
	completeCommand,
	manCommand,
})

// checkArgs compares the words after the command with what it takes.
func (cmd *command) checkArgs(given []string) error {
	var least, most int
	for _, name := range strings.Fields(cmd.Args) {
		if strings.HasPrefix(name, "[") {
			most = len(given)
			break
		}
		least++
	}
	most = max(most, least)
	if len(given) < least {
		return usagef("%s needs %s; see ledgerctl %s -h", cmd.Words, cmd.Args, cmd.Words)
	}
	if len(given) > most {
		return usagef("%s does not take %q; see ledgerctl %s -h", cmd.Words, given[most], cmd.Words)
	}
	return nil
}
