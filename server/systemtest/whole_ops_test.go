package systemtest

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOpsGuide runs the commands of docs/ops.md in order. The daemons run meanwhile,
// unless the guide says that both are stopped. The restored ledger and the moved one
// must have commits, and no more than the original.
func TestOpsGuide(t *testing.T) {
	t.Parallel()
	tool(t, "curl", "curl")
	home := t.TempDir()
	if err := os.Symlink(buildPrograms(t), filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "ledger-data")
	var w, r *process
	start := func(dir string) {
		w, r = writeSmall(t, dir), readEvery(t, dir, 15)
	}
	start(dir)
	mustCommit(t, w.url, goodContainers)
	commits, others := 0, 0
	ran := 0
	for _, block := range codeBlocks("console").FindAllString(text(t, "../../docs/ops.md"), -1) {
		commands := commandsOf(block)
		stopped := len(commands) > 0 && strings.HasPrefix(commands[0], "# with both daemons stopped")
		if stopped {
			w.stop(t)
			r.stop(t)
		} else {
			mustCommit(t, w.url, goodCommit)
			commits++
			if strings.Contains(block, "wal archive") { // there must be something to archive
				others = len(fillLog(t, w.url, 1000, 60))
			}
			awaitSeq(t, r.url, commits+1+others)
			if others > 0 && len(files(t, dir, "ckpt", ".ckpt")) < 2 {
				r.stop(t) // writes one more checkpoint
				r = readEvery(t, dir, 15)
			}
		}
		for _, command := range commands {
			ran++
			command := strings.NewReplacer("http://127.0.0.1:8080", w.url, "http://127.0.0.1:8081", r.url).Replace(command)
			cmd := exec.Command("sh", "-c", command)
			cmd.Dir = home
			cmd.Env = append(os.Environ(), "LEDGER_WRITE_URL="+w.url, "LEDGER_READ_URL="+r.url)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
		}
		if stopped {
			start(dir)
			if strings.Contains(block, "ledger-data.before") { // commits after the backup are lost
				commits = balance(t, r.url)
				if before := balance(t, startProcess(t, "ledger-read", "-dir", dir+".before").url); before < commits || commits == 0 {
					t.Errorf("the backup has %d commits, but the log had %d", commits, before)
				}
			}
		}
	}
	if ran < 10 {
		t.Errorf("found only %d commands, want at least 10", ran)
	}
	if moved := balance(t, startProcess(t, "ledger-read", "-dir", filepath.Join(home, "moved")).url); moved == 0 || moved > commits {
		t.Errorf("the moved ledger has %d commits, want 1 to %d", moved, commits)
	}
}

// balance returns the sum of what goodCommit has added so far.
func balance(t *testing.T, url string) int {
	t.Helper()
	a, err := get(http.DefaultClient, url+"/v1/read/container/1/balances")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(a.body, `"quantity":`)
	n := 0
	fmt.Sscan(strings.TrimSuffix(strings.SplitN(rest, "}", 2)[0], "}"), &n)
	return n
}

// TestLogLinesAreExplained checks that docs/ops.md explains the lines that the daemons
// log. It finds the calls of loggers whose names end in log, Log, logger or Logger.
func TestLogLinesAreExplained(t *testing.T) {
	t.Parallel()
	guide := text(t, "../../docs/ops.md")
	found := 0
	for _, file := range ours(t) {
		if !strings.HasPrefix(file, "server/") || strings.HasPrefix(file, "server/bench/") || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`[lL]og(?:ger)?\.(?:Info|Warn|Error)\("([^";,(:]+)`).FindAllStringSubmatch(text(t, filepath.Join("../..", file)), -1) {
			found++
			if !strings.Contains(guide, "`"+strings.TrimSpace(m[1])) {
				t.Errorf("docs/ops.md does not explain the line %q of %s", m[1], file)
			}
		}
	}
	if found < 10 {
		t.Errorf("found only %d log lines, want at least 10", found)
	}
}
