package ctl

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/settings"
)

// noEnv is an environment without variables.
func noEnv(string) (string, bool) { return "", false }

// runs runs ledgerctl in this process.
func runs(env func(string) (string, bool), words ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(words, strings.NewReader(""), &out, &errs, env)
	return code, out.String(), errs.String()
}

// Every flag of every command, and every variable in its place, is refused
// when it has no value. What was asked for must not be dropped.
func TestEmptyValues(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, cmd := range commands {
		if cmd.Hidden && cmd.Words != manCommand.Words {
			continue // takes a command line, not flags
		}
		cmd.flagSet().VisitAll(func(f *flag.Flag) {
			if isSwitch(f) {
				return
			}
			tried++
			words := strings.Fields(cmd.Words)
			for range strings.Fields(strings.ReplaceAll(cmd.Args, "[", "")) {
				words = append(words, "1")
			}
			code, out, errs := runs(noEnv, append(words, "-"+f.Name, "")...)
			if code != exitUsage || out != "" || !strings.Contains(errs, "-"+f.Name) {
				t.Errorf("%s -%s '': exit code %d, %q %q", cmd.Words, f.Name, code, out, errs)
			}
			name := settings.EnvName(f.Name)
			code, out, errs = runs(func(v string) (string, bool) { return "", v == name }, words...)
			if code != exitUsage || out != "" || !strings.Contains(errs, name) {
				t.Errorf("%s= %s: exit code %d, %q %q", name, cmd.Words, code, out, errs)
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d flags were tried", tried)
	}
}

// A limit on a token that can't be understood makes no token.
func TestTokenLimitsFailClosed(t *testing.T) {
	for _, limit := range [][]string{
		{"-owners", ""}, {"-owners="}, {"-owners", " "}, {"-owners", ","}, {"-owners", "7,"}, {"-owners", "x"}, {"-owners", "0"},
		{"-owners", "7", "-owners", "8"}, {"-scopes", ""}, {"-scopes", "read,"}, {"-scopes", "all"}, {"-scopes", "read", "-scopes", "commit"},
	} {
		file := filepath.Join(t.TempDir(), "auth")
		code, out, errs := runs(noEnv, append([]string{"token", "new", "shop", "-auth-file", file}, limit...)...)
		if _, err := os.Stat(file); code != exitUsage || out != "" || err == nil {
			t.Errorf("%q: exit code %d, %q %q, file: %v", limit, code, out, errs, err)
		}
	}
	file := filepath.Join(t.TempDir(), "auth")
	for range 2 {
		if code, _, errs := runs(noEnv, "token", "new", "shop", "-again", "-auth-file", file); code != exitDone {
			t.Fatal(errs)
		}
	}
	before, _ := os.ReadFile(file)
	for _, hash := range [][]string{{"-hash", ""}, {"-hash", " "}, {"-hash", "zz"}} {
		code, _, _ := runs(noEnv, append([]string{"token", "revoke", "shop", "-auth-file", file}, hash...)...)
		if after, _ := os.ReadFile(file); code == exitDone || !bytes.Equal(before, after) {
			t.Errorf("revoke %q: exit code %d, and the file is %q", hash, code, after)
		}
	}
}

// A token that can't be printed is not valid, and nothing was written for it.
func TestTokenOnFullOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("NOT TESTED: a full standard output; needs /dev/full:", err)
	}
	defer full.Close()
	file := filepath.Join(t.TempDir(), "auth")
	var errs bytes.Buffer
	code := Main([]string{"token", "new", "shop", "-auth-file", file}, strings.NewReader(""), full, &errs, noEnv)
	text, _ := os.ReadFile(file)
	if code != exitFailure || len(text) != 0 || !strings.Contains(errs.String(), "no token was added") {
		t.Errorf("exit code %d, %q, the file: %q", code, &errs, text)
	}
}
