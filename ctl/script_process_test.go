package ctl

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asMany makes the test binary run many commands, which runMany reads. The scripts
// have about 650 commands, and starting a process for each took most of their time.
const asMany = "LEDGERCTL_TEST_RUN_MANY"

// A commandRun is one run of ledgerctl, by default in a process that runs many.
type commandRun struct {
	Args, Env []string
	Stdin     string // path of a file
}

// A commandResult is what a run printed, and its exit code.
type commandResult struct {
	Stdout, Stderr []byte
	Code           int
}

// runMany runs commands, given as JSON, one after another, and writes their results.
func runMany(in io.Reader, out io.Writer) int {
	runs, results := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var run commandRun
		if err := runs.Decode(&run); err != nil {
			if errors.Is(err, io.EOF) {
				return 0
			}
			panic(err)
		}
		if err := results.Encode(run.run()); err != nil {
			panic(err)
		}
	}
}

func (r commandRun) run() commandResult {
	stdin, err := os.Open(r.Stdin)
	if err != nil {
		panic(err)
	}
	defer stdin.Close()
	var stdout, stderr bytes.Buffer
	code := Main(r.Args, stdin, &stdout, &stderr, func(name string) (value string, ok bool) {
		for _, entry := range r.Env { // the last one counts
			if v, found := strings.CutPrefix(entry, name+"="); found {
				value, ok = v, true
			}
		}
		return value, ok
	})
	return commandResult{stdout.Bytes(), stderr.Bytes(), code}
}

// A commandProcess is a process that runs many commands in one directory.
type commandProcess struct {
	runs    *json.Encoder
	results *json.Decoder
	crash   bytes.Buffer
	cmd     *exec.Cmd
}

func startCommands(t *testing.T, dir string) *commandProcess {
	t.Helper()
	p := &commandProcess{cmd: exec.Command(os.Args[0])}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, []string{asMany + "=1", "GORACE=atexit_sleep_ms=0"}, &p.crash
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the process that runs the commands: %v\n%s", err, &p.crash)
		}
	})
	p.runs, p.results = json.NewEncoder(in), json.NewDecoder(out)
	return p
}

// run runs a command, as if in a process of its own.
func (p *commandProcess) run(t *testing.T, r commandRun) (result commandResult) {
	t.Helper()
	if err := errors.Join(p.runs.Encode(r), p.results.Decode(&result)); err != nil {
		t.Fatalf("the process that runs the commands ended at %q: %v", r.Args, err)
	}
	return result
}

// inOwnProcess runs a command in a process of its own, with its standard output on a
// terminal.
func (s *script) inOwnProcess(r commandRun) (result commandResult) {
	cmd := exec.Command(os.Args[0], r.Args...)
	cmd.Dir, cmd.Env = s.dir, append([]string{asProgram + "=1", "GORACE=atexit_sleep_ms=0"}, r.Env...)
	stdin, err := os.Open(r.Stdin)
	if err != nil {
		s.t.Fatal(err)
	}
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	shown, err := openPty(s.t, s.columns, s.rows).run(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%q: %v", r.Args, err)
	}
	return commandResult{[]byte(shown), stderr.Bytes(), cmd.ProcessState.ExitCode()}
}
