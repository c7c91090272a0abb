package ctl

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/server/writer"
)

// TestSameLedger checks that a verb does not commit an amount to one ledger with the
// decimals of another.
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
		{append(add, "-read-url", fine.daemons.readURL, "-minor"), exitDone}, // no decimals are needed
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
		t.Errorf("shop holds\n%s, but 1 was added twice", out)
	}
}

// TestWrongDaemons checks that health reports an address of the other kind of daemon, and
// daemons of different ledgers.
func TestWrongDaemons(t *testing.T) {
	t.Parallel()
	x, other := tool{t, startDaemons(t, t.TempDir())}, tool{t, startDaemons(t, t.TempDir())}
	for _, y := range []tool{x, other} {
		y.must(exitDone, "", "create", "shop")
		y.must(exitDone, "", "health")
	}
	write, read := x.daemons.writeURL, x.daemons.readURL
	swapped := "-%s-url %s is the address of a %s daemon"
	ledgers := fmt.Sprintf("-write-url %s and -read-url %s belong to different ledgers", write, other.daemons.readURL)
	for _, c := range []struct {
		args, want string
	}{
		{"health -write-url " + read, fmt.Sprintf(swapped, "write", read, "read")},
		{"health -read -o json -read-url " + write, fmt.Sprintf(swapped, "read", write, "write")},
		{"health -read-url " + other.daemons.readURL, ledgers},
	} {
		if code, _, words := x.run("", strings.Fields(c.args)...); code != exitUsage || !strings.Contains(words, c.want) {
			t.Errorf("ledgerctl %s: exit code %d, %q, want %q", c.args, code, words, c.want)
		}
	}
}

// gated starts daemons with an auth file for the given clients, whose tokens are created
// with the given flags. It returns a function that runs ledgerctl as one of the clients.
func gated(t *testing.T, clients map[string][]string) (as func(client string, words ...string) (int, string, string)) {
	file := filepath.Join(t.TempDir(), "auth")
	tokens := map[string]string{}
	for name, flags := range clients {
		code, out, words := runs(noEnv, append([]string{"token", "new", name, "-auth-file", file}, flags...)...)
		if code != exitDone {
			t.Fatal(words)
		}
		tokens[name] = strings.TrimSpace(out)
	}
	d := startDaemonsWith(t, t.TempDir(), func(c *writer.Config) { c.Access.AuthFile = file })
	return func(client string, words ...string) (int, string, string) {
		env := func(name string) (string, bool) { return tokens[client], name == envToken }
		return runs(env, append(words, "-write-url", d.writeURL, "-read-url", d.readURL)...)
	}
}

// TestSameLedgerWithoutScope checks that without the scope log the amount is committed,
// although the ledgers can't be compared, and that a dry run names the missing scope.
func TestSameLedgerWithoutScope(t *testing.T) {
	t.Parallel()
	as := gated(t, map[string][]string{"usual": {"-scopes", "commit,read"}, "admin": {"-scopes", "admin"}})
	for _, words := range [][]string{{"register", "class", "EUR", "-decimals", "2"}, {"create", "shop"}} {
		if code, _, said := as("admin", words...); code != exitDone {
			t.Fatal(said)
		}
	}
	for client, note := range map[string]string{"usual": "the token lacks the scope log", "admin": ""} {
		code, out, words := as(client, "add", "shop", "1.50", "EUR", "-dry-run")
		if code != exitDone || !strings.Contains(out, "quantity=150") || !strings.Contains(words, note) || note == "" && words != "" {
			t.Errorf("dry run of %s: exit code %d, want 0, a quantity of 150 and the note %q\n%s%s", client, code, note, out, words)
		}
		if code, out, words := as(client, "add", "shop", "1.50", "EUR"); code != exitDone || words != "" || !strings.Contains(out, "quantity=150") {
			t.Errorf("%s: exit code %d, want 0, a quantity of 150 and no note\n%s%s", client, code, out, words)
		}
	}
}

// TestAbsentToOwner checks that the error for a token limited to owners also says how to
// find out when one of the owner's containers was created. The read itself is Forbidden,
// because the container did not belong to the owner as of the commit that -at names.
func TestAbsentToOwner(t *testing.T) {
	t.Parallel()
	as := gated(t, map[string][]string{"all": nil, "one": {"-scopes", "read", "-owners", "7"}})
	for _, words := range [][]string{{"register", "class", "EUR"}, {"create", "mine", "-owner", "7"}, {"create", "other", "-owner", "8"},
		{"add", "mine", "5", "EUR", "-minor"}, {"freshness", "-min-seq", "4"}} {
		if code, _, said := as("all", words...); code != exitDone {
			t.Fatal(said)
		}
	}
	for container, want := range map[string]string{"mine": "ledgerctl history mine shows when it existed", "other": "Forbidden: There is no container"} {
		if code, _, words := as("one", "read", "balances", container, "-at", "1"); code != exitRefused || !strings.Contains(words, want) {
			t.Errorf("%s: exit code %d, want %d and %q: %s", container, code, exitRefused, want, words)
		}
	}
	if code, out, words := as("one", "statement", "mine"); code != exitDone || words != "" || !strings.Contains(out, "AddFungible") {
		t.Errorf("statement: exit code %d, want 0 and an AddFungible\n%s%s", code, out, words)
	}
}
