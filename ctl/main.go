// Package ctl is ledgerctl, the ledger's tool for people and scripts.
//
//	arguments → words and flags, in any order → a command of the table
//	→ its flags, from the arguments or the environment → run
//	→ data on standard output; messages on standard error, and an exit code
//
// The main invariant: a command says whether its commit took effect, or that this is
// unknown.
//
// Data and messages never mix: standard output holds only the requested data, as
// a table or as the API's own JSON. manners.go has the rules for messages and
// exit codes, commands.go the table from which help is generated.
package ctl

import (
	"bufio"
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
	err := c.run(args, env)
	if flushed := c.out.Flush(); err == nil {
		err = flushed
	}
	return tell(stderr, err)
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
	if err := cmd.checkArgs(rest); err != nil {
		return err
	}
	if c.args, err = cmd.takeWords(set, rest, given); err != nil {
		return err
	}
	if c.csv() && !cmd.List {
		return usagef("-o csv is for lists, and %s shows none: use -o json", cmd.Words)
	}
	if err := c.connecting.load(env); err != nil {
		return err
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
