package ctl

import (
	"strings"
	"testing"
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
