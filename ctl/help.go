package ctl

import (
	"cmp"
	"flag"
	"fmt"
	"io"
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
	kinds := ledger.OpKinds()
	kind := slices.IndexFunc(kinds, func(k ledger.OpKind) bool { return strings.EqualFold(k.String(), words[0]) })
	near := didYouMean(words[0], wordsIn(opNames()))
	switch {
	case err == nil:
		cmd.writeHelp(c.out)
	case len(words) > 1:
		return err
	case words[0] == "connecting":
		writeConnecting(c.out)
	case words[0] == "ops":
		t := c.listTable("operation command required")
		for i, s := range opNames() {
			t.row(s.word, cmp.Or(commandOf(kinds[i]), commitCommand.Words), s.meaning)
		}
		t.flush()
	case kind >= 0:
		c.helpOperation(kinds[kind])
	case near != "":
		return usagef("there is no operation named %q%s; ledgerctl help ops lists them", words[0], near)
	default:
		return err
	}
	return nil
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

// commandOf returns the command that commits single operations of this kind, or "" if there
// is none.
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
		return "required"
	}
	return "required, unless a " + insteadOfID(kind) + " is given"
}

// insteadOfID returns the argument that an operation can have instead of a new id.
func insteadOfID(kind ledger.OpKind) string {
	if kind == ledger.RegisterClass {
		return "code"
	}
	return "name"
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
	if _, err := ledger.ParseOpList(example); err != nil { // it also needs one of the optional arguments
		example = append(example, more[0])
	}
	return example
}

// Example values of arguments, by name or by type. All others are 1.
var (
	namedExamples = map[string]string{"MintInstance class_id": "sword", "to_container": "shop", "parent_id": "2",
		"to_key": "1", "to_x": "1", "slot_b": "1", "at_least": "1"} // to_key, to_x and slot_b must differ from from_key, x and slot_a; at_least must not be 0
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

// All help is generated from the table of commands.

// writeOverview lists the commands whose first word is `group`, or all if `group` is "".
func writeOverview(w io.Writer, table []command, group string) {
	title := "ledgerctl commits to an asset ledger, reads it and maintains its log.\n\nusage: ledgerctl COMMAND [arguments] [flags]"
	if group != "" {
		title = "The commands of ledgerctl " + group + ":\n"
	}
	fmt.Fprintln(w, title)
	t := newTable(w)
	for _, cmd := range table {
		first, _, _ := strings.Cut(cmd.Words, " ")
		if title := sections[cmd.Words]; group == "" && title != "" {
			t.row("")
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
	writeFlags(w, new(command).flagSet(), new(flag.FlagSet))
	fmt.Fprint(w, "\nEvery flag can also be set in the environment, as LEDGER_ and its name in capitals, such as\nLEDGER_WRITE_URL for -write-url.\n\n"+
		"Both addresses must belong to one ledger: a command reads the decimals of its AMOUNT from the read daemon, and does not\n"+
		"commit if the ids of the two logs differ. A copy of a log has the same id. If the token lacks the scope log, the ids are\n"+
		"not compared, and -dry-run says so.\n")
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
	writeFlags(w, cmd.flagSet(), new(command).flagSet())
	fmt.Fprintf(w, "\nexamples:\n  ledgerctl %s\n  ledgerctl %s\n\nledgerctl help connecting lists the flags of every command, such as -o json.\n", cmd.Examples[0], cmd.Examples[1])
}

// writeFlags lists the flags in `set`, except those that are also in `without`.
func writeFlags(w io.Writer, set, without *flag.FlagSet) {
	t := newTable(w)
	set.VisitAll(func(f *flag.Flag) {
		if without.Lookup(f.Name) != nil {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0s" {
			usage += " (default " + f.DefValue + ")"
		}
		t.row("  -"+strings.TrimSpace(f.Name+" "+value), usage)
	})
	if len(t.rows) > 0 {
		fmt.Fprint(w, "\nflags:\n")
		t.flush()
	}
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
