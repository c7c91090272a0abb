package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A streamLoad is a number of streams of commits that are kept full: each has a
// constant number of lines in flight, the window, and each result allows one more line.
type streamLoad struct {
	url     string
	lines   []byte // one transfer per line
	ends    []int  // for each line, the offset of its end in lines
	streams int
	window  int // lines in flight in each stream
}

// streamed returns a load of transfers between containers 1..n.
func streamed(url string, n, streams, window int) streamLoad {
	l := streamLoad{url: url, streams: streams, window: window}
	r := rand.New(rand.NewPCG(6, uint64(n)))
	for range 4 * variety {
		l.lines = append(appendTransfer(l.lines, r, n), '\n')
		l.ends = append(l.ends, len(l.lines))
	}
	return l
}

// run returns the text of n lines, or of fewer at the end of the load, and the number of
// lines in the text. The argument at is the index of the first line, modulo the number of
// lines in the load.
func (l *streamLoad) run(at, n int) (text []byte, lines int) {
	at %= len(l.ends)
	n = min(n, len(l.ends)-at)
	from := 0
	if at > 0 {
		from = l.ends[at-1]
	}
	return l.lines[from:l.ends[at+n-1]], n
}

// drive keeps the streams full for a given time, and then waits for the remaining
// results.
func (l *streamLoad) drive(ctx context.Context, d time.Duration) (*outcome, error) {
	clients := make([]*client, l.streams)
	var err error
	for i := range clients {
		if clients[i], err = l.open(); err != nil {
			return nil, err
		}
		defer clients[i].conn.Close()
	}
	start := time.Now()
	end := start.Add(d)
	var wait sync.WaitGroup
	for i, c := range clients {
		s := &sender{ctx: ctx, load: l, c: c, credit: make(chan struct{}, 1), end: end, at: i * 7919}
		wait.Go(func() { c.err = s.run() })
	}
	wait.Wait()
	took := time.Since(start)
	total := 0
	for _, c := range clients {
		total += c.results
	}
	o, err := gather(clients, took)
	if err == nil {
		o.ok = total
	}
	return o, err
}

// open connects and opens a stream.
func (l *streamLoad) open() (*client, error) {
	host := strings.TrimPrefix(l.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}
	conn.SetDeadline(time.Now().Add(answerWait))
	_, err = fmt.Fprintf(conn, "POST /v1/commit/stream HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n", host)
	if err == nil {
		var resp *http.Response
		if resp, err = http.ReadResponse(c.in, nil); err == nil && resp.StatusCode != http.StatusOK {
			err = errors.New("the stream was rejected: " + resp.Status)
		}
	}
	if err != nil {
		conn.Close()
	}
	return c, err
}

// A sender keeps one stream full.
type sender struct {
	ctx     context.Context
	load    *streamLoad
	c       *client
	at      int
	end     time.Time
	over    bool          // the body has ended
	allowed atomic.Int64  // lines that may be sent
	credit  chan struct{} // holds a token if allowed has grown

	mu   sync.Mutex
	sent []sentRun // not yet answered, oldest first
}

// A sentRun is a run of lines that were written together.
type sentRun struct {
	lines int
	at    time.Time
}

// alone is the maximum window for which one goroutine sends and receives, as in
// redis-benchmark and in the clients of other rows. With few lines in flight, their
// results arrive together, so there is nothing to do concurrently. The daemon reads
// that many lines without waiting for the client to read their results.
const alone = 64

// run sends lines as fast as results permit, and returns when the response has
// ended.
func (s *sender) run() error {
	if s.load.window <= alone {
		return errors.Join(s.send(s.load.window), s.receive(s.send))
	}
	s.allowed.Store(int64(s.load.window))
	done := make(chan error, 1)
	go func() { done <- s.sendAllowed() }()
	err := s.receive(s.allow)
	if err != nil {
		s.c.conn.Close() // which also ends the sending goroutine
	}
	return errors.Join(err, <-done)
}

// allow lets sendAllowed send n more lines.
func (s *sender) allow(n int) error {
	s.allowed.Add(int64(n))
	select {
	case s.credit <- struct{}{}:
	default:
	}
	return nil
}

// sendAllowed sends the allowed lines, until the body has ended.
func (s *sender) sendAllowed() error {
	for !s.over {
		n := int(s.allowed.Swap(0))
		if n == 0 {
			select {
			case <-s.credit:
			case <-time.After(answerWait):
				return errors.New("no result arrived")
			}
			continue
		}
		if err := s.send(n); err != nil {
			return err
		}
	}
	return nil
}

// send writes n lines, or the end of the body if the time is up.
func (s *sender) send(n int) error {
	now := time.Now()
	if s.over {
		return nil
	}
	if s.over = !now.Before(s.end) || s.ctx.Err() != nil; s.over {
		_, err := io.WriteString(s.c.conn, "0\r\n\r\n")
		return err
	}
	for n > 0 {
		text, lines := s.load.run(s.at, n)
		s.at += lines
		n -= lines
		s.mu.Lock()
		s.sent = append(s.sent, sentRun{lines, now})
		s.mu.Unlock()
		pieces := net.Buffers{fmt.Appendf(nil, "%x\r\n", len(text)), text, []byte("\r\n")}
		if _, err := pieces.WriteTo(s.c.conn); err != nil {
			return err
		}
	}
	return nil
}

// receive counts results until the response ends. After each group of results, it calls
// more with the number of lines that may now be sent. It times only some results: see
// sampled.
func (s *sender) receive(more func(n int) error) error {
	body := httputil.NewChunkedReader(s.c.in)
	buf := make([]byte, 64<<10)
	failed := []byte(`"error"`)
	for {
		n, err := body.Read(buf)
		if bytes.Contains(buf[:n], failed) && s.c.first == "" {
			s.c.other++
			s.c.first = string(bytes.TrimSpace(buf[:min(n, 200)]))
		}
		if results := bytes.Count(buf[:n], []byte{'\n'}); results > 0 {
			s.answered(results)
			if err := more(results); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sampled is the sampling interval: receive times one in this many results.
const sampled = 16

func (s *sender) answered(results int) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c.results>>16 != (s.c.results+results)>>16 {
		s.c.conn.SetDeadline(now.Add(answerWait))
	}
	for results > 0 && len(s.sent) > 0 {
		first := &s.sent[0]
		n := min(results, first.lines)
		for k := s.c.results/sampled + 1; k*sampled <= s.c.results+n; k++ {
			s.c.ok = append(s.c.ok, now.Sub(first.at))
		}
		s.c.results += n
		results -= n
		if first.lines -= n; first.lines == 0 {
			s.sent = s.sent[1:]
		}
	}
}
