package ctl

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
	"assetledger/server/writer"
)

// tool runs ledgerctl against daemons in this process.
type tool struct {
	t       *testing.T
	daemons *realDaemons
}

func (x tool) run(stdin string, args ...string) (code int, stdout, stderr string) {
	x.t.Helper()
	var out, words bytes.Buffer
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"LEDGER_WRITE_URL": x.daemons.writeURL, "LEDGER_READ_URL": x.daemons.readURL}[name]
		return v, ok
	}
	code = Main(args, strings.NewReader(stdin), &out, &words, env)
	return code, out.String(), words.String()
}

// must runs ledgerctl, and fails the test if the exit code differs from `want`.
func (x tool) must(want int, stdin string, args ...string) string {
	x.t.Helper()
	code, out, words := x.run(stdin, args...)
	if code != want {
		x.t.Fatalf("ledgerctl %s: exit code %d, want %d: %s%s", strings.Join(args, " "), code, want, out, words)
	}
	return out
}

// digestOf returns the digest of the state, as wal verify prints it.
func (x tool) digestOf(dir string) string {
	x.t.Helper()
	out := x.must(exitDone, "", "wal", "verify", "-dir", dir, "-o", "json")
	_, digest, ok := strings.Cut(out, `"digest":`)
	if !ok {
		x.t.Fatalf("wal verify prints no digest: %s", out)
	}
	return digest
}

// TestExportAndImport checks that an export, imported into an empty ledger, results in an
// equal ledger.
func TestExportAndImport(t *testing.T) {
	scenario, err := os.ReadFile("../testdata/warehouse/transactions.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	first, second := t.TempDir(), t.TempDir()
	from := tool{t, startDaemons(t, first)}
	from.must(exitRefused, string(scenario), "batch", "-f", "-") // the scenario includes rejections
	from.must(exitDone, "", "register", "class", "990001", `sword "épée"`, "-fungible=false", "-key", `"odd" \ key`)
	from.must(exitDone, "", "register", "shape", "990001", "1x3")
	from.must(exitDone, "", "commit", "-key", "k", "-metadata", `{"a b":1e5,"z":{"idempotency_key":"inner"},"é":[1,"\u0001"]}`,
		"-op", "MintInstance class_id=990001", "-op", "BurnInstance instance_id=minted:0")
	exported := from.must(exitDone, "", "export")
	if lines := strings.Count(exported, "\n"); lines < 100 {
		t.Fatalf("%d commits were exported, want 100 or more", lines)
	}

	to := tool{t, startDaemons(t, second)}
	to.must(exitDone, exported, "batch", "-f", "-", "-on-error", "stop")
	if a, b := from.digestOf(first), to.digestOf(second); a != b {
		t.Errorf("the digests are %s and %s, want equal ones", a, b)
	}
	last := strings.Count(exported, "\n")
	to.must(exitDone, "", "freshness", "-wait", ledger.Uint128{Lo: uint64(last)}.String())
	if again := to.must(exitDone, "", "export"); again != exported {
		t.Error("the export of the copy differs")
	}
	part := to.must(exitDone, "", "export", "-after", "3", "-to", "5")
	if want := strings.Join(strings.SplitAfter(exported, "\n")[3:5], ""); part != want {
		t.Errorf("commits 4 and 5 are %s, want %s", part, want)
	}
	if out := to.must(exitDone, "", "export", "-after", "1000000"); out != "" {
		t.Errorf("an export from beyond the end has %s, want nothing", out)
	}
}

// TestExportOfHolds exports and imports a ledger with names, a reversal and holds, one of
// which the ledger released when it expired. The two ledgers must be equal.
func TestExportOfHolds(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	from := tool{t, startDaemons(t, first)}
	from.must(exitDone, "", "register", "class", "EUR", "-name", "Euro", "-decimals", "2")
	for _, words := range []string{
		"create wallet/7 -owner 7", "create shop", "create 5 -name five", "add wallet/7 100.00 EUR", "hold 1 wallet/7 25.50 EUR -expires-in 90000s",
		"settle 1 shop 20 -keep", "hold 2 wallet/7 10 EUR", "release 2", "transfer wallet/7 shop 1.5 EUR -key k",
		"commit SplitStack container_id=shop class_id=EUR from_key=0 to_key=3 quantity=50 + RequireBalance container_id=shop class_id=EUR key=3 at_least=50 at_most=50",
		"commit RenameContainer container_id=five name=six + RenameClass class_id=EUR name=euros",
	} {
		from.must(exitDone, "", strings.Fields(words)...)
	}
	reversal := `{"operations":[{"op":"TransferFungible","args":{"from_container":"shop","to_container":"wallet/7","class_id":"EUR","key":0,"quantity":150}}],"reverses":10}`
	from.must(exitDone, reversal, "commit", "-f", "-")
	from.must(exitDone, "", strings.Fields("commit HoldFungible hold_id=3 container_id=wallet/7 class_id=EUR key=0 quantity=1 expires_at=1000000000")...)
	from.must(exitDone, "", "freshness", "-wait", "15", "-timeout", "30s") // the hold expires
	exported := from.must(exitDone, "", "export")
	for _, want := range []string{`"reverses":10}`, `{"operations":[{"op":"ReleaseHold","args":{"hold_id":3}}]}`} {
		if !strings.Contains(exported, want) {
			t.Errorf("the export lacks %s:\n%s", want, exported)
		}
	}
	to := tool{t, startDaemonsWith(t, second, func(c *writer.Config) { c.Expire = false })}
	to.must(exitDone, exported, "batch", "-f", "-", "-on-error", "stop")
	if a, b := from.digestOf(first), to.digestOf(second); a != b {
		t.Errorf("the digests are %s and %s, want equal ones", a, b)
	}
	to.must(exitDone, "", "freshness", "-wait", "15")
	if again := to.must(exitDone, "", "export"); again != exported {
		t.Errorf("the export of the copy differs:\n%s", cmp.Diff(exported, again))
	}
}

// TestResumeIsSafeToRepeat checks that a batch with -resume commits each line once,
// however often it runs.
func TestResumeIsSafeToRepeat(t *testing.T) {
	dir := t.TempDir()
	x := tool{t, startDaemons(t, filepath.Join(dir, "data"))}
	x.must(exitDone, "", "register", "class", "1", "gold")
	x.must(exitDone, "", "commit", "-op", "CreateContainer container_id=1 kind=Standard")
	add := `{"operations":[{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":5}}]}` + "\n"
	wrong := strings.Replace(add, `"container_id":1`, `"container_id":2`, 1)
	file := filepath.Join(dir, "work.ndjson")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	batch := []string{"batch", "-f", file, "-resume", "-on-error"}
	write(add + wrong + add)
	x.must(exitRefused, "", append(batch, "stop")...) // line 1 is committed, and line 3 is not attempted
	x.must(exitRefused, "", append(batch, "continue")...)
	x.must(exitRefused, "", append(batch, "continue")...)
	write(add + add + add + add) // line 2 is corrected, and line 4 is new
	x.must(exitDone, "", append(batch, "continue")...)
	x.must(exitDone, "", append(batch, "continue")...)
	if out := x.must(exitDone, "", "read", "stats", "1", "-min-seq", "6"); !strings.Contains(out, "total_added       20\n") {
		t.Errorf("four lines of 5 must add 20:\n%s", out)
	}
	// A line that was changed after it was committed is not committed again.
	write(add + strings.Replace(add, `"quantity":5`, `"quantity":6`, 1))
	x.must(exitUsage, "", append(batch, "continue")...)
	if err := os.Remove(file + ".resume"); err != nil {
		t.Fatal(err)
	}
	if out := x.must(exitRefused, "", append(batch, "continue")...); !strings.Contains(out, "IdempotencyConflict") {
		t.Errorf("a changed line must be an IdempotencyConflict:\n%s", out)
	}
}

// FuzzPartMetadata checks that splitting the metadata of a commit loses nothing.
func FuzzPartMetadata(f *testing.F) {
	f.Add(`{}`)
	f.Add(`{"idempotency_key":"k"}`)
	f.Add(`{"a b":1e5,"z":{"idempotency_key":"inner"},"é\"":[1,"\u0001"],"idempotency_key":"k"}`)
	f.Fuzz(func(t *testing.T, object string) {
		var whole map[string]json.RawMessage
		if !utf8.ValidString(object) || json.Unmarshal([]byte(object), &whole) != nil || whole == nil {
			return
		}
		key, rest, err := partMetadata([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		parts := map[string]json.RawMessage{}
		if rest != nil && json.Unmarshal(rest, &parts) != nil {
			t.Fatalf("%s is not JSON", rest)
		}
		if key != nil {
			parts["idempotency_key"] = key
		}
		if diff := cmp.Diff(whole, parts); diff != "" {
			t.Errorf("-whole +parts:\n%s", diff)
		}
	})
}
