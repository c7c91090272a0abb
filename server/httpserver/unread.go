package httpserver

import (
	"errors"
	"os"
)

// A client that does not read leaves up to 4 MiB of its response in the kernel's
// send buffer. If such a connection is closed, the kernel keeps these bytes, and
// offers them to the client at growing intervals for minutes. The client may not
// learn of the end in that time, because its own window is closed too. So a
// connection on which a write ended at its deadline is reset instead: the kernel
// drops the bytes at once.

// send sends p to the client, and remembers whether the client did not read it in
// time.
func (t *Tracked) send(p []byte) (int, error) {
	n, err := t.writeCloser.Write(p)
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.unread.Store(true)
	}
	return n, err
}

// dropUnread makes Close reset the connection.
func (t *Tracked) dropUnread() {
	if c, ok := t.writeCloser.(interface{ SetLinger(sec int) error }); ok { // a Unix socket has no such buffer
		c.SetLinger(0)
	}
}
