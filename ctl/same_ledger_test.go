package ctl

import (
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/writer"
)

// A verb does not commit to one ledger an amount in the decimals of another.
func TestSameLedger(t *testing.T) {
	t.Parallel()
	coarse, fine := tool{t, startDaemons(t, t.TempDir())}, tool{t, startDaemons(t, t.TempDir())}
	for decimals, x := range map[string]tool{"0": coarse, "4": fine} {
		x.must(exitDone, "", "register", "class", "JPX", "-decimals", decimals)
		x.must(exitDone, "", "create", "shop")
	}
	add := []string{"add", "shop", "1", "JPX"}
	for _, c := range []struct {
		words []string
		code  int
	}{
		{add, exitDone},
		{append(add, "-read-url", fine.daemons.readURL), exitUsage},
		{append(add, "-read-url", fine.daemons.readURL, "-dry-run"), exitUsage},
		{append(add, "-read-url", fine.daemons.readURL, "-minor"), exitDone}, // no decimals are read
		{append(add, "-read-url", coarse.daemons.writeURL), exitRefused},
	} {
		code, out, words := coarse.run("", c.words...)
		if code != c.code {
			t.Errorf("ledgerctl %v: exit code %d, want %d\n%s%s", c.words, code, c.code, out, words)
		}
		if c.code == exitUsage && (!strings.Contains(words, coarse.daemons.writeURL) || !strings.Contains(words, fine.daemons.readURL)) {
			t.Errorf("ledgerctl %v does not name both addresses: %s", c.words, words)
		}
	}
	if out := coarse.must(exitDone, "", "read", "balances", "shop", "-min-seq", "4"); !strings.Contains(out, "  2 ") {
		t.Errorf("shop holds\n%s, and 1 was added twice", out)
	}
}

// A token without the scope log can't compare the ledgers: the amount is committed,
// and a dry run says what was not checked.
func TestSameLedgerWithoutScope(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "auth")
	tokens := map[string]string{}
	for _, scopes := range []string{"commit,read", "admin"} {
		code, out, words := runs(noEnv, "token", "new", "t", "-again", "-scopes", scopes, "-auth-file", file)
		if code != exitDone {
			t.Fatal(words)
		}
		tokens[scopes] = strings.TrimSpace(out)
	}
	d := startDaemonsWith(t, t.TempDir(), func(c *writer.Config) { c.Access.AuthFile = file })
	run := func(token string, words ...string) (int, string, string) {
		env := func(name string) (string, bool) { return token, name == envToken }
		return runs(env, append(words, "-write-url", d.writeURL, "-read-url", d.readURL)...)
	}
	for _, words := range [][]string{{"register", "class", "EUR", "-decimals", "2"}, {"create", "shop"}} {
		if code, _, said := run(tokens["admin"], words...); code != exitDone {
			t.Fatal(said)
		}
	}
	for scopes, note := range map[string]string{"commit,read": "without the scope log", "admin": ""} {
		code, out, words := run(tokens[scopes], "add", "shop", "1.50", "EUR", "-dry-run")
		if code != exitDone || !strings.Contains(out, "quantity=150") || !strings.Contains(words, note) || note == "" && words != "" {
			t.Errorf("%s: exit code %d\n%s%s", scopes, code, out, words)
		}
		if code, out, words := run(tokens[scopes], "add", "shop", "1.50", "EUR"); code != exitDone || words != "" || !strings.Contains(out, "quantity=150") {
			t.Errorf("%s: exit code %d\n%s%s", scopes, code, out, words)
		}
	}
}
