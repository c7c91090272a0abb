package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A pipeEnd is a connection in memory: what is written is taken at once.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) CloseWrite() error { return p.Conn.Close() }

func deafPipe(t *testing.T) (ours *deafConn, theirs net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return &deafConn{writeCloser: pipeEnd{a}}, b
}

// TestDeafRead: the read in the background ends at once with nothing, or, when
// it was taken back, as that; all others read.
func TestDeafRead(t *testing.T) {
	soon, never, past := time.Now().Add(time.Minute), time.Time{}, time.Unix(1, 0)
	for about, c := range map[string]struct {
		deadlines []time.Time
		size      int
		want      int
		err       error
	}{
		"in the background":    {[]time.Time{soon, never}, 1, 0, nil},
		"taken back":           {[]time.Time{soon, never, past}, 1, 0, os.ErrDeadlineExceeded},
		"a byte of a header":   {[]time.Time{never, soon}, 1, 1, nil},
		"a header without end": {[]time.Time{never}, 2, 2, nil},
	} {
		ours, theirs := deafPipe(t)
		go io.WriteString(theirs, "GET")
		for _, d := range c.deadlines {
			ours.SetReadDeadline(d)
		}
		if n, err := ours.Read(make([]byte, c.size)); n != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %d bytes, %v", about, n, err)
		}
	}
}

// oneConn is a listener with one connection to give.
type oneConn struct {
	net.Listener
	c chan net.Conn
}

func (l oneConn) Accept() (net.Conn, error) {
	c, ok := <-l.c
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// TestDeafConnectionsServe: requests with a header line around the size of
// net/http's buffer, where it reads single bytes, and such as follow each other
// without waiting, all arrive whole.
func TestDeafConnectionsServe(t *testing.T) {
	real, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := deafPipe(t)
	l := oneConn{real, make(chan net.Conn, 1)}
	l.c <- ours
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %s %v %v", len(r.Header.Get("X-Long")), body, err, r.Context().Err())
	})
	srv := newServer(h, DefaultTimeouts, silent)
	ended := make(chan error)
	go func() { ended <- srv.Serve(l) }()
	const buffer = 4096
	var sizes []int
	for n := buffer - 8; n < buffer+8; n++ {
		sizes = append(sizes, n)
	}
	go func() {
		for _, n := range sizes {
			head, line := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n", "X-Long: "
			line += strings.Repeat("x", n-len(line))
			for _, piece := range []string{head, line, "\r", "\n\r\n", "b", "ody"} { // a pipe gives each when it is asked
				io.WriteString(theirs, piece)
			}
		}
	}()
	answers := bufio.NewReader(theirs)
	theirs.SetDeadline(time.Now().Add(time.Minute))
	for _, n := range sizes {
		a, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatalf("after a header of %d bytes: %v", n, err)
		}
		got, err := io.ReadAll(a.Body)
		want := fmt.Sprintf("%d body <nil> <nil>", n-len("X-Long: "))
		if string(got) != want || err != nil {
			t.Errorf("a header of %d bytes: %q %v, not %q", n, got, err, want)
		}
	}
	close(l.c)
	<-ended
	srv.Close()
}
