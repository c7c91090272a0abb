package systemtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"assetledger/server/servertest/longtest"
)

// TestMain runs the tests, and then stops and removes what they share. Many tests run
// at the same time, because they mostly wait for processes.
func TestMain(m *testing.M) {
	longtest.Parallel(8)
	code := longtest.Main(m)
	endChromium()
	removeClients()
	os.RemoveAll(built.dir)
	if programs.dir != "" && os.Getenv(builtPrograms) == "" {
		os.RemoveAll(programs.dir)
	}
	os.Exit(code)
}

// together runs a subtest for each name, all at the same time. Subtests with
// t.Parallel would begin only after all other tests of the package have begun,
// so those that mostly wait would do so at the end, when nothing else runs.
func together(t *testing.T, names []string, test func(t *testing.T, name string)) {
	t.Helper()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() { t.Run(name, func(t *testing.T) { test(t, name) }) })
	}
	all.Wait()
}

// builtPrograms is the environment variable that names the folder of the programs,
// for a test that runs itself again.
const builtPrograms = "LEDGER_TEST_PROGRAMS"

var programs struct {
	once sync.Once
	dir  string
	err  error
}

// buildPrograms builds the programs once for all tests, as `make build` does,
// and returns their folder.
func buildPrograms(t *testing.T) string {
	t.Helper()
	skipUnderRace(t)
	programs.once.Do(func() {
		if programs.dir = os.Getenv(builtPrograms); programs.dir != "" {
			return
		}
		if programs.dir, programs.err = os.MkdirTemp("", "ledger-programs-"); programs.err == nil {
			programs.err = buildVersion("v0-test", programs.dir)
		}
	})
	if programs.err != nil {
		t.Fatalf("building the programs: %v", programs.err)
	}
	return programs.dir
}

// skipUnderRace skips the test under -race -short. It is for tests that start other
// processes, which the race detector can't examine.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector && testing.Short() {
		t.Skip("NOT TESTED with -race -short: what other processes do")
	}
}

// buildVersion builds the programs of a version into a folder.
func buildVersion(version, folder string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X assetledger/server/version.Version="+version, "-o", folder+"/",
		"./cmd/ledger-write", "./cmd/ledger-read", "./cmd/ledgerctl")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// A process is a daemon in a process of its own.
type process struct {
	name  string
	cmd   *exec.Cmd
	url   string
	words *bytes.Buffer // its standard error; read it only after the process has exited
	ended chan error
}

// startProcess runs a daemon on a free port and waits until it is ready.
func startProcess(t *testing.T, name string, args ...string) *process {
	t.Helper()
	return startProcessAt(t, "127.0.0.1:0", name, args...)
}

// startProcessAt is like startProcess, but takes the address to listen on.
func startProcessAt(t *testing.T, listen, name string, args ...string) *process {
	t.Helper()
	return startProcessFrom(t, buildPrograms(t), listen, name, args...)
}

// startProcessFrom is like startProcessAt, but also takes the folder of the programs.
func startProcessFrom(t *testing.T, folder, listen, name string, args ...string) *process {
	t.Helper()
	return startCommand(t, name, listen, append(append([]string{filepath.Join(folder, name)}, args...), "-listen", listen)...)
}

// startCommand is like startProcessFrom, but takes the whole command line.
func startCommand(t *testing.T, name, listen string, line ...string) *process {
	t.Helper()
	p := &process{name: name, words: new(bytes.Buffer), ended: make(chan error, 1)}
	p.cmd = exec.Command(line[0], line[1:]...)
	p.cmd.Stderr = p.words
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // even if the test is killed
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.endedAlone(t); p.kill() })
	late := time.AfterFunc(time.Minute, func() { p.cmd.Process.Kill() })
	text, err := bufio.NewReader(out).ReadString('\n')
	late.Stop()
	go func() {
		io.Copy(io.Discard, out)
		p.ended <- p.cmd.Wait()
	}()
	if err != nil {
		<-p.ended
		p.ended = nil
		t.Fatalf("%s printed nothing on standard output: %v\n%s", name, err, p.words)
	}
	_, url, ok := strings.Cut(strings.TrimSpace(text), " ready on ")
	if !ok || !strings.HasPrefix(url, "http://127.0.0.1:") && !strings.HasPrefix(url, "https://127.0.0.1:") && !strings.HasSuffix(url, listen) {
		t.Fatalf("%s: the ready line is %q, want a URL at %s", name, text, listen)
	}
	p.url = url
	return p
}

func startWriteProcess(t *testing.T, dir string) *process {
	t.Helper()
	return startProcess(t, "ledger-write", "-dir", dir, "-segment-size", fmt.Sprint(testSegment))
}

// endedAlone logs the process's standard error if the process has already exited and
// the test has failed.
func (p *process) endedAlone(t *testing.T) {
	select {
	case err := <-p.ended:
		p.ended = nil
		if t.Failed() {
			t.Logf("%s, process %d, had exited by itself: %v\n%s", p.name, p.cmd.Process.Pid, err, p.words)
		}
	default:
	}
}

// kill ends the process with SIGKILL, which to the process is no different from a
// power cut.
func (p *process) kill() {
	if p.ended == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.ended
	p.ended = nil
}

// exit waits until the process exits by itself, and returns its exit code.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		p.ended = nil
	case <-time.After(time.Minute):
		p.kill()
		t.Fatalf("%s did not exit by itself within a minute\n%s", p.name, p.words)
	}
	return p.cmd.ProcessState.ExitCode()
}

// stop asks the process to stop, and checks that it exits with code 0.
func (p *process) stop(t *testing.T) {
	t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-p.ended:
		if err != nil {
			t.Errorf("%s did not exit with code 0 when it was asked to stop: %v\n%s", p.name, err, p.words)
		}
	case <-time.After(time.Minute):
		p.cmd.Process.Kill()
		<-p.ended
		t.Errorf("%s did not stop within a minute\n%s", p.name, p.words)
	}
	p.ended = nil
}

// runProgram runs a program to its end and returns its exit code and output.
func runProgram(t *testing.T, name string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(buildPrograms(t), name), args...)
	var out, words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &words
	late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), words.String()
}
