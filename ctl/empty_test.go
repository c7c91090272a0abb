package ctl

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"assetledger/server/settings"
)

// noEnv is an empty environment.
func noEnv(string) (string, bool) { return "", false }

// runs runs ledgerctl in this process.
func runs(env func(string) (string, bool), words ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(words, strings.NewReader(""), &out, &errs, env)
	return code, out.String(), errs.String()
}

// TestEmptyValues checks that every flag that takes a value, and its environment variable,
// is rejected by every command if the value is empty. A setting must not be silently ignored.
func TestEmptyValues(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, cmd := range commands {
		if cmd.Hidden && cmd.Words != manCommand.Words {
			continue // its arguments are a command line, not flags
		}
		cmd.flagSet().VisitAll(func(f *flag.Flag) {
			if settings.IsSwitch(f.Value) {
				return
			}
			tried++
			words := strings.Fields(cmd.Words)
			for range strings.Fields(strings.ReplaceAll(cmd.Args, "[", "")) {
				words = append(words, "1")
			}
			code, out, errs := runs(noEnv, append(words, "-"+f.Name, "")...)
			if code != exitUsage || out != "" || !strings.Contains(errs, "-"+f.Name) {
				t.Errorf("%s -%s '': exit code %d, want %d and an error with the flag: %q %q", cmd.Words, f.Name, code, exitUsage, out, errs)
			}
			name := settings.EnvName(f.Name)
			code, out, errs = runs(func(v string) (string, bool) { return "", v == name }, words...)
			if code != exitUsage || out != "" || !strings.Contains(errs, name) {
				t.Errorf("%s= %s: exit code %d, want %d and an error with the variable: %q %q", name, cmd.Words, code, exitUsage, out, errs)
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d flags were tried, want at least 100", tried)
	}
}

// TestEmptyWords checks that every command rejects an empty word for a path, and touches
// nothing. The current directory has a log, and an empty path would refer to it.
func TestEmptyWords(t *testing.T) {
	tried := map[string]int{}
	for _, cmd := range commands {
		names := strings.Fields(cmd.Args)
		for i, name := range names {
			bare := strings.Trim(name, "[]…")
			if !slices.Contains([]string{"DIR", "OUT", "FILE", "URL", "FILE|OPERATION"}, bare) {
				continue
			}
			tried[bare]++
			t.Run(cmd.Words+" "+bare, func(t *testing.T) {
				log, other := t.TempDir(), t.TempDir()
				makeLog(t, log, 64<<10, containers(t, 3, 1))
				t.Chdir(log)
				words := strings.Fields(cmd.Words)
				for j := range names {
					words = append(words, filepath.Join(other, strconv.Itoa(j)))
				}
				words[len(words)-len(names)+i] = ""
				if cmd.Words == walArchiveCommand.Words {
					words = append(words, "-to", filepath.Join(other, "to"))
				}
				before := filesIn(t, log)
				code, out, errs := runs(noEnv, words...)
				if code != exitUsage || out != "" || !strings.Contains(errs, bare+" is empty: give it a value") {
					t.Errorf("ledgerctl %q: exit code %d, want %d and that %s is empty: %q %q", words, code, exitUsage, bare, out, errs)
				}
				if after := filesIn(t, log); !slices.Equal(before, after) || len(filesIn(t, other)) > 0 {
					t.Errorf("ledgerctl %q: the log's files were %v, and are %v; elsewhere: %v", words, before, after, filesIn(t, other))
				}
			})
		}
	}
	if tried["DIR"] < 9 || tried["OUT"] != 1 || tried["FILE"] != 1 || tried["FILE|OPERATION"] != 2 {
		t.Errorf("the commands have other arguments than this test expects: %v", tried)
	}
}

// filesIn lists the files and directories below a directory, by path.
func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			list = append(list, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestTokenLimitsFailClosed checks that no token is created if its limits are invalid, and that
// none is revoked if -hash is invalid.
func TestTokenLimitsFailClosed(t *testing.T) {
	for _, limit := range [][]string{
		{"-owners", ""}, {"-owners="}, {"-owners", " "}, {"-owners", ","}, {"-owners", "7,"}, {"-owners", "x"}, {"-owners", "0"},
		{"-owners", "7", "-owners", "8"}, {"-scopes", ""}, {"-scopes", "read,"}, {"-scopes", "all"}, {"-scopes", "read", "-scopes", "commit"},
	} {
		file := filepath.Join(t.TempDir(), "auth")
		code, out, errs := runs(noEnv, append([]string{"token", "new", "shop", "-auth-file", file}, limit...)...)
		if _, err := os.Stat(file); code != exitUsage || out != "" || err == nil {
			t.Errorf("%q: exit code %d, want %d and no token: %q %q, auth file: %v", limit, code, exitUsage, out, errs, err)
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
			t.Errorf("revoke %q: exit code %d and the file %q, want a failure and the file %q", hash, code, after, before)
		}
	}
}

// TestTokenWords checks the messages about a token, for one scope and for several.
func TestTokenWords(t *testing.T) {
	file := filepath.Join(t.TempDir(), "auth")
	for scopes, want := range map[string]string{"metrics": "one can now use: metrics; the daemons", "commit,read": "one can now use: commit,read; the daemons"} {
		if code, _, words := runs(noEnv, "token", "new", "one", "-again", "-scopes", scopes, "-auth-file", file); code != exitDone || !strings.HasPrefix(words, "ledgerctl: "+want) {
			t.Errorf("exit code %d, want 0 and %q: %s", code, want, words)
		}
	}
	if code, _, words := runs(noEnv, "token", "revoke", "one", "-auth-file", file); code != exitDone || !strings.HasPrefix(words, "ledgerctl: 2 credentials of one revoked; the daemons") {
		t.Errorf("exit code %d, want 0 and two revoked credentials: %s", code, words)
	}
}

// TestTokenOnFullOutput checks that a token that can't be printed is not added to the file.
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
		t.Errorf("exit code %d, want %d and an empty file: %q, %q", code, exitFailure, &errs, text)
	}
}
