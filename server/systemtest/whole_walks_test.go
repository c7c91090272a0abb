package systemtest

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/etcd/etcdtest"
)

// walks are the documents that a reader can follow by typing, each starting
// with an empty ledger.
var walks = map[string]struct {
	least int      // minimum number of commands in the document
	tools []string // required besides a shell
}{
	"README.md":                  {10, []string{"curl"}},
	"docs/recipes.md":            {30, []string{"curl", "jq", "awk", "sed"}},
	"docs/tutorial-wallet.md":    {20, []string{"curl", "sed"}},
	"docs/tutorial-shelf.md":     {20, []string{"curl"}},
	"docs/tutorial-inventory.md": {20, []string{"curl", "sed"}},
	"docs/tutorial-cluster.md":   {40, []string{"etcd", "curl", "sed", "seq", "cmp"}},
}

// TestWalks runs the commands of each document in walks from top to bottom, each
// command in its own shell, and compares their output.
func TestWalks(t *testing.T) {
	t.Parallel()
	together(t, slices.Sorted(maps.Keys(walks)), func(t *testing.T, path string) {
		for _, tool := range walks[path].tools {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skipf("%s is absent: the walk in %s needs it", tool, path)
			}
		}
		newDocWalk(t).run(t, path, walks[path].least)
	})
}

// TestWalksAreWhole checks that a test runs every document that has console blocks.
func TestWalksAreWhole(t *testing.T) {
	walked := map[string]bool{"docs/ops.md": true} // by TestOpsGuide
	for path := range walks {
		walked[path] = true
	}
	for _, file := range ours(t) {
		if !strings.HasSuffix(file, ".md") || walked[file] {
			continue
		}
		text, err := os.ReadFile(filepath.Join("../..", file))
		if err != nil {
			t.Fatal(err)
		}
		if codeBlocks("console").Match(text) {
			t.Errorf("%s has console blocks that no test runs: add it to walks", file)
		}
	}
}

// A docWalk runs the commands of a document, with its own two daemons.
type docWalk struct {
	home           string
	env            []string
	addresses      []string          // each address in the document, followed by the actual one
	toReal, toText *strings.Replacer // made from addresses
	write, read    *process
}

func newDocWalk(t *testing.T) *docWalk {
	t.Helper()
	home := t.TempDir()
	bin := buildPrograms(t)
	if err := os.Symlink(bin, filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "ledger-data")
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	t.Cleanup(func() { // stops what was started by hand, if a command failed before the document's end
		files, _ := filepath.Glob(filepath.Join(home, "*.pid"))
		more, _ := filepath.Glob(filepath.Join(home, "*", "*.pid"))
		for _, file := range append(files, more...) {
			endHandmade(home, file)
		}
	})
	walk := &docWalk{
		home: home, write: w, read: r,
		env: append(os.Environ(), "LEDGER_WRITE_URL="+w.url, "LEDGER_READ_URL="+r.url,
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "LC_ALL=C.UTF-8"),
		addresses: []string{"http://127.0.0.1:8080", w.url, "http://127.0.0.1:8081", r.url},
	}
	walk.assign(t, "127.0.0.1:9080 and 127.0.0.1:9081 of the recipes")
	return walk
}

// endHandmade kills the process whose id is in a file, if that process is still
// running in the folder home.
func endHandmade(home, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	pid := strings.TrimSpace(string(text))
	at, _ := os.Readlink("/proc/" + pid + "/cwd")
	if n, err := strconv.Atoi(pid); err == nil && at == home {
		syscall.Kill(n, syscall.SIGKILL)
	}
}

// handmade matches the addresses of programs that a document tells its reader to start
// by hand.
var handmade = regexp.MustCompile(`127\.0\.0\.1:(90|[1-9]\d\d)\d\d\b`)

// assign chooses a free address for each address in the text that handmade matches.
func (w *docWalk) assign(t *testing.T, text string) {
	t.Helper()
	for _, at := range handmade.FindAllString(text, -1) {
		if !slices.Contains(w.addresses, at) {
			w.addresses = append(w.addresses, at, etcdtest.FreeAddress(t))
		}
	}
	w.toReal = strings.NewReplacer(w.addresses...)
	back := slices.Clone(w.addresses)
	for i := 0; i < len(back); i += 2 {
		back[i], back[i+1] = back[i+1], back[i]
	}
	w.toText = strings.NewReplacer(back...)
}

// run runs the document's commands, and compares what they print. The parameter least
// is the minimum number of commands: with fewer, the test fails.
func (w *docWalk) run(t *testing.T, path string, least int) {
	t.Helper()
	file := filepath.Join("../..", path)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w.assign(t, string(text))
	ran := 0
	got := codeBlocks("console").ReplaceAllStringFunc(string(text), func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for _, command := range commandsOf(block) {
			ran++
			out.WriteString("$ " + strings.ReplaceAll(command, "\n", "\n> ") + "\n" + withNewline(w.command(t, command)))
		}
		out.WriteString("```")
		return out.String()
	})
	if ran < least {
		t.Errorf("found only %d commands, want at least %d", ran, least)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s differs from what the programs print (-document +programs):\n%s", path, diff)
	}
}

// command runs one command in a shell and returns its output.
func (w *docWalk) command(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", w.toReal.Replace(command))
	cmd.Dir, cmd.Env = w.home, w.env
	printed, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(command, "$?") {
		t.Errorf("%s: %v\n%s", command, err, printed)
	}
	return anyTime.ReplaceAllString(w.toText.Replace(string(printed)), "2026-01-31T12:00:00.000Z")
}

// anyTime matches the times in tables. Documents show one fixed time for all of them.
var anyTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// commandsOf returns the lines that begin with "$ ", each with the following
// lines that begin with "> ".
func commandsOf(block string) (commands []string) {
	for _, line := range strings.Split(block, "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			commands = append(commands, command)
		} else if more, ok := strings.CutPrefix(line, "> "); ok && len(commands) > 0 {
			commands[len(commands)-1] += "\n" + more
		}
	}
	return commands
}

// withNewline returns s with a newline at its end, or "" if s is empty.
func withNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
