package ctl

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// interactiveShells has the arguments and the first input of each shell. The shell runs
// on a terminal, without the user's configuration. Ctrl-T shows the current line between << and
// >>, and clears it.
var interactiveShells = map[string]struct {
	args  []string
	setup string
}{
	"zsh": {[]string{"-f", "-i"}, `autoload -Uz compinit; compinit -u -D; source <(ledgerctl completion zsh); ` +
		`show() { print -rn -- "<<$BUFFER>>"; BUFFER= }; zle -N show; bindkey '^T' show; echo REA''DY` + "\n"},
	"fish": {[]string{"--no-config", "-i"}, `ledgerctl completion fish | source; ` +
		`function show; printf '<<%s>>' (commandline); commandline ''; end; bind \ct show; echo REA''DY` + "\n"},
}

// completedLines has lines and what Tab completes them to. bash has its own tests.
var completedLines = []struct{ typed, zsh, fish string }{
	{"ledgerctl comp", "ledgerctl completion ", ""},
	{"ledgerctl completion z", "ledgerctl completion zsh ", ""},
	{"ledgerctl read ba", "ledgerctl read balances ", ""},
	{"ledgerctl read grid 4 -min", "ledgerctl read grid 4 -min-seq ", ""},
	{"ledgerctl -o n", "ledgerctl -o ndjson ", ""},
	{"ledgerctl read containers -kind Gr", "ledgerctl read containers -kind Grid ", ""},
	{"ledgerctl batch -f da", "ledgerctl batch -f data.ndjson ", ""},
	{"ledgerctl wal verify -dir le", "ledgerctl wal verify -dir ledger-data/", ""},
	{"ledgerctl commit Trans", "ledgerctl commit TransferFungible ", ""},
	{"ledgerctl commit HoldFungible hold_id=1 cont", "ledgerctl commit HoldFungible hold_id=1 container_id=", ""},
	{"ledgerctl transfer a b 1 EUR -dry", "ledgerctl transfer a b 1 EUR -dry-run ", ""},
	{"ledgerctl preflight CreateContainer container_id=1 kind=Gr", "ledgerctl preflight CreateContainer container_id=1 kind=Grid ", ""},
}

// TestCompletionAtATerminal types into real shells, and checks the completed lines.
func TestCompletionAtATerminal(t *testing.T) {
	t.Parallel()
	for name, shell := range interactiveShells {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("NOT TESTED: completion in %s; needs Debian's package %s", name, name)
			}
			s := startShell(t, path, shell.args)
			s.enter(shell.setup)
			s.await(`READY`)
			for _, line := range completedLines {
				want := line.zsh
				if name == "fish" && line.fish != "" {
					want = line.fish
				}
				s.enter(line.typed + "\t\x14")
				if got := s.await(`<<([^\n]*?)>>`); got != want {
					t.Errorf("%q became %q, want %q", line.typed, got, want)
				}
			}
		})
	}
}

// A terminalShell is a shell at a terminal, in a folder with a file
// data.ndjson and a folder ledger-data.
type terminalShell struct {
	t      *testing.T
	master *os.File
	shown  []byte
}

func startShell(t *testing.T, path string, args []string) *terminalShell {
	t.Helper()
	dir, bin := t.TempDir(), t.TempDir()
	self, err := filepath.Abs(os.Args[0])
	if err == nil {
		err = os.Symlink(self, filepath.Join(bin, "ledgerctl"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "data.ndjson"), nil, 0o600)
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "ledger-data"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := openPty(t, 200, 50)
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = []string{asProgram + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm", "LC_ALL=C.UTF-8"}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.slave.Close()
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	t.Cleanup(func() {
		late.Stop()
		cmd.Process.Kill()
		cmd.Wait()
		p.master.Close()
	})
	return &terminalShell{t: t, master: p.master}
}

func (s *terminalShell) enter(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// await reads from the terminal until pattern matches, and returns the text of its group.
// If the shell asks for the type of the terminal, await replies.
func (s *terminalShell) await(pattern string) string {
	s.t.Helper()
	p, buffer := regexp.MustCompile(pattern), make([]byte, 4096)
	for {
		if m := p.FindSubmatchIndex(s.shown); m != nil {
			found := string(s.shown[m[len(m)-2]:m[len(m)-1]])
			s.shown = s.shown[m[1]:]
			return found
		}
		n, err := s.master.Read(buffer)
		if err != nil {
			s.t.Fatalf("the shell ended or hung before it showed %s: %v\n%q", pattern, err, s.shown)
		}
		if bytes.Contains(buffer[:n], []byte("\x1b[0c")) || bytes.Contains(buffer[:n], []byte("\x1b[c")) {
			s.enter("\x1b[?62;c")
		}
		s.shown = append(s.shown, buffer[:n]...)
	}
}
