package ctl

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

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

// writeManPages writes ledgerctl.1, and a page for each command, into a directory.
// They are generated from the help.
func writeManPages(table []command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var overview strings.Builder
	writeOverview(&overview, table, "")
	overview.WriteString("\nconnecting:\n")
	writeConnecting(&overview)
	pages := map[string]string{"ledgerctl": manPage("ledgerctl", "commit to an asset ledger, read it and look after its log", overview.String())}
	for i := range table {
		if cmd := &table[i]; !cmd.Hidden {
			var help strings.Builder
			cmd.writeHelp(&help)
			pages[manName(cmd.Words)] = manPage(manName(cmd.Words), cmd.Purpose, help.String())
		}
	}
	for name, page := range pages {
		if err := os.WriteFile(filepath.Join(dir, name+".1"), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// manName returns the name of a command's page: ledgerctl-read-balances.
func manName(words string) string { return "ledgerctl-" + strings.ReplaceAll(words, " ", "-") }

// manText escapes plain text, so that nothing in it is a macro.
func manText(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}

// manPage turns help into a man page: titles into sections, rows of two columns
// into paragraphs with a tag. See man(7) for the macros.
func manPage(name, purpose, help string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"ledgerctl %s\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n",
		strings.ToUpper(manText(name)), manText(version.Version), manText(name), manText(purpose))
	_, help, _ = strings.Cut(help, "\n\n") // its first line is the name and purpose
	for line := range strings.Lines(help) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimLeft(line, " ")
		tag, meaning, isRow := strings.Cut(text, "  ")
		title, isTitle := strings.CutSuffix(line, ":")
		switch indented := text != line; {
		case text == "":
			b.WriteString(".PP\n")
		case indented && isRow:
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", manText(tag), manText(strings.TrimLeft(meaning, " ")))
		case indented:
			fmt.Fprintf(&b, ".nf\n%s\n.fi\n", manText(text))
		case isTitle:
			fmt.Fprintf(&b, ".SH %s\n", strings.ToUpper(manText(title)))
		default:
			b.WriteString(manText(text) + "\n")
		}
	}
	return b.String()
}
