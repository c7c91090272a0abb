package httpserver

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT from linux/tcp.h.
const tcpUserTimeout = 18

// GiveUpAfter makes the kernel end the connection if the client does not accept
// sent bytes for d, because it has gone or its buffer is full. A write timeout does
// not notice that, because small writes fit in the buffers on the way.
func (t *Tracked) GiveUpAfter(d time.Duration) {
	c, ok := t.writeCloser.(syscall.Conn)
	if !ok || !t.client.IsValid() { // a Unix socket has no such buffer
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
