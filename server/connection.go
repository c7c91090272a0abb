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
// deadlines, and a read in the background, by a goroutine and a system call of
// its own, only to notice early that the client has gone.
//
// A deadline is remembered; the operating system's timer is left where it is
// unless it would be late. When it fires early, the wait goes on to the
// deadline that is wanted by then:
//
//	wanted ──┐ never earlier than armed
//	armed ───┘ moved when it fires, or when wanted is before it
//
// The read in the background ends at once, with nothing. Requests that want to
// know when their client goes ask for it: exchange.clientContext.
type connection struct {
	net.Conn
	write deadline

	mu   sync.Mutex // guards what follows
	read deadline
	one  [1]byte // what the watch read: the next request begins with it
	held bool    // there is something in one
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

// SetReadDeadline remembers the deadline. One in the past takes back the read
// in the background, which is not in the operating system: Read sees it.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if longGone := !t.IsZero() && t.Before(longPast); longGone {
		c.read.wanted = t
		return nil
	}
	if c.read.late(t) {
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
	// Only a read in the background is of one byte and has no deadline. It is
	// content with nothing, and then net/http need not take it back.
	if len(p) == 1 && c.read.wanted.IsZero() {
		return 0, nil
	}
	if c.held {
		c.held = false
		return copy(p, c.one[:]), nil
	}
	if !c.read.wanted.IsZero() && c.read.wanted.Before(longPast) {
		return 0, os.ErrDeadlineExceeded
	}
	return c.wait(p)
}

// wait reads from the operating system, with mu held before and after.
func (c *connection) wait(p []byte) (n int, err error) {
	for {
		c.mu.Unlock()
		n, err = c.Conn.Read(p)
		c.mu.Lock()
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

// watch calls gone when the client has closed its side, until stop is called,
// which must be before the next request is read.
func (c *connection) watch(gone func()) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.mu.Lock()
		n, err := c.wait(c.one[:])
		c.held = n == 1 // the client sends its next request already: it is there
		c.mu.Unlock()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
		}
	}()
	return func() {
		c.mu.Lock()
		c.read.wanted = time.Unix(1, 0)
		c.Conn.SetReadDeadline(c.read.wanted)
		c.mu.Unlock()
		<-ended
		c.mu.Lock()
		c.read = deadline{}
		c.Conn.SetReadDeadline(time.Time{})
		c.mu.Unlock()
	}
}

// A listener accepts connections.
type listener struct{ net.Listener }

// Accept waits for the next client.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c}, nil
}

type connectionKey struct{}

// withConnection is an http.Server's ConnContext.
func withConnection(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// clientContext is done when the client has gone, or the request is answered.
// Without having asked for it, the request's own context is not.
func (x *exchange) clientContext() context.Context {
	if x.ctx != nil {
		return x.ctx
	}
	ctx, cancel := context.WithCancel(x.R.Context())
	x.ctx, x.leave = ctx, cancel
	if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
		stop := c.watch(cancel)
		x.leave = func() {
			stop()
			cancel()
		}
	}
	return ctx
}
