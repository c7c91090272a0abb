package ctl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A streamer is a write daemon with streams, which commits every line. It cuts the
// connection before it answers line cutAt, once broken is closed.
type streamer struct {
	cutAt     int
	broken    chan struct{}
	committed int      // lines
	keyless   []string // of these
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

// A fullOutput calls then at the first write, and each write fails if fail is set.
type fullOutput struct {
	fail error
	then func()
	once sync.Once
}

func (f *fullOutput) Write(p []byte) (int, error) {
	f.once.Do(f.then)
	return len(p), f.fail
}

// A batch whose output fails, or that gets a signal, sends nothing more, counts the results of what is in flight, and says
// how far it came.
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
		text string // further lines than two
		fail error
		then func()
		cut  int
		code int
		want string // %[1]d: lines that the daemon has committed
	}{
		{"full", []string{"-o", "ndjson"}, strings.Repeat(line, 2*linesAhead), full, nil, 0, exitFailure,
			"not all results from line 1 on could be written: no space left; lines 1 to %[1]d have a result: %[1]d committed and 0 failed; no later line was carried out"},
		{"full, as a table", nil, strings.Repeat(line, 2*linesAhead), full, nil, 0, exitFailure,
			"not all results from line 1 on could be written: no space left; lines 1 to %[1]d have a result: %[1]d committed and 0 failed; no later line was carried out"},
		{"full, then cut", []string{"-o", "ndjson"}, line, full, nil, 3, exitSilent,
			"not all results from line 1 on could be written: no space left; no answer from ADDRESS: it closed the connection; " +
				"2 committed and 0 failed before, and of lines 3 to 3 it is not known: run again those that have an idempotency_key; no later line was carried out"},
		{"full, then cut, with keys", []string{"-o", "ndjson", "-resume", "-name", "x"}, wrong + "{}\n" + given + "[]\n" + line, full, nil, 3, exitSilent,
			"2 committed and 0 failed before, and of lines 3 to 7 it is not known: run the same command again, which commits none twice; no later line was carried out"},
		{"a signal", []string{"-o", "ndjson"}, "", nil, interrupt, 0, 130,
			"stopped by a signal (interrupt); lines 1 to 2 have a result: 2 committed and 0 failed; no later line was carried out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &streamer{cutAt: c.cut, broken: make(chan struct{})}
			daemon := httptest.NewServer(s)
			in, give := io.Pipe()
			go io.WriteString(give, line+line+c.text) // and more may come
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
				t.Errorf("exit code %d, %d committed\ngot  %swant %s", code, s.committed, &words, want)
			}
			if s.committed >= 2*linesAhead {
				t.Errorf("%d lines were sent", s.committed)
			}
		})
	}
}

// With -resume a line has a key even if the ledger of this version would reject it.
func TestEveryLineHasAKey(t *testing.T) {
	s := &streamer{}
	daemon := httptest.NewServer(s)
	defer daemon.Close()
	text := `{"operations":[],"x":1}` + "\n" + `{"operations":[],"idempotency_key":"own"}` + "\n" + `{"operations":[],"x":1,"idempotency_key":"own2"}` + "\n{}\n"
	var out, words strings.Builder
	if code := Main([]string{"batch", "-", "-resume", "-name", "x", "-o", "ndjson", "-write-url", daemon.URL}, strings.NewReader(text), &out, &words, noEnv); code != exitDone || len(s.keyless) != 1 || s.keyless[0] != "{}" {
		t.Errorf("exit code %d, %q, lines without a key: %q", code, &words, s.keyless)
	}
}
