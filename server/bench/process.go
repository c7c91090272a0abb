package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process is a program that the bench has started. Only the bench ends it.
type process struct {
	cmd    *exec.Cmd
	name   string
	url    string // base URL from its ready line, if it has one
	ended  chan struct{}
	mu     sync.Mutex
	stderr bytes.Buffer
	copyTo io.Writer
}

// Write appends what the process writes to standard error.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.copyTo.Write(text)
	return p.stderr.Write(text)
}

// said returns what the process has written to standard error.
func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

const (
	readyWait = 5 * time.Minute // a large log may be replayed first
	stopWait  = 20 * time.Second
)

var readyURL = regexp.MustCompile(`http://\S+`)

// start starts a program. If ready is set, it waits for a line with a URL on
// standard output.
func (b *bench) start(ready bool, path string, args ...string) (*process, error) {
	return b.startCmd(ready, exec.Command(path, args...))
}

func (b *bench) startCmd(ready bool, cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, name: filepath.Base(cmd.Path), ended: make(chan struct{}), copyTo: b.log}
	cmd.Stderr = p
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Credential: credential(cmd)}
	var out io.Reader = strings.NewReader("")
	var err error
	if ready {
		if out, err = cmd.StdoutPipe(); err != nil {
			return nil, err
		}
	} else {
		cmd.Stdout = b.log
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b.started = append(b.started, p)
	if !ready {
		go p.wait()
		return p, nil
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
		io.Copy(io.Discard, out)
		p.wait()
	}()
	select {
	case text := <-line:
		if p.url = readyURL.FindString(text); p.url == "" {
			return nil, fmt.Errorf("%s did not become ready: %s", p.name, lastLine(p.said()))
		}
		return p, nil
	case <-time.After(readyWait):
	case <-b.ctx.Done():
	}
	return nil, fmt.Errorf("%s did not become ready in time", p.name)
}

// credential returns the credential of a command that is to run as another
// user.
func credential(cmd *exec.Cmd) *syscall.Credential {
	if cmd.SysProcAttr == nil {
		return nil
	}
	return cmd.SysProcAttr.Credential
}

func (p *process) wait() {
	p.cmd.Wait()
	close(p.ended)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// stop sends SIGTERM to the process, and kills it if it is still running after
// stopWait.
func (p *process) stop() {
	select {
	case <-p.ended:
		return
	default:
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopWait):
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// stopAll stops all running processes, the most recent first.
func (b *bench) stopAll() {
	for len(b.started) > 0 {
		last := len(b.started) - 1
		b.started[last].stop()
		b.started = b.started[:last]
	}
}

// memory returns the resident memory of the process, in bytes.
func (p *process) memory() float64 {
	return float64(kib(field("/proc/"+strconv.Itoa(p.cmd.Process.Pid)+"/status", "VmRSS"))) * 1024
}

// peakMemory returns the peak resident memory of the process so far, in bytes.
func (p *process) peakMemory() float64 {
	return float64(kib(field("/proc/"+strconv.Itoa(p.cmd.Process.Pid)+"/status", "VmHWM"))) * 1024
}

// processor returns the processor time that the process has taken, in seconds.
func (p *process) processor() float64 {
	stat := firstLine("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/stat")
	_, stat, _ = strings.Cut(stat, ") ") // the name may hold spaces
	fields := strings.Fields(stat)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticksPerSecond
}

// ticksPerSecond is the number of clock ticks per second in /proc/PID/stat, on every
// Linux that Go runs on.
const ticksPerSecond = 100

// output runs a command to its end and returns its output.
func (b *bench) output(cmd *exec.Cmd) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	b.log.Write(out)
	b.log.Write(errs.Bytes())
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, lastLine(errs.String()))
	}
	return string(out), nil
}

// build builds the three programs, as `make build` does.
func (b *bench) build() error {
	b.bin = filepath.Join(b.dir, "bin")
	if err := os.MkdirAll(b.bin, 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "build", "-trimpath", "-o", b.bin+"/", "./cmd/ledger-write", "./cmd/ledger-read", "./cmd/ledgerctl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if _, err := b.output(cmd); err != nil {
		return errors.Join(errors.New("run it in the top directory of the repository, as `make bench` does"), err)
	}
	return nil
}
