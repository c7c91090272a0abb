package systemtest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// built is a copy of the repository in which `make build` has run, for all tests.
var built struct {
	once sync.Once
	dir  string
	err  error
}

// builtRepository returns a folder that only this test uses. It has the current files
// of the repository and the output of `make build`, like the folder of a new user
// after the first minute.
func builtRepository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(builtOnce(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// builtOnce returns the folder that builtRepository copies. Tests must not change it.
func builtOnce(t *testing.T) string {
	t.Helper()
	tool(t, "make", "make")
	files := ours(t)
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "ledger-built-"); built.err == nil {
			built.err = buildCopy(files, built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// buildCopy copies files of the repository to dir and builds them there.
func buildCopy(files []string, dir string) error {
	for _, file := range files {
		from, to := filepath.Join("../..", file), filepath.Join(dir, file)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue // deleted, but still in git's index
		}
		var text []byte
		if err == nil {
			text, err = os.ReadFile(from)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, info.Mode())
		}
		if err != nil {
			return err
		}
	}
	build := exec.Command("make", "build")
	build.Dir, build.Env = dir, append(os.Environ(), "MAKEFLAGS=", "VERSION=unknown") // as outside of git
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("make build: %w\n%s", err, out)
	}
	return nil
}

// byStranger runs a command in a fresh copy of the repository.
func (s *sandbox) byStranger(command string) {
	tool(s.t, "make", "make")
	if s.checkout == "" {
		s.checkout = builtRepository(s.outer)
	}
	if command == "make run" {
		s.makeRun()
		return
	}
	out := s.strangely(command)
	for start, want := range map[string]string{
		"make help": "make run ", "make demo": "demo: everything was as expected", "man": "ledgerctl",
	} {
		if strings.HasPrefix(command, start) && !strings.Contains(out, want) {
			s.t.Errorf("%s does not print %q:\n%s", command, want, out)
		}
	}
	// The demonstration kills a daemon, which the shell must not report.
	if alien := regexp.MustCompile(`Killed|Terminated|line \d+:`).FindString(out); command == "make demo" && alien != "" {
		s.t.Errorf("make demo prints %q:\n%s", alien, out)
	}
}

// strangely runs a command in the copy to its end.
func (s *sandbox) strangely(command string) string {
	s.t.Helper()
	name, _, _ := strings.Cut(command, " ")
	if !strings.HasPrefix(name, "bin/") {
		tool(s.t, name, map[string]string{"make": "make", "man": "man-db"}[name])
	}
	cmd := exec.Command("bash", "-c", command)
	cmd.Dir, cmd.Env = s.checkout, append(os.Environ(), "MANPAGER=cat", "MAKEFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

// makeRun starts a ledger as README.md describes, but on other ports. It opens
// the page that the output names, commits, sees the commit, and presses Ctrl-C.
func (s *sandbox) makeRun() {
	cmd := exec.Command("make", "run")
	cmd.Dir, cmd.Env = s.checkout, append(os.Environ(), "LEDGER_WRITE_LISTEN=127.0.0.1:0", "LEDGER_READ_LISTEN=127.0.0.1:0", "MAKEFLAGS=")
	at := map[string]string{}
	said, words, err := untilInterrupt(s.t, cmd, func(line string) bool {
		if fields := strings.Fields(line); len(fields) == 2 {
			at[fields[0]] = fields[1]
		}
		if strings.HasPrefix(line, "log ") {
			s.seePage(at["page"])
			mustCommit(s.t, at["write"], goodContainers)
		}
		return strings.Contains(line, "CreateContainer container_id=")
	})
	if exit, _ := err.(*exec.ExitError); exit == nil || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT || strings.Contains(words, "rror") { // that is how make exits
		s.t.Errorf("after Ctrl-C: %v\n%s%s", err, said, words)
	}
	if out := s.strangely("bin/ledgerctl wal verify -dir ledger-data"); !strings.Contains(out, "commits   1\n") {
		s.t.Errorf("ledger-data does not have the one commit:\n%s", out)
	}
}

func (s *sandbox) seePage(url string) {
	s.t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		s.t.Fatalf("the page at %q: %v", url, err)
	}
	defer answer.Body.Close()
	if page, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "<title>") {
		s.t.Errorf("the page at %q: %s %v\n%s", url, answer.Status, err, page)
	}
}
