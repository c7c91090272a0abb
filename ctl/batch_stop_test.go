package ctl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A streamer is a write daemon that commits every line of a stream. At line cutAt it
// waits until broken is closed, and then breaks the connection.
type streamer struct {
	cutAt     int
	broken    chan struct{}
	committed int      // number of committed lines
	keyless   []string // committed lines without a key
}

func (s *streamer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	control.EnableFullDuplex()
	w.WriteHeader(200)
	control.Flush()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		if lines.Text() == "" {
			continue
		}
		if s.committed+1 == s.cutAt {
			<-s.broken
			control.SetReadDeadline(time.Unix(1, 0))
			panic(http.ErrAbortHandler)
		}
		if s.committed++; !strings.Contains(lines.Text(), `"idempotency_key":"`) {
			s.keyless = append(s.keyless, lines.Text())
		}
		fmt.Fprintf(w, `{"global_seq":%d,"batch_seq":1,"minted_instances":[],"metadata":{}}`+"\n", s.committed)
		control.Flush()
	}
}

// A fullOutput is a writer. Every write returns the error in the field fail, and the
// first write also calls the function in the field then.
type fullOutput struct {
	fail error
	then func()
	once sync.Once
}

func (f *fullOutput) Write(p []byte) (int, error) {
	f.once.Do(f.then)
	return len(p), f.fail
}

// TestBatchIsStopped checks that a batch whose output fails, or that gets a signal,
// sends nothing more, counts the results of lines in flight, and reports how far it
// got.
func TestBatchIsStopped(t *testing.T) {
	const (
		line  = `{"operations":[{"op":"RemoveContainer","args":{"container_id":1}}]}` + "\n"
		wrong = `{"operations":[],"x":1}` + "\n"
		given = "no JSON\n"
	)
	full := errors.New("no space left")
	interrupt := func() { syscall.Kill(syscall.Getpid(), syscall.SIGINT) }
	for _, c := range []struct {
		name string
		args []string
		text string // lines after the first two
		fail error
		then func()
		cut  int
		code int
		want string // %[1]d: number of lines that the daemon committed
	}{
		{"full", []string{"-o", "ndjson"}, strings.Repeat(line, 2*linesAhead), full, nil, 0, exitFailure,
			"not all results from line 1 on could be written: no space left; lines 1 to %[1]d have a result: %[1]d committed and 0 failed; no later line was executed"},
		{"full, as a table", nil, strings.Repeat(line, 2*linesAhead), full, nil, 0, exitFailure,
			"not all results from line 1 on could be written: no space left; lines 1 to %[1]d have a result: %[1]d committed and 0 failed; no later line was executed"},
		{"full, then cut", []string{"-o", "ndjson"}, line, full, nil, 3, exitSilent,
			"not all results from line 1 on could be written: no space left; no response from ADDRESS: it closed the connection; " +
				"2 committed and 0 failed before, and the outcome of line 3 is unknown: send again only lines with an idempotency_key; no later line was executed"},
		{"full, then cut, with keys", []string{"-o", "ndjson", "-resume", "-name", "x"}, wrong + "{}\n" + given + "[]\n" + line, full, nil, 3, exitSilent,
			"2 committed and 0 failed before, and the outcome of lines 3 to 7 is unknown: run the same command again; nothing is committed twice; no later line was executed"},
		{"a signal", []string{"-o", "ndjson"}, "", nil, interrupt, 0, 130,
			"stopped by a signal (interrupt); lines 1 to 2 have a result: 2 committed and 0 failed; no later line was executed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			s := &streamer{cutAt: c.cut, broken: make(chan struct{})}
			daemon := httptest.NewServer(s)
			in, give := io.Pipe()
			go io.WriteString(give, line+line+c.text) // the pipe stays open
			out := &fullOutput{fail: c.fail, then: func() {
				if c.then != nil {
					c.then()
				}
				close(s.broken)
			}}
			var words strings.Builder
			args := append([]string{"batch", "-", "-write-url", daemon.URL}, c.args...)
			code := Main(args, in, out, &words, noEnv)
			give.Close()
			daemon.CloseClientConnections()
			daemon.Close()
			want := strings.ReplaceAll(c.want, "ADDRESS", daemon.URL)
			if strings.Contains(want, "%") {
				want = fmt.Sprintf(want, s.committed)
			}
			if code != c.code || !strings.Contains(words.String(), want) {
				t.Errorf("exit code %d, want %d; %d committed\ngot  %swant %s", code, c.code, s.committed, &words, want)
			}
			if s.committed >= 2*linesAhead {
				t.Errorf("%d lines were committed, want fewer than %d", s.committed, 2*linesAhead)
			}
		})
	}
}

// TestBatchIsStoppedBeforeItSends checks that a signal before the first line is sent,
// such as within a body, ends the batch with a message that no line was executed. The
// batch is a separate process, because a second signal would end the test process.
func TestBatchIsStoppedBeforeItSends(t *testing.T) {
	for _, begin := range []string{"", `{"transactions":[`} {
		cmd := exec.Command(os.Args[0], "batch", "-", "-write-url", "http://127.0.0.1:1")
		cmd.Env = append(cmd.Environ(), asProgram+"=1", "GORACE=atexit_sleep_ms=0")
		var words strings.Builder
		cmd.Stderr = &words
		in := must(cmd.StdinPipe())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.WriteString(in, begin+strings.Repeat("\n", 1<<20)) // more than a pipe holds: when this returns, the process has begun to read
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
		want := "ledgerctl: stopped by a signal (interrupt); no line was executed\n"
		if code := cmd.ProcessState.ExitCode(); code != 130 || words.String() != want {
			t.Errorf("after %q: exit code %d, %q, want 130, %q", begin, code, &words, want)
		}
	}
}

// TestEveryLineHasAKey checks that with -resume every line that could be committed gets a key,
// even one that a ledger of this version would reject. {} is not a transaction in any version.
func TestEveryLineHasAKey(t *testing.T) {
	t.Chdir(t.TempDir())
	s := &streamer{}
	daemon := httptest.NewServer(s)
	defer daemon.Close()
	text := `{"operations":[],"x":1}` + "\n" + `{"operations":[],"idempotency_key":"own"}` + "\n" + `{"operations":[],"x":1,"idempotency_key":"own2"}` + "\n{}\n"
	var out, words strings.Builder
	if code := Main([]string{"batch", "-", "-resume", "-name", "x", "-o", "ndjson", "-write-url", daemon.URL}, strings.NewReader(text), &out, &words, noEnv); code != exitDone || len(s.keyless) != 1 || s.keyless[0] != "{}" {
		t.Errorf("exit code %d, %q, lines without a key: %q; want 0 and only {}", code, &words, s.keyless)
	}
}
