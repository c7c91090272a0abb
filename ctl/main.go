// Package ctl is ledgerctl, the ledger's tool for people and scripts.
//
//	arguments → words and flags, in any order → a command of the table
//	→ its flags, from the arguments or the environment → run
//	→ data on standard output; messages on standard error, and an exit code
//
// Data and messages never mix: standard output holds only the requested data, as
// a table or as the API's own JSON. manners.go has the rules for messages and
// exit codes, commands.go the table from which help is generated.
package ctl

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"assetledger/ctl/client"
	"assetledger/ledger"
	"assetledger/server/settings"
)

// Main runs ledgerctl with args, without the program's name, and returns its exit
// code. env is os.LookupEnv, or a test's own.
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
	api     *client.Client
	made    []string              // the operations that a verb made, in words
	classes map[string]*classData // already asked for, by id or code
	noClass bool                  // a class could not be read for a refusal
	names   map[string]string     // of containers, already asked for, by id; "-" if there is none
	related *commitReader         // says more of the entries of a history; nil for other lists
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
	if err := cmd.checkArgs(rest); err != nil {
		return err
	}
	if rest, err = cmd.takeWords(set, rest, flags); err != nil {
		return err
	}
	if c.csv() && !cmd.List {
		return usagef("-o csv is of lists, and %s shows none: -o json is for programs", cmd.Words)
	}
	c.args = rest
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

func unknownCommand(table []command, words []string) error {
	group := nextWords(table, words[:1])
	switch {
	case len(group) > 0 && len(words) == 1:
		return usagef("%s needs one of: %s", words[0], strings.Join(wordsIn(group), ", "))
	case len(group) > 0:
		given := words[0] + " " + words[1]
		var near []string
		for _, member := range wordsIn(group) {
			if didYouMean(words[1], []string{member}) != "" {
				near = append(near, words[0]+" "+member)
			}
		}
		none := ": " + words[0] + " needs one of " + strings.Join(wordsIn(group), ", ")
		meant := cmp.Or(otherCommand(given), didYouMean(given, near), none)
		return usagef("unknown command %q%s; ledgerctl %s -h lists them", given, meant, words[0])
	}
	return usagef("unknown command %q%s; ledgerctl help lists them", words[0], meantCommand(table, words))
}

func meantCommand(table []command, words []string) string {
	meant := meantWord(table, words[0])
	if verb := otherVerbs[words[0]]; verb != "" {
		meant = meantInstead(verb)
		if verb == "read" && len(words) > 1 {
			if cmd, _, err := resolve(table, words[1:]); err == nil {
				meant = meantInstead(cmd.Words)
			}
			meant = cmp.Or(otherCommand(words[0]+" "+words[1]), meantWord(table, words[1]), meant)
		}
	}
	return cmp.Or(meant, didYouMean(words[0], wordsIn(nextWords(table, nil))), meantOperation(words[0]))
}

func meantInstead(words string) string { return fmt.Sprintf(" (did you mean %q?)", words) }

// otherCommand returns what was meant by a command and a word that it lacks.
func otherCommand(words string) string {
	if other := otherCommands[words]; other != "" {
		return meantInstead(other)
	}
	return ""
}

func meantOperation(word string) string {
	for _, kind := range ledger.OpKinds() {
		if len(word) < 4 || !strings.HasPrefix(strings.ToLower(kind.String()), strings.ToLower(word)) {
			continue
		}
		return meantInstead("commit " + kind.String())
	}
	return ""
}

// otherVerbs maps words of other tools to those of ledgerctl.
var otherVerbs = map[string]string{
	"get": "read", "describe": "read", "list": "read", "ls": "read", "show": "read", "info": "read", "put": "add", "set": "add",
	"apply": "commit", "exec": "commit", "edit": "commit", "logs": "watch", "tail": "watch", "follow": "watch",
	"top": "health", "status": "health", "ping": "health", "explain": "help", "man": "help",
	"rm": "delete", "del": "delete", "destroy": "burn", "swap": "move", "new": "create", "open": "create", "unplace": "take", "insert": "place",
	"pay": "transfer", "send": "transfer", "deposit": "add", "credit": "add", "fund": "add", "topup": "add",
	"withdraw": "remove", "debit": "remove", "undo": "reverse", "revert": "reverse", "rollback": "reverse", "refund": "reverse",
	"reserve": "hold", "authorize": "hold", "capture": "settle", "cancel": "release", "void": "release", "unhold": "release",
	"import": "batch", "load": "batch", "restore": "backup", "start": "dev", "run": "dev", "serve": "dev", "up": "dev", "init": "dev",
}

// otherCommands maps a command and a word that it lacks to the one that was meant.
var otherCommands = map[string]string{
	"create container": "create", "create class": "register class", "create shape": "register shape", "create token": "token new",
	"add container": "create", "add class": "register class", "remove container": "delete", "delete container": "delete",
	"delete instance": "burn", "delete hold": "release", "delete token": "token revoke", "rename container": "rename", "watch freshness": "watch -freshness",
	"get tokens": "token list", "list tokens": "token list", "token create": "token new", "token add": "token new", "token delete": "token revoke",
	"token rm": "token revoke", "token remove": "token revoke", "token ls": "token list", "token get": "token list", "token show": "token list",
	"wal check": "wal verify", "wal ls": "wal stat", "wal list": "wal stat", "wal info": "wal stat", "wal show": "wal dump", "wal fix": "wal repair",
}

// otherFlags maps flags of other tools to those of ledgerctl.
var otherFlags = map[string]string{
	"output": "-o", "format": "-o", "json": "-o json", "ojson": "-o json", "csv": "-o csv", "ocsv": "-o csv", "n": "-limit",
	"token": "-token-file", "url": "-write-url and -read-url", "server": "-write-url and -read-url",
}

// meantWord finds a command by its second word, in singular or plural: a read, or
// else another one.
func meantWord(table []command, word string) (meant string) {
	for _, spelled := range []string{word, word + "s", word + "es", strings.TrimSuffix(word, "s")} {
		for _, cmd := range table {
			own := strings.Fields(cmd.Words)
			if len(own) < 2 || own[1] != spelled {
				continue
			}
			if own[0] == "read" {
				return meantInstead(cmd.Words)
			}
			meant = cmp.Or(meant, meantInstead(cmd.Words))
		}
	}
	return meant
}

// flagError turns the flag package's error into a sentence with a next step.
func flagError(cmd command, set *flag.FlagSet, err error) error {
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(err.Error(), undefined); ok {
		var names []string
		set.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		meant := didYouMean("-"+name, names)
		if other := otherFlags[name]; other != "" && (name != "n" || set.Lookup("limit") != nil) {
			meant = meantInstead(other)
		}
		return usagef("%s has no flag -%s%s; ledgerctl %s -h lists them", cmd.Words, name, meant, cmd.Words)
	}
	if errors.Is(err, flag.ErrHelp) {
		return usagef("%s -h takes no value", cmd.Words)
	}
	return usagef("%v; see ledgerctl %s -h", err, cmd.Words)
}
