package ctl

import (
	"cmp"
	"errors"
	"flag"
	"strings"

	"assetledger/ledger"
)

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

// secondWord finds a command by its second word, in singular or plural. It prefers
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

// nearest returns up to three candidates that word abbreviates. If there is none, it
// returns the most similar one, whose first letter must be the same.
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
