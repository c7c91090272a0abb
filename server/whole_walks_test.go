package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// walks are the documents that a reader can follow by typing, each from an
// empty ledger.
var walks = []struct {
	path  string
	least int // commands in it, at least
}{
	{"README.md", 8},
	{"docs/tutorial-wallet.md", 15},
	{"docs/tutorial-shelf.md", 15},
	{"docs/tutorial-inventory.md", 15},
}

// TestWalks runs the commands of these documents, in order, in one shell each,
// and compares what they print.
func TestWalks(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl absent: the walks in README.md and docs need it")
	}
	for _, w := range walks {
		t.Run(w.path, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", w.path))
			if err != nil {
				t.Fatal(err)
			}
			got, ran := walk(t, string(text))
			if ran < w.least {
				t.Errorf("only %d commands were found", ran)
			}
			if *update {
				if err := os.WriteFile(filepath.Join("..", w.path), []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s does not say what the programs do (-says +does):\n%s", w.path, diff)
			}
		})
	}
}

// TestWalksAreWhole finds console blocks in documents that nobody walks.
func TestWalksAreWhole(t *testing.T) {
	walked := map[string]bool{}
	for _, w := range walks {
		walked[w.path] = true
	}
	for _, file := range ours(t) {
		if !strings.HasSuffix(file, ".md") || walked[file] {
			continue
		}
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if codeBlocks("console").Match(text) {
			t.Errorf("%s has console blocks that no test runs: add it to walks", file)
		}
	}
}

// walk runs the commands in a text's console blocks on fresh daemons. It returns
// the text with what they print now, and their number.
func walk(t *testing.T, text string) (got string, ran int) {
	home := t.TempDir()
	if err := os.Symlink(buildPrograms(t), filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "ledger-data")
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	toReal := strings.NewReplacer("http://127.0.0.1:8080", w.url, "http://127.0.0.1:8081", r.url)
	got = codeBlocks("console").ReplaceAllStringFunc(text, func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for _, command := range commandsOf(block) {
			ran++
			cmd := exec.Command("sh", "-c", toReal.Replace(command))
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "LEDGER_WRITE_URL="+w.url, "LEDGER_READ_URL="+r.url)
			printed, err := cmd.CombinedOutput()
			if err != nil && !strings.Contains(command, "; echo $?") {
				t.Errorf("%s: %v\n%s", command, err, printed)
			}
			out.WriteString("$ " + strings.ReplaceAll(command, "\n", "\n> ") + "\n" + withNewline(string(printed)))
		}
		out.WriteString("```")
		return out.String()
	})
	return got, ran
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
