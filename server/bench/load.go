package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A load is a set of requests that clients send over and over.
type load struct {
	url      string
	requests []request
}

// A request is a GET, or a POST of JSON if it has a body.
type request struct{ path, body string }

func posts(url, path string, bodies []string) load {
	l := load{url: url}
	for _, body := range bodies {
		l.requests = append(l.requests, request{path, body})
	}
	return l
}

func gets(url string, paths []string) load {
	l := load{url: url}
	for _, path := range paths {
		l.requests = append(l.requests, request{path: path})
	}
	return l
}

// An outcome is the result of a load.
type outcome struct {
	seconds   float64
	ok        int // responses with status 200
	busy      int // responses with status 503
	other     int
	p50, p99  time.Duration // of responses with status 200
	p999      time.Duration
	p99Busy   time.Duration // of responses with status 503
	firstFail string
}

// rate returns the number of 200 responses per second.
func (o *outcome) rate() float64 { return float64(o.ok) / o.seconds }

// check returns an error if any response was not 200, or if there was none.
func (o *outcome) check() error {
	if o.busy+o.other > 0 {
		return fmt.Errorf("%d responses were not 200, the first: %s", o.busy+o.other, o.firstFail)
	}
	if o.ok == 0 {
		return errors.New("no request got a response")
	}
	return nil
}

// render returns the bytes of a request.
func (r request) render(host string) []byte {
	if r.body == "" {
		return fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", r.path, host)
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		r.path, host, len(r.body), r.body)
}

// drive sends a load from this process, for the time d. Each connection is one
// client, which sends one request after another.
func (l load) drive(ctx context.Context, connections int, d time.Duration) (*outcome, error) {
	host := strings.TrimPrefix(l.url, "http://")
	rendered := make([][]byte, len(l.requests))
	for i, r := range l.requests {
		rendered[i] = r.render(host)
	}
	clients := make([]*client, connections)
	for i := range clients {
		conn, err := net.Dial("tcp", host)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		clients[i] = &client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), at: i * 7919}
	}
	start := time.Now()
	end := start.Add(d)
	var wait sync.WaitGroup
	for _, c := range clients {
		wait.Go(func() {
			for c.err == nil && ctx.Err() == nil && time.Now().Before(end) {
				c.once(rendered[c.at%len(rendered)])
				c.at++
			}
		})
	}
	wait.Wait()
	return gather(clients, time.Since(start))
}

// A client is one connection.
type client struct {
	conn     net.Conn
	in       *bufio.Reader
	at       int // index of the next request
	ok, busy []time.Duration
	results  int // results of a stream; ok then has the times of only a sample of them
	other    int
	first    string
	err      error
}

// answerWait is the maximum time to wait for responses. A client renews its deadline only
// now and then, so one deadline covers many responses.
const answerWait = time.Minute

func (c *client) once(request []byte) {
	start := time.Now()
	if len(c.ok)%1024 == 0 {
		c.conn.SetDeadline(start.Add(answerWait))
	}
	if _, c.err = c.conn.Write(request); c.err != nil {
		return
	}
	var status int
	if status, c.err = skipAnswer(c.in); c.err != nil {
		return
	}
	switch took := time.Since(start); status {
	case 200:
		c.ok = append(c.ok, took)
	case 503:
		c.busy = append(c.busy, took)
	default:
		c.other++
	}
	if status != 200 && c.first == "" {
		c.first = strconv.Itoa(status)
	}
}

// skipAnswer reads a response with as little work as possible, and returns its
// status.
func skipAnswer(in *bufio.Reader) (status int, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if first && len(line) > 12 {
			status, _ = strconv.Atoi(string(line[9:12]))
		}
		if len(line) == 2 {
			break
		}
		if name := []byte("Content-Length: "); bytes.HasPrefix(line, name) {
			length, _ = strconv.Atoi(string(line[len(name) : len(line)-2]))
		}
	}
	_, err = in.Discard(length)
	return status, err
}

func gather(clients []*client, took time.Duration) (*outcome, error) {
	o := &outcome{seconds: took.Seconds()}
	var ok, busy []time.Duration
	for _, c := range clients {
		if c.err != nil && !errors.Is(c.err, io.EOF) { // a daemon may close a connection that it rejects
			return nil, c.err
		}
		ok, busy, o.other = append(ok, c.ok...), append(busy, c.busy...), o.other+c.other
		if o.firstFail == "" {
			o.firstFail = c.first
		}
	}
	slices.Sort(ok)
	slices.Sort(busy)
	o.ok, o.busy = len(ok), len(busy)
	o.p50, o.p99, o.p999, o.p99Busy = at(ok, 0.5), at(ok, 0.99), at(ok, 0.999), at(busy, 0.99)
	return o, nil
}

// at returns the quantile q of sorted durations, or 0 if there are none.
func at(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// findWrk looks for wrk, the cheapest load generator, and installs it if that is
// allowed (see want).
func (b *bench) findWrk() {
	b.want("wrk", "wrk")
	path, err := exec.LookPath("wrk")
	if err != nil {
		b.skip("wrk", "absent; the bench's own generator, which uses more CPU, replaces it on both sides")
		return
	}
	b.wrk = path
}

// wrkReport makes wrk print the numbers for an outcome on one line.
const wrkReport = `
done = function(s, latency)
  io.write(string.format("\nOUTCOME %d %d %d %d %d %d %d\n", s.duration, s.requests, s.errors.status,
    s.errors.connect + s.errors.read + s.errors.write + s.errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9)))
end
`

// press drives a load with wrk in one thread. wrk shares the cores with the measured
// process, and takes less CPU time from it than other generators. Without wrk, press
// calls drive.
func (b *bench) press(l load, connections int, d time.Duration) (*outcome, error) {
	if b.wrk == "" {
		return l.drive(b.ctx, connections, d)
	}
	script, err := b.wrkScript(l)
	if err != nil {
		return nil, err
	}
	seconds := max(1, int(d.Seconds()+0.5)) // wrk accepts only whole seconds
	cmd := exec.CommandContext(b.ctx, b.wrk, "-t1", "-c", strconv.Itoa(connections), "-d", strconv.Itoa(seconds)+"s",
		"--timeout", "60s", "-s", script, l.url)
	out, err := b.output(cmd)
	if err != nil {
		return nil, err
	}
	_, line, ok := strings.Cut(out, "OUTCOME ")
	var micros, all, failed, broken, p50, p99, p999 int
	if n, _ := fmt.Sscan(line, &micros, &all, &failed, &broken, &p50, &p99, &p999); !ok || n != 7 {
		return nil, fmt.Errorf("wrk reported: %s", lastLine(out))
	}
	o := &outcome{seconds: float64(micros) / 1e6, ok: all - failed, other: failed + broken, firstFail: "see processes.log",
		p50: micro(p50), p99: micro(p99), p999: micro(p999)}
	return o, nil
}

func micro(n int) time.Duration { return time.Duration(n) * time.Microsecond }

// wrkScript writes a script for wrk that formats all requests once.
func (b *bench) wrkScript(l load) (string, error) {
	var s strings.Builder
	s.WriteString("local r = {}\ninit = function()\n  local h = {}\n  h[\"Content-Type\"] = \"application/json\"\n")
	for _, r := range l.requests {
		if r.body == "" {
			fmt.Fprintf(&s, "  r[#r+1] = wrk.format(\"GET\", %q)\n", r.path)
		} else {
			fmt.Fprintf(&s, "  r[#r+1] = wrk.format(\"POST\", %q, h, %q)\n", r.path, r.body)
		}
	}
	s.WriteString("end\nlocal i = 0\nrequest = function()\n  i = i % #r + 1\n  return r[i]\nend\n")
	s.WriteString(wrkReport)
	path := filepath.Join(b.dir, "load.lua")
	return path, os.WriteFile(path, []byte(s.String()), 0o644)
}

// pinToThread runs f in a goroutine that is locked to its thread, so that all wake-ups
// of f are comparable.
func pinToThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// Without this, the thread would end with its goroutine, and the kernel would
		// kill the processes that this thread has started (Pdeathsig).
		defer runtime.UnlockOSThread()
		f()
	}()
	<-done
}
