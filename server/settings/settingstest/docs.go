// Package settingstest compares the documentation of a program's flags with the
// flags, and checks that the program rejects invalid values. Only tests import it.
package settingstest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/settings"
)

// Docs compares the program's part of configuration.md in the directory docs, and
// its manual page in docs/man, with its flags. If update is true, it writes them
// instead. Every flag must have a usage and, unless it is boolean, an example
// that it accepts.
func Docs(t *testing.T, p *settings.Program, docs string, update bool) {
	t.Helper()
	for _, s := range p.Settings() {
		if s.Usage == "" || s.Value != "" && s.Example == "" {
			t.Errorf("-%s has no usage, or neither a default nor an example", s.Name)
		} else if err := p.Flags.Lookup(s.Name).Value.Set(s.Example); s.Value != "" && err != nil {
			t.Errorf("the example of -%s, %q, is invalid: %v", s.Name, s.Example, err)
		}
	}
	path := filepath.Join(docs, "configuration.md")
	compare(t, path, update, func(text string) string { return withPart(t, path, text, p.Name, p.Markdown()) })
	page := filepath.Join(docs, "man", p.Name+".8")
	compare(t, page, update, func(string) string { return p.Man() })
	rendered(t, page)
}

// rendered checks that groff formats a manual page without warnings.
func rendered(t *testing.T, page string) {
	t.Helper()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("NOT TESTED: whether the manual page can be shown; needs Debian's package groff")
	}
	var warnings bytes.Buffer
	cmd := exec.Command(groff, "-man", "-ww", "-Tutf8", "-P", "-cbou", page) // -cbou: plain text
	cmd.Stderr = &warnings
	shown, err := cmd.Output()
	if err != nil || warnings.Len() > 0 || !bytes.Contains(shown, []byte("\nEXIT STATUS")) {
		t.Errorf("groff on %s: %v; want no warnings, and a section EXIT STATUS\n%s%s", page, err, &warnings, shown)
	}
}

// withPart returns text with everything between the marks for the flags of the named
// program replaced by part.
func withPart(t *testing.T, path, text, name, part string) string {
	t.Helper()
	begin, end := "<!-- flags of "+name+" -->\n", "<!-- end -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the flags of %s", path, name)
	}
	return before + begin + part + end + after
}

func compare(t *testing.T, path string, update bool, should func(text string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !(update && os.IsNotExist(err)) {
		t.Fatal(err)
	}
	want := should(string(text))
	if update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(string(text), "\n")); diff != "" {
		t.Errorf("%s does not match the flags (go test -run %s -update writes it); -flags +file:\n%s", path, t.Name(), diff)
	}
}
