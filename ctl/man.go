package ctl

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"assetledger/server/settings"
	"assetledger/server/version"
)

var manCommand = command{
	Words:    "__man",
	Args:     "DIR",
	Purpose:  "write the man pages, for the build",
	Hidden:   true,
	Examples: [2]string{"__man man1", "__man man1 -o table"},
	Setup: func(*flag.FlagSet) action {
		return func(c *call) error { return writeManPages(c.table, c.args[0]) }
	},
}

// writeManPages writes ledgerctl.1, and a page for each command, into a
// directory. They are made of the table of commands, as help is; see man(7) for
// the macros.
func writeManPages(table []command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	pages := map[string][]byte{"ledgerctl.1": manOverview(table)}
	for i := range table {
		if !table[i].Hidden {
			pages[manName(table[i].Words)+".1"] = table[i].manPage()
		}
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name), page, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manName is the name of a command's page: ledgerctl-read-balances.
func manName(words string) string { return "ledgerctl-" + strings.ReplaceAll(words, " ", "-") }

// manText makes plain text safe between macros: nothing in it is one.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

func manHead(b *bytes.Buffer, name, purpose string) {
	fmt.Fprintf(b, ".TH %s 1 \"\" \"ledgerctl %s\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(manText(name)), manText(version.Version), manText(name), manText(purpose))
}

func manOverview(table []command) []byte {
	var b bytes.Buffer
	manHead(&b, "ledgerctl", "commit to an asset ledger, read it and look after its log")
	b.WriteString(".SH SYNOPSIS\n.B ledgerctl\n.I COMMAND\n[arguments] [flags]\n.SH COMMANDS\n")
	for _, cmd := range table {
		if !cmd.Hidden {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s; see\n.BR %s (1)\n", manText(strings.TrimSpace(cmd.Words+" "+cmd.Args)), manText(cmd.Purpose), manText(manName(cmd.Words)))
		}
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	new(globals).declare(set)
	manFlags(&b, "FLAGS OF EVERY COMMAND", set, func(string) bool { return true })
	b.WriteString(".SH EXIT STATUS\n")
	for _, line := range strings.Split(strings.TrimSpace(exitHelp), "\n")[1:] {
		code, meaning, _ := strings.Cut(strings.TrimSpace(line), "  ")
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", code, manText(meaning))
	}
	fmt.Fprintf(&b, ".SH ENVIRONMENT\nEvery flag can be given in the environment too: LEDGER_ and its name in capitals,\n.B %s\nfor\n.BR \\-write\\-url .\n",
		settings.EnvName("write-url"))
	b.WriteString(".B NO_COLOR\nset to anything turns colours off; they are only ever used on a terminal.\n")
	return b.Bytes()
}

func (cmd *command) manPage() []byte {
	var b bytes.Buffer
	manHead(&b, manName(cmd.Words), cmd.Purpose)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B ledgerctl %s\n", manText(cmd.Words))
	if cmd.Args != "" {
		fmt.Fprintf(&b, ".I %s\n", manText(cmd.Args))
	}
	b.WriteString("[flags]\n")
	if cmd.Notes != "" {
		b.WriteString(".SH DESCRIPTION\n")
		for _, line := range strings.Split(cmd.Notes, "\n") {
			if line == "" {
				b.WriteString(".PP\n")
			} else {
				b.WriteString(manText(line) + "\n")
			}
		}
	}
	global := flag.NewFlagSet("", flag.ContinueOnError)
	new(globals).declare(global)
	manFlags(&b, "FLAGS", cmd.flagSet(), func(name string) bool { return global.Lookup(name) == nil })
	b.WriteString(".SH EXAMPLES\n")
	for _, example := range cmd.Examples {
		fmt.Fprintf(&b, ".PP\n.nf\nledgerctl %s\n.fi\n", manText(example))
	}
	b.WriteString(".SH SEE ALSO\n.BR ledgerctl (1)\nhas the flags of every command and the exit codes.\n")
	return b.Bytes()
}

// manFlags lists those flags of the set that show takes.
func manFlags(b *bytes.Buffer, title string, set *flag.FlagSet, show func(name string) bool) {
	begun := false
	set.VisitAll(func(f *flag.Flag) {
		if !show(f.Name) {
			return
		}
		if !begun {
			fmt.Fprintf(b, ".SH %s\n", title)
			begun = true
		}
		value, usage := flagUsage(f)
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", manText("-"+f.Name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", manText(value))
		}
		fmt.Fprintf(b, "\n%s\n", manText(usage))
	})
}
