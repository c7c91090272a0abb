package httpserver

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h.
const tcpUserTimeout = 18

// GiveUpAfter lets the kernel end the connection when bytes that were sent are
// not taken for d: because the client has gone, or because its buffer is full.
// A time limit on writing does not see this, since small writes fit in the
// buffers on the way.
func (t *Tracked) GiveUpAfter(d time.Duration) {
	c, ok := t.writeCloser.(syscall.Conn)
	if !ok || !t.client.IsValid() { // a unix socket has no buffer on the way
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(d.Milliseconds()))
	})
}
