package ctl

import (
	"cmp"
	"embed"
	"errors"
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

// A suggestion is one candidate. A word that ends in = is not complete.
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
	cmd, rest, _ := resolve(table, typed) // with only the global flags if there is no such command
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

// joinEquals joins words that bash has split at each =. It relies on the fact that no word
// has a zero byte. Without words it returns one empty word.
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
			switch {
			case arg.Type == ledger.ArgNewID:
				needed = append(needed, arg.Name+"|"+insteadOfID(kind))
			case arg.Required:
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

// argValues returns the values of an argument type that has only a few. For other types it
// returns the special values, such as null, that they take besides ids, names and numbers.
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
	Notes: "It completes commands, flags, their values, and the names of operations and of their arguments. bash: source <(ledgerctl completion bash) in ~/.bashrc. zsh: source <(ledgerctl completion zsh), after\n" +
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

// Suggestions for commands and flags that ledgerctl does not have.

// otherWords maps commands of other tools, of one or two words, to those of ledgerctl.
var otherWords = map[string]string{
	"get": "read", "describe": "read", "list": "read", "ls": "read", "show": "read", "info": "read", "put": "add", "set": "add",
	"apply": "commit", "exec": "commit", "edit": "commit", "logs": "watch", "tail": "watch", "follow": "watch",
	"top": "health", "status": "health", "ping": "health", "explain": "help", "man": "help",
	"rm": "delete", "del": "delete", "destroy": "burn", "swap": "move", "new": "create", "open": "create", "unplace": "take", "insert": "place",
	"pay": "transfer", "send": "transfer", "deposit": "add", "credit": "add", "fund": "add", "topup": "add",
	"withdraw": "remove", "debit": "remove", "undo": "reverse", "revert": "reverse", "rollback": "reverse", "refund": "reverse",
	"reserve": "hold", "authorize": "hold", "capture": "settle", "cancel": "release", "void": "release", "unhold": "release",
	"import": "batch", "load": "batch", "restore": "backup", "start": "dev", "run": "dev", "serve": "dev", "up": "dev", "init": "dev",

	"create container": "create", "create class": "register class", "create shape": "register shape", "create token": "token new",
	"add container": "create", "add class": "register class", "remove container": "delete", "delete container": "delete",
	"delete instance": "burn", "delete hold": "release", "delete token": "token revoke", "rename container": "rename", "watch freshness": "freshness",
	"get tokens": "token list", "list tokens": "token list", "token create": "token new", "token add": "token new", "token delete": "token revoke",
	"token rm": "token revoke", "token remove": "token revoke", "token ls": "token list", "token get": "token list", "token show": "token list",
	"wal check": "wal verify", "wal ls": "wal stat", "wal list": "wal stat", "wal info": "wal stat", "wal show": "wal dump", "wal fix": "wal repair",
}

// otherFlags maps flags of other tools to those of ledgerctl.
var otherFlags = map[string]string{
	"output": "-o", "format": "-o", "json": "-o json", "ojson": "-o json", "csv": "-o csv", "ocsv": "-o csv",
	"token": "-token-file", "url": "-write-url and -read-url", "server": "-write-url and -read-url",
}

// unknownCommand returns the error for words that name no command, or only a group.
func unknownCommand(table []command, words []string) error {
	first := words[0]
	group := wordsIn(nextWords(table, words[:1]))
	if len(group) == 0 {
		return usagef("unknown command %q%s; ledgerctl help lists them", first, didMean(meantCommands(table, words)...))
	}
	needs := first + " needs one of: " + strings.Join(group, ", ")
	if len(words) == 1 {
		return usagef("%s", needs)
	}
	given := first + " " + words[1]
	near := nearest(words[1], group)
	for i := range near {
		near[i] = first + " " + near[i]
	}
	return usagef("unknown command %q%s; ledgerctl %s -h lists them", given, cmp.Or(didMean(otherWords[given]), didMean(near...), ": "+needs), first)
}

// meantCommands returns the commands that may be meant, if the first word is unknown.
func meantCommands(table []command, words []string) []string {
	meant := otherWords[words[0]]
	if meant == "read" && len(words) > 1 {
		cmd, _, _ := resolve(table, words[1:])
		meant = cmp.Or(otherWords[words[0]+" "+words[1]], secondWord(table, words[1]), cmd.Words, meant)
	}
	if meant = cmp.Or(meant, secondWord(table, words[0])); meant != "" {
		return []string{meant}
	}
	near := nearest(words[0], wordsIn(nextWords(table, nil)))
	for _, kind := range ledger.OpKinds() {
		if len(near) == 0 && len(words[0]) > 3 && strings.HasPrefix(strings.ToLower(kind.String()), strings.ToLower(words[0])) {
			near = append(near, commitCommand.Words+" "+kind.String())
		}
	}
	return near
}

// secondWord finds a command by its second word, in the singular or the plural. It prefers
// reads.
func secondWord(table []command, word string) (meant string) {
	for _, spelled := range []string{word, word + "s", word + "es", strings.TrimSuffix(word, "s")} {
		for _, cmd := range table {
			switch first, second, _ := strings.Cut(cmd.Words, " "); {
			case second == "" || second != spelled:
			case first == "read":
				return cmd.Words
			default:
				meant = cmp.Or(meant, cmd.Words)
			}
		}
	}
	return meant
}

// flagError converts an error of package flag to one that says what to do next.
func flagError(cmd command, set *flag.FlagSet, err error) error {
	const undefined = "flag provided but not defined: -"
	if name, ok := strings.CutPrefix(err.Error(), undefined); ok {
		var names []string
		set.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
		meant := cmp.Or(didMean(otherFlags[name]), didYouMean("-"+name, names))
		return usagef("%s has no flag -%s%s; ledgerctl %s -h lists them", cmd.Words, name, meant, cmd.Words)
	}
	if errors.Is(err, flag.ErrHelp) {
		return usagef("%s -h takes no value", cmd.Words)
	}
	return usagef("%v; see ledgerctl %s -h", err, cmd.Words)
}

// didMean returns ` (did you mean "x"?)`, or "" without words.
func didMean(words ...string) string {
	if strings.Join(words, "") == "" {
		return ""
	}
	return ` (did you mean "` + strings.Join(words, `" or "`) + `"?)`
}

func didYouMean(word string, candidates []string) string {
	return didMean(nearest(word, candidates)...)
}

// nearest returns a candidate that is one edit away from `word`. If there is none, it returns
// the candidates that `word` abbreviates, if there are at most three. Otherwise it returns the
// most similar candidate that begins with the same letter, if one is similar enough.
func nearest(word string, candidates []string) []string {
	bare := strings.TrimLeft(word, "-")
	if len(bare) < 2 {
		return nil
	}
	first := len(word) - len(bare) // index of the first letter
	stem := word
	if len(bare) > 3 {
		stem = strings.TrimSuffix(word, "s")
	}
	var longer, best []string
	least := 1 + min(3, max(1, len(bare)/2))
	for _, c := range candidates {
		if strings.HasPrefix(c, stem) {
			longer = append(longer, c)
		}
		same := len(c) > first && c[first] == word[first]
		if d := distance(word, c); d < least && (same || d == 1) {
			best, least = []string{c}, d
		}
	}
	if least > 1 && 0 < len(longer) && len(longer) < 4 {
		return longer
	}
	return best
}

// distance returns the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := diagonal
			if a[i-1] != b[j-1] {
				change++
			}
			diagonal = row[j]
			row[j] = min(change, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
