package server

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// A fakeConn fails with a timeout as often as it is told, and notes deadlines.
type fakeConn struct {
	net.Conn
	deadlines []time.Time
	timeouts  int
}

func (f *fakeConn) SetReadDeadline(t time.Time) error {
	f.deadlines = append(f.deadlines, t)
	return nil
}

func (f *fakeConn) SetWriteDeadline(t time.Time) error { return f.SetReadDeadline(t) }

func (f *fakeConn) Read(p []byte) (int, error) { return f.Write(p) }

func (f *fakeConn) Write(p []byte) (int, error) {
	if f.timeouts > 0 {
		f.timeouts--
		return 0, os.ErrDeadlineExceeded
	}
	return len(p), nil
}

// TestDeadlinesAreLeftWhereTheyAre follows the deadlines of requests on one
// connection: what reaches the operating system is only what would be late.
func TestDeadlinesAreLeftWhereTheyAre(t *testing.T) {
	now := time.Now()
	f := &fakeConn{}
	c := &connection{Conn: f}
	for i := range 3 {
		later := now.Add(time.Duration(i) * time.Second)
		c.SetReadDeadline(later.Add(5 * time.Second)) // header
		c.SetReadDeadline(later.Add(30 * time.Second))
		c.SetReadDeadline(time.Time{})
		c.SetReadDeadline(time.Unix(1, 0)) // the background read is taken back
		c.SetReadDeadline(time.Time{})
		c.SetReadDeadline(later.Add(2 * time.Minute)) // idle
	}
	if len(f.deadlines) != 1 || !f.deadlines[0].Equal(now.Add(5*time.Second)) {
		t.Errorf("the operating system was given %v", f.deadlines)
	}
	f.timeouts = 1 // the first timer fires: early
	if n, err := c.Read(make([]byte, 9)); n != 9 || err != nil {
		t.Errorf("a timer that fired early ended a read: %d %v", n, err)
	}
	if len(f.deadlines) != 2 || !f.deadlines[1].Equal(now.Add(122*time.Second)) {
		t.Errorf("the timer was moved to %v", f.deadlines[1:])
	}
	c.SetReadDeadline(now.Add(-time.Second))
	f.timeouts = 1
	if _, err := c.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read after its deadline: %v", err)
	}
}

func TestWriteGoesOnAfterAnEarlyTimer(t *testing.T) {
	f := &fakeConn{}
	c := &connection{Conn: f}
	c.SetWriteDeadline(time.Now().Add(time.Second))
	c.SetWriteDeadline(time.Time{})
	f.timeouts = 1
	if n, err := c.Write([]byte("four")); n != 4 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	c.SetWriteDeadline(time.Now().Add(-time.Second))
	f.timeouts = 1
	if _, err := c.Write([]byte("four")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write after its deadline: %v", err)
	}
}

// TestBackgroundRead: it ends at once without an error, which would cancel the
// request, or as one that was taken back.
func TestBackgroundRead(t *testing.T) {
	c := &connection{Conn: &fakeConn{}}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	c.SetReadDeadline(time.Unix(1, 0))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("taken back: %v", err)
	}
	c.SetReadDeadline(time.Now().Add(time.Second))
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("one byte of a header: %d %v", n, err)
	}
}

// TestWatchKeepsWhatItReads of a client that does not wait for its answer.
func TestWatchKeepsWhatItReads(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	c := &connection{Conn: ours}
	stop := c.watch(func() { t.Error("the client is said to have gone") })
	theirs.Write([]byte("G"))
	stop()
	go theirs.Write([]byte("ET"))
	c.SetReadDeadline(time.Now().Add(time.Minute))
	if got, err := io.ReadAll(io.LimitReader(c, 3)); string(got) != "GET" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	stop = c.watch(func() { t.Error("the client is said to have gone") })
	stop() // before anything is sent
	gone := make(chan struct{})
	stop = c.watch(func() { close(gone) })
	theirs.Close()
	<-gone
	stop()
}

// TestClientContextEndsWithItsClient, and not before it is asked for.
func TestClientContextEndsWithItsClient(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, gone := make(chan struct{}), make(chan struct{})
	srv := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{W: w, R: r}
		if r.Method == "POST" {
			io.Copy(io.Discard, r.Body)
			return
		}
		defer x.release()
		ctx := x.clientContext()
		close(began)
		<-ctx.Done()
		close(gone)
	}), DefaultTimeouts, silent)
	go srv.Serve(listener{ln})
	defer srv.Close()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for range 3 { // requests before it are answered on the same connection
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	}
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	<-began
	conn.Close()
	<-gone
}

// TestTimeoutsHold with a server's real timers.
func TestTimeoutsHold(t *testing.T) {
	for name, begun := range map[string]string{
		"header": "GET / HTTP/1.1\r\nHost:", "body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nb", "idle": "",
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			const short = 50 * time.Millisecond
			srv := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }),
				Timeouts{Header: short, Read: short, Write: short, Idle: short}, silent)
			go srv.Serve(listener{ln})
			defer srv.Close()
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			io.WriteString(conn, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 3)+begun)
			if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, io.EOF) {
				t.Log(err) // it was closed on bytes that nobody read
			}
		})
	}
}
