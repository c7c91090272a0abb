// Package ctl is ledgerctl, the ledger's tool for people and scripts.
//
//	arguments → words and flags, in any order → a command of the table
//	→ its flags, from the arguments or the environment → run
//	→ data on standard output; what went wrong on standard error, and an exit code
//
// Data and words never mix: standard output holds only what was asked for, as
// a table or as the API's own JSON. manners.go has the rules for words and
// exit codes, commands.go the table from which help is made.
package ctl

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"strings"

	"assetledger/server/settings"
)

// Main runs ledgerctl with args (without the program's name) and returns its
// exit code. env is os.LookupEnv, or a test's own.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) (string, bool)) int {
	c := &call{ctx: context.Background(), in: stdin, out: bufio.NewWriterSize(stdout, 64<<10), words: stderr, table: commands, screen: newScreen(stdout, env)}
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
	words  io.Writer     // standard error: words
	screen screen
	table  []command
	globals
	api     *client
	made    string                // the operation that a verb made, in words
	classes map[string]*classData // already asked for, by id or code
	names   map[string]string     // of containers, already asked for, by id; "-" if there is none
}

func (c *call) run(args []string, env func(string) (string, bool)) error {
	flags, words, help := split(args, valueFlags(c.table))
	if help {
		return c.showHelp(words)
	}
	if len(words) == 0 && len(args) == 0 {
		writeOverview(c.words, c.table, "") // not data: nothing was asked for
		return exitf(exitUsage, "")
	}
	if len(words) == 0 && len(flags) == 1 && (flags[0] == "-v" || strings.TrimLeft(flags[0], "-") == "version") {
		words, flags = []string{versionCommand.Words}, nil
	}
	cmd, rest, err := resolve(c.table, words)
	if err != nil {
		return err
	}
	set := flag.NewFlagSet("ledgerctl "+cmd.Words, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	c.globals.declare(set)
	run := cmd.Setup(set)
	if err := settings.Parse(set, flags, env); err != nil {
		return flagError(cmd, set, err)
	}
	if err := refuseEmpty(set, env); err != nil {
		return err
	}
	if rest, err = inputWord(set, cmd.Args, rest); err != nil {
		return err
	}
	if err := cmd.checkArgs(rest); err != nil {
		return err
	}
	if c.csv() && !cmd.List {
		return usagef("-o csv is of lists, and %s shows none: -o json is for programs", cmd.Words)
	}
	c.args = rest
	if err := c.connecting.load(env); err != nil {
		return err
	}
	c.api = newClient(&c.connecting)
	return run(c)
}

// inputWord takes a lone - after a command that reads from -f for -f -.
func inputWord(set *flag.FlagSet, args string, words []string) ([]string, error) {
	f := set.Lookup("f")
	if f == nil || args != "" && args[0] != '[' || len(words) != 1 || words[0] != "-" {
		return words, nil
	}
	if file := f.Value.String(); file != "" && file != "-" {
		return nil, usagef("-f %s and - are two inputs: use one", file)
	}
	return nil, f.Value.Set("-")
}

// resolve finds the command whose words begin the given words, and what follows them.
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
	if len(words) < len(prefix) {
		return false
	}
	for i, w := range prefix {
		if words[i] != w {
			return false
		}
	}
	return true
}

// unknownCommand says what could have been meant.
func unknownCommand(table []command, words []string) error {
	group := membersOf(table, words[0])
	switch {
	case len(group) > 0 && len(words) == 1:
		return usagef("%s needs one of: %s", words[0], strings.Join(group, ", "))
	case len(group) > 0:
		return usagef("unknown command %q%s; ledgerctl %s -h lists them", words[0]+" "+words[1], didYouMean(words[1], group), words[0])
	}
	for _, cmd := range table {
		if own := strings.Fields(cmd.Words); len(own) == 2 && own[1] == words[0] {
			return usagef("unknown command %q (did you mean %q?); ledgerctl help lists them", words[0], cmd.Words)
		}
	}
	switch words[0] {
	case "get", "describe", "list", "ls", "show":
		return usagef("unknown command %q (did you mean \"read\"?); ledgerctl read -h lists them", words[0])
	}
	return usagef("unknown command %q%s; ledgerctl help lists them", words[0], didYouMean(words[0], firstWords(table)))
}

// membersOf lists the second words of the commands that begin with first.
func membersOf(table []command, first string) []string {
	var seconds []string
	for _, cmd := range table {
		if own := strings.Fields(cmd.Words); len(own) > 1 && own[0] == first {
			seconds = append(seconds, own[1])
		}
	}
	return seconds
}

// firstWords lists the first word of every command once.
func firstWords(table []command) []string {
	var firsts []string
	for _, cmd := range table {
		first, _, _ := strings.Cut(cmd.Words, " ")
		if n := len(firsts); !cmd.Hidden && (n == 0 || firsts[n-1] != first) {
			firsts = append(firsts, first)
		}
	}
	return firsts
}

// flagError turns the flag package's error into a sentence with a next step.
func flagError(cmd command, set *flag.FlagSet, err error) error {
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(err.Error(), undefined); ok {
		var names []string
		set.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		return usagef("%s has no flag -%s%s; ledgerctl %s -h lists them", cmd.Words, name, didYouMean("-"+name, names), cmd.Words)
	}
	if errors.Is(err, flag.ErrHelp) {
		return usagef("%s -h takes no value", cmd.Words)
	}
	return usagef("%v; see ledgerctl %s -h", err, cmd.Words)
}
