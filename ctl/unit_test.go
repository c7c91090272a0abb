package ctl

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"assetledger/ctl/client"
	"assetledger/server/settings"
	"assetledger/wal"
)

func TestWithDecimals(t *testing.T) {
	for _, c := range []struct {
		minor    string
		decimals int
		want     string
	}{
		{"0", 0, "0"}, {"12345", 0, "12345"}, {"12345", 2, "123.45"}, {"5", 2, "0.05"}, {"45", 2, "0.45"}, {"0", 2, "0.00"},
		{"9223372036854775807", 18, "9.223372036854775807"}, {"1", 18, "0.000000000000000001"},
		{"340282366920938463463374607431768211455", 18, "340282366920938463463.374607431768211455"},
		{"-5", 2, "-0.05"}, {"-12345", 2, "-123.45"},
	} {
		if got := withDecimals(c.minor, c.decimals); got != c.want {
			t.Errorf("withDecimals(%s, %d) = %s, want %s", c.minor, c.decimals, got, c.want)
		}
	}
}

func TestExitCodes(t *testing.T) {
	status := func(s int) error { return &apiError{Status: s} }
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("disk"), 1}, {usagef("wrong"), 2},
		{status(400), 3}, {status(401), 3}, {status(403), 3}, {status(404), 3}, {status(409), 3}, {status(413), 3}, {status(422), 3}, {status(424), 3},
		{status(425), 5}, {status(500), 4}, {status(502), 4}, {status(503), 4}, {status(302), 1},
		{&client.NoAnswer{Err: context.DeadlineExceeded}, 4}, {&wal.CorruptError{}, 6},
		{fmt.Errorf("verify: %w", &wal.CorruptError{}), 6}, {exitf(exitStale, "late"), 5},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exitCode(%#v) = %d, want %d", c.err, got, c.want)
		}
	}
}

func TestSplit(t *testing.T) {
	takes := map[string]bool{"o": true, "key": true}
	for _, c := range []struct{ args, flags, words string }{
		{"read balances 5 -o json", "-o json", "read balances 5"},
		{"-o json read -all balances 5", "-o json -all", "read balances 5"},
		{"-o=json read --key=k 5", "-o=json --key=k", "read 5"},
		{"commit -key -- -o json x", "-key -- -o json", "commit x"},
		{"read -- -o json", "", "read -o json"},
		{"commit -f - -", "-f", "commit - -"},
		{"commit -key", "-key", "commit"},
	} {
		flags, words, help := split(strings.Fields(c.args), takes)
		if strings.Join(flags, " ") != c.flags || strings.Join(words, " ") != c.words || help {
			t.Errorf("split(%s) = %q %q %v, want %q %q false", c.args, flags, words, help, c.flags, c.words)
		}
	}
	if flags, words, help := split([]string{"a", "-h", "-key", "-h"}, takes); !help || len(flags) != 2 || len(words) != 1 {
		t.Errorf("split(a -h -key -h) = %q %q %v, want two flags, one word, true", flags, words, help)
	}
}

// TestCommandTable checks that a flag takes a value in all commands or in none, because
// arguments are split before the command is known. It also checks the fields that help
// and completion need.
func TestCommandTable(t *testing.T) {
	switches, groups := map[string]bool{}, map[string]bool{}
	last := ""
	for i := range commands {
		cmd := &commands[i]
		first, _, _ := strings.Cut(cmd.Words, " ")
		if first != last && groups[first] {
			t.Errorf("%s: the commands of a group must be adjacent", cmd.Words)
		}
		last, groups[first] = first, true
		cmd.flagSet().VisitAll(func(f *flag.Flag) {
			if was, seen := switches[f.Name]; seen && was != settings.IsSwitch(f.Value) {
				t.Errorf("%s: -%s takes a value in one command and none in another", cmd.Words, f.Name)
			}
			switches[f.Name] = settings.IsSwitch(f.Value)
			if value, _ := flag.UnquoteUsage(f); !settings.IsSwitch(f.Value) && value != strings.ToUpper(value) {
				t.Errorf("%s: the usage of -%s does not name its value in backquotes", cmd.Words, f.Name)
			}
		})
		if cmd.Purpose == "" || cmd.Setup == nil && cmd.Run == nil {
			t.Errorf("%s: without purpose or action", cmd.Words)
		}
		for _, example := range cmd.Examples {
			if !strings.HasPrefix(example, cmd.Words) {
				t.Errorf("%s: the example %q is not a command", cmd.Words, example)
			}
			if found, _, err := resolve(commands, exampleWords(example)); err != nil || found.Words != cmd.Words {
				t.Errorf("%s: the example %q is of %q: %v", cmd.Words, example, found.Words, err)
			}
		}
	}
}

func exampleWords(example string) []string {
	_, words, _ := split(strings.Fields(example), valueFlags(commands))
	return words
}

// TestHelpAndVersionUnasked checks that ledgerctl prints an overview if it is run without
// arguments, and the version and help for each usual way to ask for them.
func TestHelpAndVersionUnasked(t *testing.T) {
	code, out, words := runs(noEnv)
	if code != exitUsage || out != "" || !strings.Contains(words, "usage: ledgerctl COMMAND") || !strings.Contains(words, "  batch ") {
		t.Errorf("no arguments: exit code %d, want %d and the overview on standard error: %q %q", code, exitUsage, out, words)
	}
	_, version, _ := runs(noEnv, "version")
	for _, ask := range []string{"-v", "-version", "--version"} {
		if code, out, words := runs(noEnv, ask); code != exitDone || out != version || !strings.Contains(out, "platform ") {
			t.Errorf("%s: exit code %d, want 0 and the same output as that of the command: %q %q", ask, code, out, words)
		}
	}
	_, help, _ := runs(noEnv, "help")
	for _, ask := range []string{"-h", "-help", "--help"} {
		if code, out, words := runs(noEnv, ask); code != exitDone || out != help || !strings.Contains(out, "usage: ledgerctl COMMAND") {
			t.Errorf("%s: exit code %d, want 0 and the same output as that of the command: %q %q", ask, code, out, words)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"commit", "batch", "read", "health"}
	for word, want := range map[string]string{
		"comit": "commit", "raed": "read", "healt": "health", "heal": "health", "batches": "batch", "xyzzy": "", "q": "",
	} {
		got := didYouMean(word, names)
		if want == "" && got != "" || want != "" && !strings.Contains(got, want) {
			t.Errorf("didYouMean(%s) = %q, want %q", word, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := newTable(&out, "n", "name")
	table.row("1", "a\x1b[31mb\n")
	table.flush()
	table.row("1000", "é")
	table.flush()
	table.row("7", "")
	table.flush()
	want := "N  NAME\n1  a\\u001b[31mb\\u000a\n1000  é\n   7\n"
	if out.String() != want {
		t.Errorf("got:\n%q\nwant:\n%q", out.String(), want)
	}
}
