package systemtest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// streamLines sends lines in one stream until send returns false, and calls
// result with each result. It reports whether the response ended correctly.
//
// It implements HTTP itself: once a client of net/http can't send any more, it loses
// the results that it has not read.
func streamLines(url string, send func() (line string, ok bool), result func(line string)) (whole bool, err error) {
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		return false, err
	}
	defer c.Close()
	io.WriteString(c, streamHead) // an error shows in the response
	go func() {
		for line, ok := send(); ok; line, ok = send() {
			if _, err := fmt.Fprintf(c, "%x\r\n%s\n\r\n", len(line)+1, line); err != nil {
				return
			}
		}
		io.WriteString(c, "0\r\n\r\n")
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false, err
	}
	if res.StatusCode != 200 {
		return false, fmt.Errorf("status %s", res.Status)
	}
	lines := bufio.NewReader(res.Body)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF && line == "" {
			return true, nil
		}
		if err != nil {
			return false, nil
		}
		result(strings.TrimSuffix(line, "\n"))
	}
}

// TestKilledStreamsLoseNothing repeatedly kills the write daemon while clients send
// streams. What was acknowledged must be there, at the commit that the result named,
// and in the order in which it was sent.
func TestKilledStreamsLoseNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	mustCommit(t, w.url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}}]}`)
	const clients, enough = 4, 2000
	var told [clients][]string // results of each client, in the order of its lines
	for i := range clients {
		mustCommit(t, w.url, fmt.Sprintf(`{"operations":[{"op":"CreateContainer","args":{"container_id":%d,"kind":"Standard"}}]}`, i+1))
	}
	for range killRounds {
		var acknowledged atomic.Int64
		var all sync.WaitGroup
		kill := make(chan struct{})
		for i := range clients {
			all.Go(func() {
				n := len(told[i]) // lines without a result are sent again
				_, err := streamLines(w.url, func() (string, bool) { n++; return addOne(i, n-1), true }, func(line string) {
					if !strings.HasPrefix(line, `{"global_seq":`) {
						t.Errorf("client %d got %s, want a commit", i, line)
					}
					told[i] = append(told[i], strings.Replace(line, `,"replayed":true}`, "}", 1))
					if acknowledged.Add(1) == enough {
						close(kill)
					}
				})
				select {
				case <-kill: // the stream may not have been open yet
				default:
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		<-kill
		w.kill()
		all.Wait()
		w = startWriteProcess(t, dir)
		for i := range clients {
			n, want, seq := 0, len(told[i]), int64(0)
			_, err := streamLines(w.url, func() (string, bool) { n++; return addOne(i, n-1), n <= want }, func(line string) {
				again, replayed := strings.CutSuffix(line, `,"replayed":true}`)
				if !replayed {
					t.Fatalf("client %d: an acknowledged commit is gone: %s", i, line)
				}
				var now int64
				fmt.Sscanf(again, `{"global_seq":%d,`, &now)
				if now <= seq {
					t.Errorf("client %d: commit %d comes after %d, want the order of the lines", i, now, seq)
				}
				seq = now
				if told[i][0] != again+"}" {
					t.Fatalf("client %d: the result was %s and is now %s", i, told[i][0], line)
				}
				told[i] = append(told[i][1:], told[i][0])
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	w.stop(t)
}

// TestStoppedStreams asks a daemon to stop during a stream. The daemon must answer the
// lines that it has read, report that it is stopping, and end the response. The
// stream must have added exactly as many commits to the log as it has results.
func TestStoppedStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := startWriteProcess(t, dir)
	mustCommit(t, w.url, `{"operations":[{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard"}}]}`)
	n, results := 0, 0
	last := ""
	stopping := make(chan struct{})
	whole, err := streamLines(w.url, func() (string, bool) { n++; return addOne(0, n), true }, func(line string) {
		if last = line; strings.HasPrefix(line, `{"global_seq":`) {
			results++
		}
		if results == 1000 {
			go func() { w.stop(t); close(stopping) }()
		}
	})
	if err != nil || !whole || !strings.HasPrefix(last, `{"error":{"code":"ShuttingDown"`) {
		t.Errorf("%v, ended correctly: %v, last line %s; want true and ShuttingDown", err, whole, last)
	}
	<-stopping
	w = startWriteProcess(t, dir)
	if end := logEnd(t, w.url); end != int64(results)+1 {
		t.Errorf("%d results, but the log has %d commits after the first", results, end-1)
	}
	w.stop(t)
}
