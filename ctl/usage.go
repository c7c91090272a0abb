package ctl

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"assetledger/server/settings"
	"assetledger/server/version"
)

// All help is generated from the table of commands.

// writeOverview lists the commands whose first word is group, or all if group is "".
func writeOverview(w io.Writer, table []command, group string) {
	title := "ledgerctl commits to an asset ledger, reads it and maintains its log."
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
	fmt.Fprint(w, "\nledgerctl COMMAND -h       describes a command\n")
	if group == "" {
		fmt.Fprint(w, "ledgerctl help connecting  lists the flags of every command: addresses, tokens, output\n"+
			"ledgerctl help ops         lists the operations; help TransferFungible describes one\n\n"+exitHelp)
	}
}

// sections has the titles in the overview, by the first command of each section.
var sections = map[string]string{
	"create":         "change it, one operation at a time",
	"commit":         "transactions, and classes",
	"read container": "read and follow it",
	"health":         "run and maintain it",
	"version":        "about ledgerctl",
}

func writeConnecting(w io.Writer) {
	fmt.Fprint(w, "Every command has these flags. They may come before or after its arguments.\n")
	writeFlags(w, globalFlags(), flag.NewFlagSet("", flag.ContinueOnError))
	fmt.Fprint(w, "\nEvery flag can also be set in the environment, as LEDGER_ and its name in capitals, such as\nLEDGER_WRITE_URL for -write-url.\n\n"+
		"Both addresses must belong to one ledger: a verb reads the decimals of an AMOUNT from the read daemon. It does not commit\n"+
		"if the ids of the two logs differ. It can't tell if one log is a copy of the other, or if the token lacks the scope log.\n"+
		"In that case it commits, and -dry-run reports that they were not compared.\n")
}

const exitHelp = `exit codes:
  0  done
  1  failure
  2  wrong usage
  3  rejected by the ledger
  4  no response: connection, timeout, or a failure of the daemon
  5  stale: freshness or a read missed its limit
  6  the log is damaged
  130, 143  stopped by a signal: Ctrl-C, or SIGTERM
`

func (cmd *command) writeHelp(w io.Writer) {
	fmt.Fprintf(w, "ledgerctl %s: %s\n\nusage: ledgerctl %s [flags]\n", cmd.Words, cmd.Purpose, strings.TrimSpace(cmd.Words+" "+cmd.Args))
	if cmd.Notes != "" {
		fmt.Fprintf(w, "\n%s\n", cmd.Notes)
	}
	writeFlags(w, cmd.flagSet(), globalFlags())
	fmt.Fprintf(w, "\nexamples:\n  ledgerctl %s\n  ledgerctl %s\n\nledgerctl help connecting lists the flags of every command, such as -o json.\n", cmd.Examples[0], cmd.Examples[1])
}

// writeFlags lists the flags that are in set but not in without.
func writeFlags(w io.Writer, set, without *flag.FlagSet) {
	t := newTable(w)
	set.VisitAll(func(f *flag.Flag) {
		if without.Lookup(f.Name) == nil {
			value, usage := flagUsage(f)
			t.row("  -"+strings.TrimSpace(f.Name+" "+value), usage)
		}
	})
	if len(t.rows) > 0 {
		fmt.Fprint(w, "\nflags:\n")
		t.flush()
	}
}

func flagUsage(f *flag.Flag) (value, usage string) {
	value, usage = flag.UnquoteUsage(f)
	if settings.IsSwitch(f.Value) {
		value = ""
	}
	if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
		usage += " (default " + f.DefValue + ")"
	}
	return value, usage
}

var manCommand = command{
	Words:    "__man",
	Purpose:  "write the man page, for the build",
	Hidden:   true,
	Examples: [2]string{"__man", "__man -o table"},
	Run: func(c *call) error {
		c.out.WriteString(manPage(c.table))
		return nil
	},
}

// manPage returns the man page, with the help of all commands unchanged. See man(7) for
// the macros.
func manPage(table []command) string {
	plain := strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`, "\n.", "\n\\&.")
	var page strings.Builder
	fmt.Fprintf(&page, ".TH LEDGERCTL 1 \"\" \"ledgerctl %s\"\n.SH NAME\nledgerctl \\- commit to an asset ledger, read it and maintain its log\n", plain.Replace(version.Version))
	section := func(title string, write func(io.Writer)) {
		var help strings.Builder
		write(&help)
		fmt.Fprintf(&page, ".SH %s\n.nf\n%s.fi\n", strings.ToUpper(title), plain.Replace(help.String()))
	}
	section("description", func(w io.Writer) { writeOverview(w, table, "") })
	section("connecting", writeConnecting)
	for i := range table {
		if !table[i].Hidden {
			section(table[i].Words, table[i].writeHelp)
		}
	}
	return page.String()
}
