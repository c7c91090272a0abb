package httpserver

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A fakeDoor is a listener that accepts the connections that a test gives it.
type fakeDoor struct {
	conns chan net.Conn
	errs  chan error
}

func (d *fakeDoor) Accept() (net.Conn, error) {
	select {
	case c, ok := <-d.conns:
		if !ok {
			return nil, net.ErrClosed
		}
		return c, nil
	case err := <-d.errs:
		return nil, err
	}
}
func (d *fakeDoor) Close() error   { return nil }
func (d *fakeDoor) Addr() net.Addr { return &net.TCPAddr{} }

// A fakeConn is a connection from an address.
type fakeConn struct {
	net.Conn
	from   string
	closed bool
}

func (c *fakeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.from), Port: 1} }
func (c *fakeConn) Close() error         { c.closed = true; return nil }
func (c *fakeConn) CloseWrite() error    { return nil }

// boundOf returns a listener of at most max connections, the fakeDoor that it accepts
// them from, and a function that makes a client connect.
func boundOf(t *testing.T, max int) (s *connections, door *fakeDoor, in func(from string) (*Tracked, *fakeConn)) {
	door = &fakeDoor{make(chan net.Conn, 1), make(chan error, 1)}
	s = newConnections(door, max, slog.New(slog.DiscardHandler))
	return s, door, func(from string) (*Tracked, *fakeConn) {
		t.Helper()
		raw := &fakeConn{from: from}
		door.conns <- raw
		c, err := s.Accept()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond) // each becomes idle at a different time
		return c.(*Tracked), raw
	}
}

// TestFullOfIdleConnections checks that the longest idle connections of the client
// with the most idle ones are closed, and that those with a request in progress stay.
func TestFullOfIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, in := boundOf(t, 6)
		var raws []*fakeConn
		add := func(from string, state http.ConnState) {
			c, raw := in(from)
			notice(c, state)
			raws = append(raws, raw)
		}
		add("192.0.2.1", http.StateIdle) // the only one of this client
		add("192.0.2.2", http.StateActive)
		add("2001:db8::1", http.StateNew) // this network has the most
		add("2001:db8::2", http.StateActive)
		add("2001:db8::3", http.StateIdle)
		add("192.0.2.2", http.StateActive)
		closed := func() (list []int) {
			for i, raw := range raws {
				if raw.closed {
					list = append(list, i)
				}
			}
			return list
		}
		add("192.0.2.3", http.StateActive)
		if got := closed(); !cmp.Equal(got, []int{2}) {
			t.Errorf("the connections %v were closed, want 2", got)
		}
		add("192.0.2.4", http.StateActive)
		add("192.0.2.5", http.StateActive)
		if got := closed(); !cmp.Equal(got, []int{0, 2, 4}) {
			t.Errorf("the connections %v were closed, want 0, 2 and 4", got)
		}
		if s.count() != 6 || s.dropped.Load() != 3 {
			t.Errorf("%d connections are open, and %d were dropped; want 6 and 3", s.count(), s.dropped.Load())
		}
	})
}

// TestFullOfBusyConnections checks that a new connection waits until another
// becomes idle or is closed, or the listener is closed.
func TestFullOfBusyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, door, in := boundOf(t, 1)
		busy, raw := in("192.0.2.1")
		notice(busy, http.StateActive)
		next := make(chan *Tracked)
		accept := func() {
			door.conns <- &fakeConn{from: "192.0.2.2"}
			go func() {
				c, err := s.Accept()
				if err != nil && !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				got, _ := c.(*Tracked)
				next <- got
			}()
			synctest.Wait()
			select {
			case <-next:
				t.Fatal("a connection was accepted beyond the maximum")
			default:
			}
		}
		accept()
		notice(busy, http.StateIdle)
		second := <-next
		if !raw.closed {
			t.Error("the idle connection was not closed")
		}
		notice(second, http.StateActive)
		accept()
		second.Close()
		third := <-next
		notice(third, http.StateActive)
		accept()
		s.Close()
		if got := <-next; got != nil {
			t.Error("a closed listener returned a connection")
		}
	})
}

// TestAcceptErrorsPass checks that only closing the listener ends serving, and that
// a shortage of file descriptors closes idle connections.
func TestAcceptErrorsPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, door, in := boundOf(t, 100)
		_, raw := in("192.0.2.1")
		for _, cause := range []error{syscall.EPROTO, syscall.ENOBUFS, syscall.EPERM, syscall.EMFILE, syscall.ENFILE} {
			door.errs <- &net.OpError{Op: "accept", Err: cause}
			_, err := s.Accept()
			passes, ok := err.(passingError)
			if !ok || !passes.Temporary() || !errors.Is(passes.error, cause) {
				t.Errorf("Accept returned %v, want a temporary error for %v", err, cause)
			}
			if short := cause == syscall.EMFILE || cause == syscall.ENFILE; raw.closed != short {
				t.Errorf("%v: the idle connection was closed: %v, want %v", cause, raw.closed, short)
			}
		}
		close(door.conns)
		if _, err := s.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after closing: %v, want %v", err, net.ErrClosed)
		}
	})
}

func TestConnectionsFor(t *testing.T) {
	for files, want := range map[uint64]int{0: 1, 64: 32, 128: 64, 256: 156, 65_536: 65_436, 1 << 63: 1 << 30} {
		if got := connectionsFor(files); got != want {
			t.Errorf("%d files: %d connections, want %d", files, got, want)
		}
	}
}
