package server_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"assetledger/ledger"
)

// codeBlocks finds the fenced blocks of a kind in a text.
func codeBlocks(kind string) *regexp.Regexp {
	return regexp.MustCompile("(?ms)^```" + kind + "\n(.*?)^```$")
}

// TestReference replays the exchanges of docs/api.md.
func TestReference(t *testing.T) {
	const path = "../docs/api.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, "write")
	played := 0
	got := codeBlocks("http").ReplaceAllStringFunc(string(text), func(block string) string {
		body := strings.TrimSuffix(strings.TrimPrefix(block, "```http\n"), "```")
		list := parsePairs(t, "docs/api.md", body)
		w.replay(t, "docs/api.md", list)
		played += len(list)
		return "```http\n" + formatPairs(list) + "```"
	})
	if played < 40 {
		t.Errorf("only %d exchanges were found", played)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("docs/api.md does not say what the daemons do (-says +does):\n%s", diff)
	}
}

// TestReferenceIsWhole looks for every code, with its status, and every
// operation in docs/api.md.
func TestReferenceIsWhole(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
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
			t.Errorf("docs/api.md gives %s the status %q, and it has %s", code, told[string(code)], want)
		}
		delete(told, string(code))
	}
	for code := range told {
		t.Errorf("docs/api.md names %s, which is no code", code)
	}
	for _, kind := range ledger.OpKinds() {
		if !strings.Contains(string(text), "\n| ["+kind.String()+"](#") || !strings.Contains(string(text), `{"op":"`+kind.String()+`"`) {
			t.Errorf("docs/api.md lacks a row or an example of %s", kind)
		}
	}
}

// TestReadme runs the commands of README.md, in order, in one shell each, and
// compares what they print.
func TestReadme(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl absent: the walk in README.md needs it")
	}
	w := newDocWalk(t)
	w.run(t, "../README.md", 8)
}

// A docWalk runs the commands of a document beside two daemons of its own.
type docWalk struct {
	home   string
	env    []string
	toReal *strings.Replacer
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
	return &docWalk{
		home: home,
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
	text, err := os.ReadFile(path)
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
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
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

// TestRecipes runs the one-liners of docs/recipes.md.
func TestRecipes(t *testing.T) {
	for _, tool := range []string{"curl", "jq", "awk", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s absent: the recipes need it", tool)
		}
	}
	w := newDocWalk(t)
	t.Cleanup(func() { // the copy's daemons, if a recipe before their end failed
		if pid, err := os.ReadFile(filepath.Join(w.home, "copy.pid")); err == nil {
			if n, err := strconv.Atoi(strings.TrimSpace(string(pid))); err == nil {
				syscall.Kill(n, syscall.SIGTERM)
			}
		}
	})
	w.run(t, "../docs/recipes.md", 30)
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
