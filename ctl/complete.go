package ctl

import (
	"embed"
	"flag"
	"fmt"
	"slices"
	"strings"

	"assetledger/ledger"
)

// Completion. The scripts for the shells call ledgerctl __complete with the words typed
// so far. The last word is to be completed, and may be empty. The command prints one
// candidate per line, followed by a tab and its meaning. A line ":files" means that the
// shell should complete file names.

var completeCommand = command{
	Words:    "__complete",
	Args:     "[WORD]…",
	Purpose:  "print possible completions, for shells",
	Hidden:   true,
	Examples: [2]string{"__complete -- read ba", "__complete -- commit TransferFungible from_"},
	Run: func(c *call) error {
		for _, s := range complete(c.table, c.args) {
			fmt.Fprintf(c.out, "%s\t%s\n", s.word, s.meaning)
		}
		return nil
	},
}

// A suggestion is one candidate. A word that ends in = or a space is not complete.
type suggestion struct{ word, meaning string }

// suggestions returns the values, each with the prefix.
func suggestions(prefix string, values []string) (list []suggestion) {
	for _, v := range values {
		list = append(list, suggestion{prefix + v, ""})
	}
	return list
}

// wordsIn returns the words of the suggestions.
func wordsIn(list []suggestion) []string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = s.word
	}
	return words
}

var theFiles = []suggestion{{":files", ""}}

func complete(table []command, words []string) []suggestion {
	words = joinEquals(words)
	before, last := words[:len(words)-1], words[len(words)-1]
	return slices.DeleteFunc(candidates(table, before, last), func(s suggestion) bool {
		return !strings.HasPrefix(s.word, last) && s != theFiles[0]
	})
}

// candidates returns what can follow the words before the last one.
func candidates(table []command, before []string, last string) []suggestion {
	takesValue := valueFlags(table)
	flags, typed, _ := split(before, takesValue)
	cmd, rest, _ := resolve(table, typed) // without flags or arguments if there is no such command
	if n := len(flags); n > 0 && flags[n-1] == before[len(before)-1] && len(flags[n-1]) > 1 {
		if name := strings.TrimLeft(flags[n-1], "-"); takesValue[name] {
			return flagValues(cmd, name)
		}
	}
	switch {
	case strings.HasPrefix(last, "-"):
		return flagNames(cmd)
	case len(typed) > 0 && typed[0] == "help":
		return nextWords(table, typed[1:])
	case cmd.Args == operationArgs:
		return operationWords(rest, last)
	case strings.HasPrefix(cmd.Args, "[DIR]"), strings.HasPrefix(cmd.Args, "[FILE]"):
		return theFiles
	case len(rest) == 0 && strings.Contains(cmd.Args, "|"):
		return suggestions("", strings.Split(cmd.Args, "|"))
	}
	return nextWords(table, typed)
}

// joinEquals joins words that bash has split at each =. It uses that no word has a zero byte. Without
// words it returns an empty one.
func joinEquals(words []string) []string {
	equals := strings.NewReplacer("\x00=\x00", "=", "\x00=", "=")
	return strings.Split(equals.Replace(strings.Join(words, "\x00")), "\x00")
}

// operationWords returns what can follow in an operation: a name, the arguments that are
// not given yet, or the values of an argument that has only a few.
func operationWords(typed []string, last string) []suggestion {
	if i := slices.Index(typed, "+"); i >= 0 {
		return operationWords(typed[i+1:], last)
	}
	if len(typed) == 0 {
		return opNames()
	}
	for _, kind := range ledger.OpKinds() {
		if kind.String() == typed[0] {
			return argSuggestions(kind, typed[1:], last)
		}
	}
	return nil
}

func nextWords(table []command, typed []string) []suggestion {
	var list []suggestion
	for _, cmd := range table {
		own := strings.Fields(cmd.Words)
		if cmd.Hidden || len(own) <= len(typed) || !hasPrefix(own, typed) {
			continue
		}
		s := suggestion{own[len(typed)], cmd.Purpose}
		if len(own) > len(typed)+1 {
			s.meaning = own[0] + " …"
		}
		if n := len(list); n == 0 || list[n-1].word != s.word {
			list = append(list, s)
		}
	}
	return list
}

func flagNames(cmd command) []suggestion {
	list := []suggestion{{"-h", "describe the command"}}
	cmd.flagSet().VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		list = append(list, suggestion{"-" + f.Name, usage})
	})
	return list
}

func flagValues(cmd command, name string) []suggestion {
	f := cmd.flagSet().Lookup(name)
	if f == nil {
		return nil
	}
	if c, ok := f.Value.(*choice); ok {
		return suggestions("", c.of)
	}
	switch value, _ := flag.UnquoteUsage(f); value {
	case "FILE", "DIR":
		return theFiles
	}
	return nil
}

func opNames() []suggestion {
	var list []suggestion
	for _, kind := range ledger.OpKinds() {
		var needed []string
		for _, arg := range kind.Args() {
			if arg.Required {
				needed = append(needed, arg.Name)
			}
		}
		list = append(list, suggestion{kind.String(), strings.Join(needed, " ")})
	}
	return list
}

func argSuggestions(kind ledger.OpKind, given []string, last string) []suggestion {
	var list []suggestion
	name, _, inValue := strings.Cut(last, "=")
	for _, arg := range kind.Args() {
		has := slices.ContainsFunc(given, func(word string) bool { return strings.HasPrefix(word, arg.Name+"=") })
		switch {
		case inValue && arg.Name == name:
			list = suggestions(name+"=", argValues(arg.Type))
		case !inValue && !has:
			list = append(list, suggestion{arg.Name + "=", need(kind, arg)})
		}
	}
	return list
}

// argValues returns the values of a type of argument that has only a few, or those that it
// takes besides numbers.
func argValues(t ledger.ArgType) []string {
	switch t {
	case ledger.ArgKind:
		return kindNames
	case ledger.ArgRotation:
		return []string{"0", "90"}
	case ledger.ArgBool, ledger.ArgFlag:
		return []string{"true", "false"}
	case ledger.ArgInstance:
		return []string{"minted:0"}
	case ledger.ArgOwner, ledger.ArgShapeKey, ledger.ArgContainerNameOrNull, ledger.ArgClassCodeOrNull:
		return []string{"null"}
	}
	return nil
}

var kindNames = []string{ledger.Standard.String(), ledger.Slots.String(), ledger.Grid.String()}

var completionCommand = command{
	Words:   "completion",
	Args:    "bash|zsh|fish",
	Purpose: "write the completion script of a shell",
	Notes: "It completes commands, flags, their values, and the names of operations and of their arguments. bash: put the first example into ~/.bashrc. zsh: source <(ledgerctl completion zsh), after\n" +
		"compinit, in ~/.zshrc. fish: the second example.",
	Examples: [2]string{"completion bash > ledgerctl.bash && source ledgerctl.bash", "completion fish > ~/.config/fish/completions/ledgerctl.fish"},
	Run: func(c *call) error {
		script, err := completionScripts.ReadFile("shells/ledgerctl." + c.args[0])
		if err != nil {
			return usagef("there is no completion for %q, only for bash, zsh and fish", c.args[0])
		}
		_, err = c.out.Write(script)
		return err
	},
}

// The scripts pass the words before the cursor to ledgerctl __complete.
//
//go:embed shells/*
var completionScripts embed.FS
