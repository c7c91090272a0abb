package ctl

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
)

func suggested(words ...string) []string {
	var list []string
	for _, s := range complete(commands, words) {
		list = append(list, s.word)
	}
	return list
}

func TestComplete(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  []string
	}{
		{[]string{"comm"}, []string{"commit"}},
		{[]string{"commit", "Trans"}, []string{"TransferFungible"}},
		{[]string{"commit", "HoldFungible", "hold_id=1", "expires_"}, []string{"expires_in=", "expires_at="}},
		{[]string{"commit", "-key", "k", "Detach", "instance_id=1", "+", "RenameC"}, []string{"RenameContainer", "RenameClass"}},
		{[]string{"preflight", "CreateContainer", "kind", "=", "S"}, []string{"kind=Standard", "kind=Slots"}},
		{[]string{"commit", "SettleHold", "keep=true", ""}, []string{"hold_id=", "to_container=", "quantity=", "x=", "y=", "rotation="}},
		{[]string{"create", "a", "-kind", "G"}, []string{"Grid"}},
		{[]string{"add", "a", "1", "EUR", "-rot"}, []string{"-rotation"}},
		{[]string{"settle", "1", "a", "-rotation", ""}, []string{"0", "90"}},
		{[]string{"read", "hold"}, []string{"holds", "hold", "holders"}},
		{[]string{"read", "ba"}, []string{"balances"}},
		{[]string{"-o", "json", "read", "sl"}, []string{"slots"}},
		{[]string{"help", "read", "bal"}, []string{"balances"}},
		{[]string{"read", "balances", ""}, nil},
		{[]string{"__c"}, nil},
		{[]string{"completion", "z"}, []string{"zsh"}},
		{[]string{"read", "grid", "4", "-l"}, []string{"-limit", "-list"}},
		{[]string{"read", "containers", "-kind", ""}, []string{"Standard", "Slots", "Grid"}},
		{[]string{"-o", "n"}, []string{"ndjson"}},
		{[]string{"batch", "-f", "da"}, []string{":files"}},
		{[]string{"wal", "verify", "-dir", ""}, []string{":files"}},
		{[]string{"wal", "verify", "le"}, []string{":files"}},
		{[]string{"backup", ""}, []string{":files"}},
		{[]string{"batch", "-on-error", "stop", "da"}, []string{":files"}},
		{[]string{"commit", "-key", ""}, nil},
	} {
		if got := suggested(c.words...); !slices.Equal(got, c.want) {
			t.Errorf("after %q: %q, want %q", c.words, got, c.want)
		}
	}
	if first := suggested(""); !slices.Contains(first, "read") || !slices.Contains(first, "dev") || len(first) < 12 {
		t.Errorf("without words, want 12 commands or more, with read and dev: %q", first)
	}
	if all := suggested("commit", ""); len(all) != len(ledger.OpKinds()) {
		t.Errorf("after commit, want all %d operations: %q", len(ledger.OpKinds()), all)
	}
}

// TestBashCompletion runs the script in a real bash, with the words in COMP_WORDS.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("needs bash")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "data.ndjson"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	script := string(must(os.ReadFile("shells/ledgerctl.bash"))) + `
words=(ledgerctl "$@")
ledgerctl() { "$LEDGERCTL" "$@"; }
COMP_WORDS=("${words[@]}") COMP_CWORD=$((${#words[@]} - 1))
_ledgerctl
for word in "${COMPREPLY[@]}"; do printf '[%s]' "$word"; done
complete -p ledgerctl >/dev/null
`
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"read", "ba"}, "[balances]"},
		{[]string{"read", "grid", "4", "-li"}, "[-limit][-list]"},
		{[]string{"batch", "-f", "da"}, "[data.ndjson]"},
		{[]string{"commit", "Trans"}, "[TransferFungible]"},
		{[]string{"commit", "TransferFungible", "from_container", "=", "1", "to"}, "[to_container=]"},
		{[]string{"commit", "CreateContainer", "kind", "=", "S"}, "[Standard][Slots]"},
		{[]string{"commit", "CreateContainer", "kind", "="}, "[Standard][Slots][Grid]"},
		{[]string{"nonsense", ""}, ""},
	} {
		cmd := exec.Command(bash, append([]string{"-c", script, "bash"}, c.words...)...)
		cmd.Dir = dir
		cmd.Env = []string{asProgram + "=1", "LEDGERCTL=" + os.Args[0], "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != c.want {
			t.Errorf("%q: %s (%v), want %s", c.words, out, err, c.want)
		}
	}
}

// TestCompletionSyntax checks that each shell accepts the syntax of its script.
// TestCompletionAtATerminal tests zsh and fish further.
func TestCompletionSyntax(t *testing.T) {
	for _, shell := range strings.Split(completionCommand.Args, "|") {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("needs %s", shell)
			}
			cmd := exec.Command(path, "-n", "shells/ledgerctl."+shell)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s -n: %v: %s", shell, err, out)
			}
		})
	}
}

// TestManPage checks that the man page has every command that is not hidden, and that groff reports no problem.
func TestManPage(t *testing.T) {
	t.Parallel()
	_, text, _ := runs(noEnv, manCommand.Words)
	for i := range commands {
		title := "\n.SH " + strings.ToUpper(commands[i].Words) + "\n"
		if strings.Contains(text, title) == commands[i].Hidden {
			t.Errorf("%s: hidden is %t, but that the page has its section is %[2]t too", commands[i].Words, commands[i].Hidden)
		}
	}
	if _, grid, _ := strings.Cut(text, "\n.SH READ GRID\n"); !strings.Contains(grid, "\n  \\-min\\-seq SEQ ") || !strings.Contains(grid, "\n  ledgerctl read grid 4 \\-list\n") {
		t.Errorf("the section of read grid lacks a flag or an example:\n%s", grid)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("needs groff")
	}
	cmd := exec.Command(groff, "-man", "-ww", "-z")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
