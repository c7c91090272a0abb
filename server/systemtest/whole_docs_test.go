package systemtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
)

// codeBlocks returns a pattern for the fenced code blocks of one language.
func codeBlocks(kind string) *regexp.Regexp {
	return regexp.MustCompile("(?ms)^```" + kind + "\n(.*?)^```$")
}

// TestReference replays the exchanges of docs/api.md.
func TestReference(t *testing.T) {
	t.Parallel()
	replayDoc(t, "../../docs/api.md", newWorld(t, "write"), 40)
}

// TestSecurityGuide replays the exchanges of docs/security.md, with daemons that
// require tokens.
func TestSecurityGuide(t *testing.T) {
	t.Parallel()
	replayDoc(t, "../../docs/security.md", newWorld(t, "write", filepath.Join(pairsDir, "write", "auth", clientsFile)), 10)
}

// replayDoc replays the exchanges in a text. The test fails if there are fewer than
// atLeast.
func replayDoc(t *testing.T, path string, w *world, atLeast int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	played := 0
	got := codeBlocks("http").ReplaceAllStringFunc(string(text), func(block string) string {
		body := strings.TrimSuffix(strings.TrimPrefix(block, "```http\n"), "```")
		list := parsePairs(t, filepath.Base(path), body)
		w.replay(t, filepath.Base(path), list)
		played += len(list)
		return "```http\n" + formatPairs(list) + "```"
	})
	if played < atLeast {
		t.Errorf("found only %d exchanges, want at least %d", played, atLeast)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs from what the daemons do (-document +daemons):\n%s", path, diff)
	}
}

// TestReferenceIsWhole checks that docs/api.md has every code, with its status,
// and every operation.
func TestReferenceIsWhole(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d{3}) \| ([A-Za-z, ]+) \|`).FindAllStringSubmatch(string(text), -1) {
		for _, code := range strings.Split(row[2], ", ") {
			told[code] = row[1]
		}
	}
	for _, code := range allCodes(t) {
		if want := strconv.Itoa(code.Status()); told[string(code)] != want {
			t.Errorf("docs/api.md gives %s the status %q, but it has %s", code, told[string(code)], want)
		}
		delete(told, string(code))
	}
	for code := range told {
		t.Errorf("docs/api.md names %s, which is not an error code", code)
	}
	for _, kind := range ledger.OpKinds() {
		if !strings.Contains(string(text), "\n| ["+kind.String()+"](#") || !strings.Contains(string(text), `{"op":"`+kind.String()+`"`) {
			t.Errorf("docs/api.md lacks a row or an example of %s", kind)
		}
	}
}
