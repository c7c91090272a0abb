package server

import (
	"net"
	"sync/atomic"
	"time"
)

// While a handler runs, net/http reads one byte in the background to notice
// that the client has gone: a goroutine, a system call and two deadlines a
// request. What the write daemon has begun it carries out, whether the client
// is there or not. So its connections are deaf: that read ends at once with
// nothing, and whoever goes is noticed by the next one.
//
// The read is known by its length, and by the deadline of never that net/http
// sets before it. All others have a deadline, if the timeouts give them one.
type deafListener struct{ net.Listener }

// deafen makes the connections of the door deaf, unless net/http must see what
// they are, or reads have no deadline.
func deafen(d *door, t Timeouts) {
	switch d.Listener.(type) {
	case *net.TCPListener, *net.UnixListener:
		if t.Header > 0 && t.Read > 0 && t.Idle > 0 {
			d.Listener = deafListener{d.Listener}
		}
	}
}

func (l deafListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if c, ok := c.(writeCloser); ok {
		return &deafConn{writeCloser: c}, err
	}
	return c, err
}

// A writeCloser is a connection that can end its answers, and read on: net/http
// does so when it turns a body away.
type writeCloser interface {
	net.Conn
	CloseWrite() error
}

type deafConn struct {
	writeCloser
	never atomic.Bool // the deadline of reads
}

func (c *deafConn) SetReadDeadline(t time.Time) error {
	c.never.Store(t.IsZero())
	return c.writeCloser.SetReadDeadline(t)
}

func (c *deafConn) SetDeadline(t time.Time) error {
	c.never.Store(t.IsZero())
	return c.writeCloser.SetDeadline(t)
}

func (c *deafConn) Read(p []byte) (int, error) {
	if len(p) == 1 && c.never.Load() {
		return 0, nil
	}
	return c.writeCloser.Read(p)
}
