package systemtest

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walks are the documents that a reader can follow by typing, each from an
// empty ledger.
var walks = []struct {
	path  string
	least int      // commands in it, at least
	tools []string // beside a shell
}{
	{"README.md", 8, []string{"curl"}},
	{"docs/recipes.md", 30, []string{"curl", "jq", "awk", "sed"}},
	{"docs/tutorial-wallet.md", 20, []string{"curl", "sed"}},
	{"docs/tutorial-shelf.md", 20, []string{"curl"}},
	{"docs/tutorial-inventory.md", 20, []string{"curl", "sed"}},
}

// TestWalks runs the commands of these documents, in order, in one shell each,
// and compares what they print.
func TestWalks(t *testing.T) {
	t.Parallel()
	for _, doc := range walks {
		t.Run(doc.path, func(t *testing.T) {
			for _, tool := range doc.tools {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s absent: the walk in %s needs it", tool, doc.path)
				}
			}
			newDocWalk(t).run(t, doc.path, doc.least)
		})
	}
}

// TestWalksAreWhole finds console blocks in documents that nobody walks.
func TestWalksAreWhole(t *testing.T) {
	walked := map[string]bool{"docs/ops.md": true} // by TestOpsGuide
	for _, doc := range walks {
		walked[doc.path] = true
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

// A docWalk runs the commands of a document beside two daemons of its own.
type docWalk struct {
	home        string
	env         []string
	toReal      *strings.Replacer
	write, read *process
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
	t.Cleanup(func() { // a copy's daemons, if a recipe before their end failed
		if pid, err := os.ReadFile(filepath.Join(home, "copy.pid")); err == nil {
			if n, err := strconv.Atoi(strings.TrimSpace(string(pid))); err == nil {
				syscall.Kill(n, syscall.SIGTERM)
			}
		}
	})
	return &docWalk{
		home: home, write: w, read: r,
		env: append(os.Environ(), "LEDGER_WRITE_URL="+w.url, "LEDGER_READ_URL="+r.url,
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "LC_ALL=C.UTF-8"),
		toReal: strings.NewReplacer("http://127.0.0.1:8080", w.url, "http://127.0.0.1:8081", r.url,
			"127.0.0.1:9080", freeAddress(t), "127.0.0.1:9081", freeAddress(t)),
	}
}

// freeAddress is an address at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run runs the document's commands, of which there must be some, and compares
// what they print.
func (w *docWalk) run(t *testing.T, path string, least int) {
	t.Helper()
	file := filepath.Join("../..", path)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
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
		t.Errorf("only %d commands were found", ran)
	}
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s does not say what the programs do (-says +does):\n%s", path, diff)
	}
}

// command runs one command in a shell and returns what it printed.
func (w *docWalk) command(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", w.toReal.Replace(command))
	cmd.Dir, cmd.Env = w.home, w.env
	printed, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(command, "$?") {
		t.Errorf("%s: %v\n%s", command, err, printed)
	}
	return string(printed)
}

// commandsOf are the lines that begin with "$ ", with those after it that
// begin with "> ".
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

// withNewline ends a text with one.
func withNewline(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
