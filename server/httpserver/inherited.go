package httpserver

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// firstInherited is the first file descriptor that a service manager passes
// (sd_listen_fds(3)).
const firstInherited = 3

// Inherited returns the socket that a service manager opened for this process
// (socket activation with LISTEN_PID and LISTEN_FDS), or nil if it opened none.
// With such a socket, clients can connect, and wait, before the daemon is ready and
// while it restarts. lookup is os.LookupEnv, or a test's replacement.
func Inherited(lookup func(string) (string, bool)) (net.Listener, error) {
	pid, _ := lookup("LISTEN_PID")
	count, ok := lookup("LISTEN_FDS")
	if !ok || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count != "1" {
		return nil, usagef("LISTEN_FDS is %q: a daemon serves one socket; give each its own .socket unit", count)
	}
	return listenerOf(firstInherited)
}

func listenerOf(fd uintptr) (net.Listener, error) {
	f := os.NewFile(fd, "inherited socket")
	defer f.Close() // FileListener duplicates it
	ln, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("taking over the socket that the service manager opened: %w", err)
	}
	switch ln := ln.(type) {
	case *net.TCPListener:
		return ln, nil
	case *net.UnixListener:
		ln.SetUnlinkOnClose(false) // the service manager owns the socket, and clients wait there for the next daemon
		return ln, nil
	}
	ln.Close()
	return nil, usagef("the socket that the service manager opened is a %s: configure a TCP or unix stream socket", ln.Addr().Network())
}
