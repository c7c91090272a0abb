package ctl

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"assetledger/ledger"
	"assetledger/server/version"
)

var helpCommand = command{
	Words:    "help",
	Args:     "[TOPIC]…",
	Purpose:  "describe a command, an operation, or the flags of every command",
	Examples: [2]string{"help", "help TransferFungible"},
	Run:      func(c *call) error { return c.showHelp(c.args) },
}

// showHelp writes the help of a command, a group or a topic, or the overview if there are
// no words.
func (c *call) showHelp(words []string) error {
	if len(words) == 0 || len(words) == 1 && len(nextWords(c.table, words)) > 0 {
		writeOverview(c.out, c.table, strings.Join(words, ""))
		return nil
	}
	cmd, _, err := resolve(c.table, words)
	switch {
	case err == nil:
		cmd.writeHelp(c.out)
		return nil
	case len(words) > 1:
		return err
	case c.helpTopic(words[0]):
		return nil
	}
	if near := didYouMean(words[0], wordsIn(opNames())); near != "" {
		return usagef("there is no operation named %q%s; ledgerctl help ops lists them", words[0], near)
	}
	return err
}

func (c *call) helpTopic(word string) bool {
	if word == "connecting" {
		writeConnecting(c.out)
		return true
	}
	if word == "ops" {
		ops := c.listTable("operation command required")
		for i, s := range opNames() {
			ops.row(s.word, cmp.Or(commandOf(ledger.OpKinds()[i]), commitCommand.Words), s.meaning)
		}
		ops.flush()
		return true
	}
	for _, kind := range ledger.OpKinds() {
		if strings.EqualFold(kind.String(), word) {
			c.helpOperation(kind)
			return true
		}
	}
	return false
}

func (c *call) helpOperation(kind ledger.OpKind) {
	t := c.listTable("argument need value")
	for _, arg := range kind.Args() {
		value, _, _ := strings.Cut(arg.Type.Values(), ": 1 to") // without the rule for the characters of names
		t.row(arg.Name, need(kind, arg), value)
	}
	t.flush()
	fmt.Fprintf(c.out, "\nexample:\n  ledgerctl commit %s\n", strings.Join(exampleOf(kind), " "))
	if command := commandOf(kind); command != "" {
		fmt.Fprintf(c.out, "\nledgerctl %s commits this operation.\n", command)
	}
}

// commandOf returns the command for operations of only this kind, or "" if there is none.
func commandOf(kind ledger.OpKind) string {
	for _, v := range slices.Concat(verbs, registrations) {
		if slices.Contains(v.kinds, kind) {
			return v.word
		}
	}
	return ""
}

func need(kind ledger.OpKind, arg ledger.Arg) string {
	switch {
	case !arg.Required:
		return "optional"
	case arg.Type != ledger.ArgNewID:
		return "needed"
	case kind == ledger.RegisterClass:
		return "required, unless a code is given"
	}
	return "required, unless a name is given"
}

// exampleOf returns an operation with its required arguments, in words.
func exampleOf(kind ledger.OpKind) []string {
	example := []string{kind.String()}
	var more []string
	for _, arg := range kind.Args() {
		word := arg.Name + "=" + cmp.Or(namedExamples[kind.String()+" "+arg.Name], namedExamples[arg.Name], typedExamples[arg.Type], "1")
		if arg.Required {
			example = append(example, word)
		} else {
			more = append(more, word)
		}
	}
	if _, err := ledger.ParseOpList(example); err != nil { // it also needs one of the optional ones
		example = append(example, more[0])
	}
	return example
}

// Example values of arguments, by name or by type. All others are 1.
var (
	namedExamples = map[string]string{"MintInstance class_id": "sword", "to_container": "shop", "parent_id": "2",
		"to_key": "1", "to_x": "1", "slot_b": "1", "at_least": "1"} // must differ from from_key, x and slot_a, and at_least from 0
	typedExamples = map[ledger.ArgType]string{
		ledger.ArgContainer: "users/42", ledger.ArgContainerNameOrNull: "users/42",
		ledger.ArgClass: "EUR", ledger.ArgName: "Euro", ledger.ArgKind: "Standard",
		ledger.ArgKey: "0", ledger.ArgIndex: "0",
	}
)

var versionCommand = command{
	Words:    "version",
	Purpose:  "show the version of ledgerctl",
	Examples: [2]string{"version", "version -o json"},
	Run: func(c *call) error {
		c.showFacts(fact{"version", version.Version}, fact{"commit", version.Commit()}, fact{"go", runtime.Version()},
			fact{"platform", runtime.GOOS + "/" + runtime.GOARCH})
		return nil
	},
}
