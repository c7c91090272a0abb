package server_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
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
	w := newWorld(t, "write", "")
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
	const path = "../README.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Symlink(buildPrograms(t), filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "ledger-data")
	w := startWriteProcess(t, dir)
	r := startProcess(t, "ledger-read", "-dir", dir)
	toReal := strings.NewReplacer("http://127.0.0.1:8080", w.url, "http://127.0.0.1:8081", r.url)
	ran := 0
	got := codeBlocks("console").ReplaceAllStringFunc(string(text), func(block string) string {
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
	if ran < 8 {
		t.Errorf("only %d commands were found", ran)
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("README.md does not say what the programs do (-says +does):\n%s", diff)
	}
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
