package ctl

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// Help is generated from the table of commands alone.

// writeOverview lists the commands whose first word is group, or all for "".
func writeOverview(w io.Writer, table []command, group string) {
	title := "ledgerctl commits to an asset ledger, reads it and looks after its log."
	if group != "" {
		title = "The commands of ledgerctl " + group + ":"
	}
	fmt.Fprintf(w, "%s\n\n", title)
	if group == "" {
		fmt.Fprint(w, "usage: ledgerctl COMMAND [arguments] [flags]\n\n")
	}
	t := newTable(w)
	for _, cmd := range table {
		first, _, _ := strings.Cut(cmd.Words, " ")
		if title := sections[cmd.Words]; group == "" && title != "" {
			if len(t.rows) > 0 {
				t.row("")
			}
			t.row(title + ":")
		}
		if !cmd.Hidden && (group == "" || first == group) {
			t.row("  "+strings.TrimSpace(cmd.Words+" "+cmd.Args), cmd.Purpose)
		}
	}
	t.flush()
	fmt.Fprint(w, "\nledgerctl COMMAND -h       says more of a command\n")
	if group == "" {
		fmt.Fprint(w, "ledgerctl help connecting  lists the flags of every command: addresses, tokens, output\n"+
			"ledgerctl help ops         lists the operations; help TransferFungible says more of one\n\n"+exitHelp)
	}
}

// sections are the titles in the overview, by the command below them.
var sections = map[string]string{
	"create":         "change it, an operation at a time",
	"commit":         "transactions, and classes",
	"read container": "read and follow it",
	"health":         "run it, and look after it",
	"version":        "about ledgerctl",
}

// writeConnecting lists the flags of every command.
func writeConnecting(w io.Writer) {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	new(globals).declare(set)
	fmt.Fprint(w, "These flags are of every command, and may stand before or after its words.\n")
	writeFlags(w, "flags", set, func(string) bool { return true })
	fmt.Fprint(w, "\nEvery flag can be given in the environment too: LEDGER_ and its name in capitals,\nLEDGER_WRITE_URL for -write-url. NO_COLOR, set to anything, turns off the colours of a terminal.\n\n"+
		"Both addresses must be of one ledger: a verb reads the decimals of an AMOUNT from the read daemon. It refuses to commit\n"+
		"if the ids of the two logs differ. It can't tell if the token lacks the scope log, or one log is a copy of the other.\n")
}

const exitHelp = `exit codes:
  0  done
  1  failure
  2  wrong usage
  3  the ledger refused it
  4  no answer: connection, timeout, or a failure of the daemon
  5  stale: freshness, or a read, missed its bound
  6  the log is damaged
`

// writeHelp writes the help of one command.
func (cmd *command) writeHelp(w io.Writer) {
	fmt.Fprintf(w, "ledgerctl %s: %s\n\nusage: ledgerctl %s [flags]\n", cmd.Words, cmd.Purpose, strings.TrimSpace(cmd.Words+" "+cmd.Args))
	if cmd.Notes != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Notes)
	}
	global := flag.NewFlagSet("", flag.ContinueOnError)
	new(globals).declare(global)
	isGlobal := func(name string) bool { return global.Lookup(name) != nil }
	set := cmd.flagSet()
	writeFlags(w, "flags", set, func(name string) bool { return !isGlobal(name) })
	fmt.Fprintf(w, "\nexamples:\n  ledgerctl %s\n  ledgerctl %s\n\nledgerctl help connecting lists the flags of every command, such as -o json.\n", cmd.Examples[0], cmd.Examples[1])
}

// writeFlags lists the flags of the set for which show returns true.
func writeFlags(w io.Writer, title string, set *flag.FlagSet, show func(name string) bool) {
	t := newTable(w)
	set.VisitAll(func(f *flag.Flag) {
		if !show(f.Name) {
			return
		}
		value, usage := flagUsage(f)
		t.row("  -"+strings.TrimSpace(f.Name+" "+value), usage)
	})
	if len(t.rows) > 0 {
		fmt.Fprintf(w, "\n%s:\n", title)
		t.flush()
	}
}

// flagUsage returns the name of a flag's value, "" for a switch, and its description.
func flagUsage(f *flag.Flag) (value, usage string) {
	value, usage = flag.UnquoteUsage(f)
	if isSwitch(f) {
		value = ""
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
		usage += " (default " + f.DefValue + ")"
	}
	return value, usage
}
