package httpserver

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestUnreadResponseIsDropped checks that a connection whose client did not read in
// time is reset: the client does not get what the kernel held for it.
func TestUnreadResponseIsDropped(t *testing.T) {
	for name, together := range map[string]bool{"written": false, "gathered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, client := overTCP(t)
			c.SetWriteDeadline(time.Now().Add(time.Millisecond))
			c.gathered.on.Store(together)
			var err error
			for err == nil {
				_, err = c.Write(make([]byte, gatherBytes))
			}
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
			c.Close()
			if n, err := io.Copy(io.Discard, client); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the client read %d bytes to their end (%v), as if they were the whole response", n, err)
			}
		})
	}
}

// TestReadResponseIsDelivered checks that a connection is not reset when a write
// deadline passes while no write waits.
func TestReadResponseIsDelivered(t *testing.T) {
	t.Parallel()
	c, client := overTCP(t)
	if _, err := c.Write(make([]byte, gatherBytes)); err != nil {
		t.Fatal(err)
	}
	c.SetWriteDeadline(LongAgo)
	c.Close()
	if n, err := io.Copy(io.Discard, client); n != gatherBytes || err != nil {
		t.Errorf("the client read %d bytes, %v", n, err)
	}
}

// overTCP returns a tracked connection over TCP, and its client's end.
func overTCP(t *testing.T) (ours *Tracked, client net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newConnections(ln, 10, nil)
	t.Cleanup(func() { s.Close() })
	if client, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	c, err := s.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return c.(*Tracked), client
}
