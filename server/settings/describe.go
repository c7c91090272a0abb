package settings

import (
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A Setting is the description of one flag.
type Setting struct {
	Name, Env string
	Value     string // placeholder for its value, in capitals; "" for a boolean flag
	Usage     string // without the example
	Default   string
	Example   string // an example of a value
}

// exampleMark separates the example from the rest in the usage of a flag.
const exampleMark = ", for example "

func describe(f *flag.Flag) Setting {
	value, usage := flag.UnquoteUsage(f)
	s := Setting{Name: f.Name, Env: EnvName(f.Name), Value: strings.ToUpper(value), Default: f.DefValue}
	if IsSwitch(f.Value) {
		s.Value = ""
	}
	s.Usage, s.Example, _ = strings.Cut(usage, exampleMark)
	if s.Example == "" {
		s.Example = s.Default
	}
	return s
}

// command returns the setting as it is typed on a command line.
func (s Setting) command() string {
	if s.Value == "" {
		return "-" + s.Name
	}
	return "-" + s.Name + " " + s.Example
}

// Settings returns the descriptions of all flags, ordered by name.
func (p *Program) Settings() (list []Setting) {
	p.Flags.VisitAll(func(f *flag.Flag) { list = append(list, describe(f)) })
	return list
}

func (p *Program) help(w io.Writer) {
	fmt.Fprintf(w, "%s: %s\n\nusage: %s [flags]\n\n", p.Name, p.Purpose, p.Name)
	fmt.Fprintln(w, "Every flag can also be set in the environment, as LEDGER_ and its name in capitals, with _ for -.\nA flag overrides the environment, which overrides the default.")
	for _, s := range p.Settings() {
		fmt.Fprintf(w, "\n  -%s\n        %s\n", strings.TrimSpace(s.Name+" "+s.Value), s.text())
	}
}

// text returns the usage with the example and the default.
func (s Setting) text() string {
	text := s.Usage
	if s.Example != s.Default && s.Value != "" {
		text += "; example: " + s.Example
	}
	if s.Default != "" && s.Value != "" {
		text += " (default " + s.Default + ")"
	}
	return text
}

// printConfig prints the settings with their values and sources. None of them is
// secret: secrets are in files, and settings only name the files.
func (p *Program) printConfig(w io.Writer, lookup func(string) (string, bool)) {
	given := map[string]bool{}
	p.Flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p.Flags.VisitAll(func(f *flag.Flag) {
		if f.Name == "print-config" || f.Name == "version" {
			return
		}
		source := "default"
		if given[f.Name] {
			source = "flag"
		} else if _, ok := lookup(EnvName(f.Name)); ok {
			source = "environment"
		}
		fmt.Fprintf(t, "%s\t%s\t%q\n", f.Name, source, f.Value)
	})
	t.Flush()
}

// Markdown returns the flags as a table.
func (p *Program) Markdown() string {
	var b strings.Builder
	b.WriteString("| flag | environment | default | |\n|---|---|---|---|\n")
	for _, s := range p.Settings() {
		usage := s.Usage
		if s.Example != s.Default && s.Value != "" {
			usage += "; example: `" + s.Example + "`"
		}
		def := "`" + s.Default + "`"
		if s.Default == "" {
			def = ""
		}
		fmt.Fprintf(&b, "| `-%s` | `%s` | %s | %s |\n", strings.TrimSpace(s.Name+" "+s.Value), s.Env, def, strings.ReplaceAll(usage, "|", `\|`))
	}
	return b.String()
}

// Man returns the manual page in the markup of man(7).
func (p *Program) Man() string {
	esc := strings.NewReplacer(`\`, `\e`, `-`, `\-`, `'`, `\(aq`, "`", `\(ga`)
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 8\n.SH NAME\n%s \\- %s\n", strings.ToUpper(esc.Replace(p.Name)), esc.Replace(p.Name), esc.Replace(strings.TrimSuffix(p.Purpose, ".")))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n\\-dir\n.I DIRECTORY\n[flags]\n.SH FLAGS\n", esc.Replace(p.Name))
	b.WriteString("Every flag can also be set in the environment.\nA flag overrides the environment, which overrides the default.\n")
	for _, s := range p.Settings() {
		fmt.Fprintf(&b, ".TP\n.BI \\-%s \" %s\"\n%s.\nEnvironment: %s.\n", esc.Replace(s.Name), esc.Replace(s.Value), esc.Replace(s.text()), s.Env)
	}
	b.WriteString(`.SH SIGNALS
.TP
.B SIGTERM, SIGINT
stop: answer accepted requests, and exit with 0.
.TP
.B SIGHUP
reload the auth file and the files of \-tls\-cert, \-tls\-key and \-client\-ca.
.SH EXIT STATUS
0 stopped on request, 1 failure, 2 wrong usage, 3 the log is damaged, 4 another write daemon owns the log.
`)
	return b.String()
}
