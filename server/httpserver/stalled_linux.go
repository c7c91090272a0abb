package httpserver

import (
	"syscall"
	"time"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h.
const tcpUserTimeout = 18

// GiveUpAfter makes the kernel end the connection when the client does not
// accept sent bytes for d, because it is gone or its buffer is full. A write
// timeout does not notice this, because small writes fit in the buffers between.
func (t *Tracked) GiveUpAfter(d time.Duration) {
	c, ok := t.writeCloser.(syscall.Conn)
	if !ok || !t.client.IsValid() { // a unix socket has no such buffer
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
