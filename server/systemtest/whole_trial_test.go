package systemtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// trial is what a new user does in the first ten minutes with README.md and
// ledgerctl help, and no other document. README.md has the examples for the
// clients.
var trial = []struct{ task, command, want string }{
	{"create two wallets by name", "ledgerctl register class EUR -name Euro -decimals 2", "class_id"},
	{"", "ledgerctl create wallet/7 -owner 7", "name=wallet/7"},
	{"", "ledgerctl create shop", "name=shop"},
	{"pay", "ledgerctl add wallet/7 100.00 EUR", "quantity=10000"},
	{"", "ledgerctl transfer wallet/7 shop 25.50 EUR -key order-17", "global_seq       5"},
	{"retry", "ledgerctl transfer wallet/7 shop 25.50 EUR -key order-17", "replayed"},
	{"hold and settle", "ledgerctl hold 18 wallet/7 30.00 EUR", "HoldFungible"},
	{"", "ledgerctl settle 18 shop 20.00", "SettleHold"},
	{"see the statement", "ledgerctl statement wallet/7", "54.50"},
	{"undo a payment", "ledgerctl reverse 5", "from_container=shop to_container=wallet/7 class_id=EUR key=0 quantity=2550"},
	{"draw a shelf", "ledgerctl create shelf/1 -grid-width 6 -grid-height 3", "kind=Grid"},
	{"", "ledgerctl register class crate", "class_id"},
	{"", "ledgerctl register shape crate 2x1", "global_seq"},
	{"", "ledgerctl add shelf/1 40 crate", "AddFungible"},
	{"", "ledgerctl read grid shelf/1", "0 A A"},
	{"watch the feed", "ledgerctl watch -after 7 -count 1", "     8  "},
	{"back it up", "ledgerctl backup copy", "digest"},
}

// TestStrangersTrial does everything in trial in a fresh copy of the repository
// with an empty home. It starts a ledger, uses it by hand and from two
// languages, backs it up, and starts the copy. Every command and its flags must be
// in README.md or in the help, where people look for them.
func TestStrangersTrial(t *testing.T) {
	t.Parallel()
	tool(t, "make", "make")
	begin := time.Now()
	s := &stranger{checkout: builtRepository(t), read: map[string]bool{}}
	cache, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output() // building with empty caches is not tested
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(cache))
	s.env = append(os.Environ(), "HOME="+t.TempDir(), "GOCACHE="+folders[0], "GOMODCACHE="+folders[1], "MAKEFLAGS=", "LC_ALL=C.UTF-8",
		"PATH="+filepath.Join(s.checkout, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	s.started(t, "make run", func(at map[string]string) {
		s.env = append(s.env, "LEDGER_WRITE_URL="+at["write"], "LEDGER_READ_URL="+at["read"])
		s.toReal = strings.NewReplacer("http://127.0.0.1:8080", at["write"], "http://127.0.0.1:8081", at["read"])
		s.readme = s.toReal.Replace(text(t, filepath.Join(s.checkout, "README.md")))
		s.help = s.runs(t, "ledgerctl help")
		for _, step := range trial {
			s.finds(t, step.command)
			if out := s.runs(t, step.command); !strings.Contains(out, step.want) {
				t.Errorf("%s does not print %q:\n%s", step.command, step.want, out)
			}
		}
		t.Run("Python", s.fromPython)
		t.Run("TypeScript", s.fromTypeScript)
	})
	s.finds(t, "ledgerctl dev copy")
	s.started(t, "ledgerctl dev copy", func(at map[string]string) {
		if out := s.runs(t, "ledgerctl read balances shop -read-url "+at["read"]); !strings.Contains(out, "20.00") {
			t.Errorf("in the copy, the shop holds:\n%s", out)
		}
	})
	t.Logf("%d commands, help of %d of them read, in %v with the build", len(trial)+4, len(s.read), time.Since(begin).Round(time.Second))
}

// A stranger is someone with a fresh copy of the repository.
type stranger struct {
	checkout, readme, help string
	env                    []string
	toReal                 *strings.Replacer
	read                   map[string]bool // commands whose help was read
}

// started runs a command that starts daemons. It calls use with their addresses
// when they are ready, and then stops them as Ctrl-C does.
func (s *stranger) started(t *testing.T, command string, use func(at map[string]string)) {
	t.Helper()
	cmd := exec.Command("bash", "-c", "exec "+command)
	cmd.Dir, cmd.Env = s.checkout, append(s.env, "LEDGER_WRITE_LISTEN=127.0.0.1:0", "LEDGER_READ_LISTEN=127.0.0.1:0")
	at := map[string]string{}
	untilInterrupt(t, cmd, func(line string) bool {
		if fields := strings.Fields(line); len(fields) == 2 {
			at[fields[0]] = fields[1]
		}
		if at["log"] != "" {
			use(at)
		}
		return at["log"] != ""
	})
}

// runs runs a command to its end, and returns its output.
func (s *stranger) runs(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = s.checkout, s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

var (
	commandName = regexp.MustCompile(`^ledgerctl ((?:read |register )?[a-z]+)`)
	flagName    = regexp.MustCompile(` -[a-z-]+`)
)

// finds checks that ledgerctl help names a command. Unless README.md has the whole
// command line, the command's own help must have its flags.
func (s *stranger) finds(t *testing.T, command string) {
	t.Helper()
	name := commandName.FindStringSubmatch(command)[1]
	if !strings.Contains(s.help, "\n  "+name+" ") {
		t.Errorf("ledgerctl help does not name %s", name)
	}
	if strings.Contains(s.readme, command) {
		return // it is in README.md, to be copied
	}
	s.read[name] = true
	own := s.runs(t, "ledgerctl "+name+" -h")
	for _, flag := range flagName.FindAllString(command, -1) {
		if !strings.Contains(own, " "+flag+" ") {
			t.Errorf("ledgerctl %s -h does not name%s:\n%s", name, flag, own)
		}
	}
}

// fromPython runs the example in README.md.
func (s *stranger) fromPython(t *testing.T) {
	tool(t, "python3", "python3")
	example := codeBlocks("python").FindStringSubmatch(s.readme)
	if example == nil {
		t.Fatal("README.md has no example in python")
	}
	if err := os.WriteFile(filepath.Join(s.checkout, "pay.py"), []byte(example[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	const command = "PYTHONPATH=docs/clients python3 pay.py"
	if !strings.Contains(s.readme, command) {
		t.Errorf("README.md does not say %s", command)
	}
	if out := s.runs(t, command); !strings.Contains(out, "'quantity': 1900") {
		t.Errorf("the example prints %s, want a quantity of 1900", out)
	}
}

// fromTypeScript runs the example in README.md, compiled as docs/clients/README.md
// describes.
func (s *stranger) fromTypeScript(t *testing.T) {
	compiled := filepath.Dir(prepareClient(t, "typescript")("pay").Args[1])
	for _, file := range []string{"pay.js", "docs/clients/ledger.js"} {
		code := s.toReal.Replace(text(t, filepath.Join(compiled, file)))
		if err := os.WriteFile(filepath.Join(s.checkout, file), []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := afterInstall.FindStringSubmatch(text(t, filepath.Join(s.checkout, "docs/clients/README.md")))
	if out := s.runs(t, commands[1]+" && "+commands[3]); !strings.Contains(out, "quantity: 1") {
		t.Errorf("the example prints %s, want a quantity", out)
	}
}
