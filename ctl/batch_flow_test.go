package ctl

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"assetledger/ledger"
	"assetledger/server/writer"
)

const flowWorld = "RegisterClass class_id=1 name=Gold\n" +
	"CreateContainer container_id=1 kind=Standard\n" +
	`{"operations":[{"op":"CreateContainer","args":{"container_id":2,"kind":"Standard"}},{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1000000}}]}` + "\n"

func transferLine(i int) string {
	return fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":1,"to_container":2,"class_id":1,"key":0,"quantity":1}}],"metadata":{"n":%d}}`, i)
}

// manyLines returns more lines than are in flight at a time. Some are rejected,
// by the ledger or by ledgerctl. One is too long for a stream, and some are
// empty.
func manyLines() (text string, results []string) {
	var b strings.Builder
	seq := 3
	for i := 1; i <= linesAhead+ledger.MaxBatch+17; i++ {
		line, want := transferLine(i), ""
		switch {
		case i%7001 == 0:
			line, want = "[1", "MalformedJSON"
		case i%5003 == 0:
			line, want = strings.Replace(line, `"quantity":1`, `"quantity":1000001`, 1), "InsufficientBalance"
		case i%9001 == 0:
			line = ""
		case i == 12_000:
			line = "{" + strings.Repeat(" ", 1<<20+1) + line[1:]
		}
		b.WriteString(line + "\n")
		switch {
		case want != "":
			results = append(results, fmt.Sprintf(`{"line":%d,"error":{"code":"%s"`, i, want))
		case line != "":
			seq++
			results = append(results, fmt.Sprintf(`{"line":%d,"global_seq":%d,`, i, seq))
		}
	}
	return b.String(), results
}

// TestBatchFlows checks that lines are committed in order, and that every line that is
// not empty has its own result, in the same order.
func TestBatchFlows(t *testing.T) {
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, flowWorld, "batch", "-f", "-")
	text, want := manyLines()
	code, out, words := x.run(text, "batch", "-f", "-", "-o", "ndjson")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitRefused || len(lines) != len(want) {
		t.Fatalf("exit code %d (%s), %d results, want %d and %d", code, words, len(lines), exitRefused, len(want))
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Fatalf("result %d is %s, want %s", i, line, want[i])
		}
	}
	if page := x.must(exitDone, "", "read", "commit", "5", "-o", "json"); !strings.Contains(page, `"n":2`) {
		t.Errorf("commit 5 must be that of line 2, and is %s", page)
	}
}

// TestBatchFlowStops checks that with -on-error stop nothing after the first rejection
// is committed, even if it was in flight, and that every line that was sent has a result.
func TestBatchFlowStops(t *testing.T) {
	t.Parallel()
	x := tool{t, startDaemons(t, t.TempDir())}
	x.must(exitDone, flowWorld, "batch", "-f", "-")
	text, _ := manyLines()
	text = text[strings.Index(text, transferLine(14_003)):] // the first line to be rejected is then transferLine(15_009)
	code, out, words := x.run(text, "batch", "-f", "-", "-o", "ndjson", "-on-error", "stop")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	committed, untried := 0, 0
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, fmt.Sprintf(`{"line":%d,"global_seq":%d,`, i+1, i+4)):
			committed++
		case strings.Contains(line, `"code":"NotAttempted"`):
			untried++
		}
	}
	if code != exitRefused || committed+1+untried != len(lines) || !strings.Contains(words, fmt.Sprintf("1 of %d transactions failed, and %d after it not tried", len(lines), untried)) {
		t.Errorf("exit code %d, %d of %d committed, %d not tried; want exit code %d, and one line between those: %s", code, committed, len(lines), untried, exitRefused, words)
	}
	if end := x.must(exitDone, "", "health", "-o", "json"); !strings.Contains(end, fmt.Sprintf(`"commit_log_seq":%d`, committed+3)) {
		t.Errorf("%d lines were shown as committed, but health shows %s", committed, end)
	}
}

// forward returns the URL of a proxy to a daemon. The proxy calls the function copy to
// copy the responses of a connection.
func forward(t *testing.T, to string, copy func(client io.Writer, server io.Reader)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(to, "http://"))
			if err != nil {
				client.Close()
				continue
			}
			go io.Copy(server, client)
			go func() {
				defer client.Close()
				defer server.Close()
				copy(client, server)
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// TestBatchFlowIsCut breaks a connection with many lines in flight. With idempotency
// keys, each line must be committed once. Without them, the message must name the lines
// in doubt.
func TestBatchFlowIsCut(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, keyed := range []bool{true, false} {
		t.Run(fmt.Sprintf("keys: %v", keyed), func(t *testing.T) {
			t.Parallel()
			x := tool{t, startDaemons(t, t.TempDir())}
			x.must(exitDone, flowWorld, "batch", "-f", "-")
			const lines = linesAhead + 2*ledger.MaxBatch
			var text strings.Builder
			for i := range lines {
				text.WriteString(transferLine(i) + "\n")
			}
			direct := x.daemons.writeURL
			var connections atomic.Int64
			x.daemons.writeURL = forward(t, direct, func(client io.Writer, server io.Reader) {
				if connections.Add(1) <= 2 {
					server = io.LimitReader(server, 2<<20)
				}
				io.Copy(client, server)
			})
			args := []string{"batch", "-f", "-", "-o", "ndjson"}
			if keyed {
				args = append(args, "-resume", "-name", "cut")
			}
			code, out, words := x.run(text.String(), args...)
			x.daemons.writeURL = direct
			if keyed {
				if code != exitDone || strings.Count(out, "\n") != lines || !strings.Contains(words, "retrying with the same key") {
					t.Errorf("exit code %d, %d results, want 0, %d and a note about a retry: %s", code, strings.Count(out, "\n"), lines, words)
				}
				if end := x.must(exitDone, "", "health", "-o", "json"); !strings.Contains(end, fmt.Sprintf(`"commit_log_seq":%d`, lines+3)) {
					t.Errorf("each of %d lines must be committed once, but health shows %s", lines, end)
				}
				return
			}
			told := strings.Count(out, "\n")
			if code != exitSilent || !strings.Contains(words, fmt.Sprintf("%d committed and 0 failed before, and the outcome of lines %d to ", told, told+1)) {
				t.Errorf("exit code %d, %d results, want %d and the lines in doubt: %s", code, told, exitSilent, words)
			}
		})
	}
}

// TestBatchOutlivesADaemon restarts the write daemon during a batch. No line may be
// lost, with or without keys: those that were not executed are sent again.
func TestBatchOutlivesADaemon(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"-o", "ndjson"}, {"-o", "ndjson", "-resume", "-name", "restarts"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			daemons := startDaemons(t, dir)
			tool{t, daemons}.must(exitDone, flowWorld, "batch", "-f", "-")
			in, give := io.Pipe()
			out, shown := io.Pipe()
			enough := make(chan struct{})
			lines := 0
			go func() {
				defer give.Close()
				text := strings.Repeat(transferLine(0)+"\n", 50)
				for going := true; going; lines += 50 {
					select {
					case <-enough:
						going = false
					default:
					}
					io.WriteString(give, text)
				}
			}()
			var words strings.Builder
			ended := make(chan int)
			go func() {
				args := append([]string{"batch", "-f", "-", "-write-url", daemons.writeURL}, args...)
				code := Main(args, in, shown, &words, func(string) (string, bool) { return "", false })
				shown.Close()
				ended <- code
			}()
			restart := make(chan bool, 2)
			go func() { // results are read meanwhile: a daemon that stops does not wait long for a client that reads none
				defer close(enough)
				for range 2 {
					if !<-restart {
						return
					}
					daemons.stop()
					daemons = startDaemonsWith(t, dir, func(c *writer.Config) { c.Listen = strings.TrimPrefix(daemons.writeURL, "http://") })
				}
			}()
			defer close(restart)
			n := 0
			for results := bufio.NewScanner(out); results.Scan(); {
				n++
				if want := fmt.Sprintf(`{"line":%d,"global_seq":%d,`, n, n+3); !strings.HasPrefix(results.Text(), want) {
					t.Fatalf("result %d is %s, want %s", n, results.Text(), want)
				}
				if n == 1000 || n == 3000 {
					restart <- true
				}
			}
			if code := <-ended; code != exitDone || n != lines {
				t.Errorf("exit code %d, %d results, want 0 and one for each of %d lines: %s", code, n, lines, &words)
			}
		})
	}
}

// TestBatchIsInteractive checks that with input from a pipe the result of each line is
// shown before the next line is written. A line may be an operation in words.
func TestBatchIsInteractive(t *testing.T) {
	daemons := startDaemons(t, t.TempDir())
	in, give, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, shown := io.Pipe()
	ended := make(chan int)
	go func() {
		code := Main([]string{"batch", "-f", "-", "-o", "ndjson", "-write-url", daemons.writeURL}, in, shown, io.Discard, func(string) (string, bool) { return "", false })
		shown.Close()
		ended <- code
	}()
	results := bufio.NewReader(out)
	for i, c := range []struct{ line, want string }{
		{"CreateContainer container_id=1 kind=Standard", `"global_seq":1`},
		{`{"operations":[{"op":"CreateContainer","args":{"container_id":2,"kind":"Standard"}}]}`, `"global_seq":2`},
		{"CreateContainer container_id=2 kind=Standard", `"code":"ContainerAlreadyExists"`},
		{"CreateContainer container_id", `"code":"MalformedJSON"`},
		{"RemoveContainer container_id=2", `"global_seq":3`},
	} {
		io.WriteString(give, c.line+"\n")
		line, err := results.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, fmt.Sprintf(`{"line":%d,`, i+1)) || !strings.Contains(line, c.want) {
			t.Fatalf("%s: the result is %s (%v), want line %d and %s", c.line, line, err, i+1, c.want)
		}
	}
	give.Close()
	if code := <-ended; code != exitRefused {
		t.Errorf("exit code %d, want %d", code, exitRefused)
	}
}
