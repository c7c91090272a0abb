package ctl

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"assetledger/ledger"
)

var helpCommand = command{
	Words:    "help",
	Args:     "[TOPIC]…",
	Purpose:  "say what a command, an operation, or the flags of every command do",
	Examples: [2]string{"help", "help TransferFungible"},
	Setup: func(*flag.FlagSet) action {
		return func(c *call) error { return c.showHelp(c.args) }
	},
}

// showHelp writes the help of the command, or group of commands, that words
// name; of all for none.
func (c *call) showHelp(words []string) error {
	if len(words) == 0 {
		writeOverview(c.out, c.table, "")
		return nil
	}
	if len(words) == 1 && len(membersOf(c.table, words[0])) > 0 {
		writeOverview(c.out, c.table, words[0])
		return nil
	}
	if len(words) == 1 && c.helpTopic(words[0]) {
		return nil
	}
	cmd, _, err := resolve(c.table, words)
	if err != nil {
		return err
	}
	cmd.writeHelp(c.out)
	return nil
}

// helpTopic writes the help of a word that is no command, if it is a topic.
func (c *call) helpTopic(word string) bool {
	if word == "connecting" {
		writeConnecting(c.out)
		return true
	}
	ops := c.newTable(text("operation"), text("arguments that it needs"))
	for _, kind := range ledger.OpKinds() {
		if kind.String() == word {
			c.helpOperation(kind)
			return true
		}
	}
	if word == "ops" {
		for _, s := range opNames() {
			ops.row(strings.TrimSpace(s.word), s.meaning)
		}
		ops.flush()
	}
	return word == "ops"
}

// helpOperation writes what an operation takes, and an example.
func (c *call) helpOperation(kind ledger.OpKind) {
	example := kind.String()
	t := c.newTable(text("argument"), text(""), text("value"))
	for _, arg := range kind.Args() {
		needed := "may be left out"
		if arg.Required {
			needed = "needed"
			example += " " + arg.Name + "=" + exampleValue(arg)
		}
		value, _, _ := strings.Cut(arg.Type.Values(), ": 1 to") // not what a name is made of
		t.row(arg.Name, needed, value)
	}
	t.flush()
	fmt.Fprintf(c.out, "\nexample:\n  ledgerctl commit %s\n", example)
	for _, v := range verbs {
		if slices.Contains(v.kinds, kind) {
			fmt.Fprintf(c.out, "\nledgerctl %s makes one.\n", v.word)
		}
	}
}

func exampleValue(arg ledger.Arg) string {
	if arg.Name == "to_container" {
		return "shop"
	}
	switch arg.Type {
	case ledger.ArgContainer, ledger.ArgContainerNameOrNull:
		return "users/42"
	case ledger.ArgClass:
		return "EUR"
	case ledger.ArgName:
		return "Euro"
	case ledger.ArgKind:
		return "Standard"
	case ledger.ArgKey, ledger.ArgIndex:
		return "0"
	}
	return "1"
}
