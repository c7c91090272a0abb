package server

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A connection spares a client's connection what net/http asks of it for every
// request and what is needed for few: six new read deadlines, two write
// deadlines, and a read in the background, in a goroutine and by a system call
// of its own, only to notice early that the client has gone. Together they
// were a quarter of the processor time of a commit.
//
// A deadline is remembered; the operating system's timer is left where it is
// unless it would be late. When it fires early, the wait goes on to the
// deadline that is wanted by then:
//
//	wanted ──┐ never later than wanted
//	armed ───┘ moved when it fires, or when wanted is before it
//
// The read in the background waits here, without a system call, until net/http
// takes it back. It is begun in earnest only for requests that ask to be told
// when their client goes (exchange.clientContext).
type connection struct {
	net.Conn
	write deadline

	mu      sync.Mutex
	read    deadline
	waiting sync.Cond // the background read waits for a change
	reading bool      // in the operating system
	watched bool      // somebody wants to know when the client goes
	closed  bool
}

// A deadline is when to give up, and when the operating system's timer fires;
// the zero time is never.
type deadline struct{ wanted, armed time.Time }

// late says whether the timer must be moved for the deadline t to be met.
func (d *deadline) late(t time.Time) bool {
	d.wanted = t
	if t.IsZero() || !d.armed.IsZero() && !t.Before(d.armed) {
		return false
	}
	d.armed = t
	return true
}

// early says whether a timer that fired did so before the deadline that is
// wanted, and moves it there: then what was being done is to go on.
func (d *deadline) early(err error, set func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !d.wanted.IsZero() && !time.Now().Before(d.wanted) {
		return false
	}
	d.armed = d.wanted
	return set(d.armed) == nil
}

// longPast is after the moment that net/http sets as a deadline to take a read
// back, and before any that it would set in earnest.
var longPast = time.Unix(1<<20, 0)

func (d *deadline) takenBack() bool { return !d.wanted.IsZero() && d.wanted.Before(longPast) }

func newConnection(c net.Conn) *connection {
	n := &connection{Conn: c}
	n.waiting.L = &n.mu
	return n
}

// SetReadDeadline remembers the deadline.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.read; c.read.late(t) {
		if c.read.takenBack() && !c.reading {
			c.read.armed = before.armed // Read looks at wanted before it begins
			c.waiting.Signal()
			return nil
		}
		return c.Conn.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline remembers the deadline. One goroutine at a time writes.
func (c *connection) SetWriteDeadline(t time.Time) error {
	if c.write.late(t) {
		return c.Conn.SetWriteDeadline(t)
	}
	return nil
}

// SetDeadline sets both.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// Read reads, until the deadline that is wanted.
func (c *connection) Read(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Only a read in the background is of one byte and has no deadline.
	for len(p) == 1 && c.read.wanted.IsZero() && !c.watched && !c.closed {
		c.waiting.Wait()
	}
	for {
		if c.read.takenBack() {
			return 0, os.ErrDeadlineExceeded
		}
		c.reading = true
		c.mu.Unlock()
		n, err = c.Conn.Read(p)
		c.mu.Lock()
		c.reading = false
		if err == nil || n > 0 || !c.read.early(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write writes, until the deadline that is wanted.
func (c *connection) Write(p []byte) (n int, err error) {
	for {
		m, err := c.Conn.Write(p[n:])
		if n += m; err == nil || !c.write.early(err, c.Conn.SetWriteDeadline) {
			return n, err
		}
	}
}

// CloseWrite lets the client read the answer to its end when it is sent no more.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close closes, and ends the waiting of a background read.
func (c *connection) Close() error {
	c.mu.Lock()
	c.closed = true
	c.waiting.Signal()
	c.mu.Unlock()
	return c.Conn.Close()
}

// watch begins the background read in earnest, now and from now on.
func (c *connection) watch() {
	c.mu.Lock()
	c.watched = true
	c.waiting.Signal()
	c.mu.Unlock()
}

// A listener accepts connections.
type listener struct{ net.Listener }

// Accept waits for the next client.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConnection(c), nil
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// clientContext is done when the client has gone. Without having asked for it,
// the request's own context is not.
func (x *exchange) clientContext() context.Context {
	ctx := x.R.Context()
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		c.watch()
	}
	return ctx
}
