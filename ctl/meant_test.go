package ctl

import (
	"bytes"
	"strings"
	"testing"
)

// TestMeant checks the suggestions for unknown words: commands of other tools, words
// of commerce, misspellings, and words in the wrong place. If no known word is similar, there
// is no suggestion.
func TestMeant(t *testing.T) {
	for _, x := range []struct{ words, want string }{
		{"get", `"read"`}, {"get containers", `"read containers"`}, {"describe container wallet/7", `"read container"`}, {"list commits", `"read commits"`},
		{"info wallet/7", `"read"`}, {"rm wallet/7", `"delete"`}, {"delete container wallet/7", `"delete"`}, {"remove container wallet/7", `"delete"`}, {"delete token shop", `"token revoke"`}, {"apply x.json", `"commit"`},
		{"pay wallet/7 shop 5 EUR", `"transfer"`}, {"send a b 5 EUR", `"transfer"`}, {"deposit a 5 EUR", `"add"`}, {"credit a 5 EUR", `"add"`},
		{"withdraw a 5 EUR", `"remove"`}, {"debit a 5 EUR", `"remove"`}, {"undo 5", `"reverse"`}, {"refund 5", `"reverse"`}, {"reserve 1 a 5 EUR", `"hold"`},
		{"capture 17", `"settle"`}, {"cancel 17", `"release"`}, {"import x", `"batch"`}, {"restore out", `"backup"`}, {"run", `"dev"`}, {"start", `"dev"`},
		{"init", `"dev"`}, {"ping", `"health"`}, {"logs", `"watch"`}, {"rename container a b", `"rename"`}, {"swap bag/7 1 2", `"move"`},
		{"atach 1 2", `"attach"`}, {"consolidate a", `"commit ConsolidateStacks"`},
		{"describe class GOLD", `"read class"`}, {"describe hold 17", `"read hold"`}, {"get commit 5", `"read commit"`}, {"class GOLD", `"read class"`}, {"get shape x", `"read shapes"`}, {"get history a", `"history"`}, {"list health", `"health"`},
		{"get tokens", `"token list"`}, {"token create x", `"token new"`}, {"token delete x", `"token revoke"`}, {"token ls", `"token list"`}, {"token rm x", `"token revoke"`},
		{"wal check", `"wal verify"`}, {"wal list", `"wal stat"`}, {"wal verfy", `"wal verify"`}, {"read list", "read needs one of:"}, {"read get", "read needs one of"},
		{"read clas", `"read class"`}, {"take 17", "-slot is missing: RemoveFromSlot needs container_id, slot_index; see ledgerctl take -h"},
		{"balance wallet/7", `"read balances"`}, {"classes", `"read classes"`}, {"hlep", `"help"`}, {"trasnfer a b 1 EUR", `"transfer"`}, {"tokn list", `"token"`},
		{"read balance wallet/7", `"read balances"`}, {"read contaner wallet/7", `"read container"`}, {"read wallet/7", "read needs one of: container, balances,"},
		{"register EUR", "register needs one of: class, shape"}, {"create container x", `"create"`}, {"create class USD", `"register class"`},
		{"help TransferFungibl", `"TransferFungible"`}, {"commit add a 5 EUR", "ledgerctl add is a command"},
		{"create bag/7 -slots 4", `"-slot-count"`}, {"hold 1 a 5 EUR -expires 15m", `"-expires-at" or "-expires-in"`}, {"reverse 9 -dryrun", `"-dry-run"`},
		{"read containers --output json", `"-o"`}, {"read containers -ojson", `"-o json"`}, {"read balances a -class 1", `"-class-id"`},
		{"transfer a b 5", "transfer needs FROM TO AMOUNT CLASS, as in: ledgerctl transfer wallet/7 shop 25.50 EUR"},
		{"transfer a to b 5 EUR", `transfer takes FROM TO AMOUNT CLASS, and does not take "EUR"`},
		{"xyzzy", ""}, {"flub", ""}, {"on", ""}, {"reverse 9 -q", ""},
	} {
		var out, errs bytes.Buffer
		if code := Main(strings.Fields(x.words), strings.NewReader(""), &out, &errs, noEnv); code != exitUsage {
			t.Errorf("%s: exit code %d, want %d", x.words, code, exitUsage)
		}
		if said := errs.String(); !strings.Contains(said, x.want) || x.want == "" && strings.Contains(said, "did you mean") {
			t.Errorf("%s: %swant %q", x.words, said, x.want)
		}
	}
}
