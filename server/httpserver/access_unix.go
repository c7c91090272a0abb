package httpserver

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A unixDoor is a Unix socket that removes its file when it is closed.
type unixDoor struct {
	*net.UnixListener
	path string
	made fs.FileInfo
	once sync.Once
}

// listenUnix listens on a Unix socket with the given mode; 0 means 0600. It
// replaces the socket of a daemon that was killed, but neither a socket on which a
// process listens nor a file that is not a socket.
//
// It creates the socket in a directory that only the owner may enter, sets the
// socket's mode, and then moves the socket into place. So the socket is never
// reachable with a wider mode.
func listenUnix(path string, mode fs.FileMode) (net.Listener, error) {
	if mode == 0 {
		mode = 0o600
	}
	if err := checkVacant(path); err != nil {
		return nil, err
	}
	private, err := os.MkdirTemp(filepath.Dir(path), ".l")
	if err != nil {
		return nil, fmt.Errorf("creating a socket: %w", err)
	}
	defer os.RemoveAll(private)
	born := filepath.Join(private, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: born, Net: "unix"})
	if errors.Is(err, syscall.EINVAL) {
		return nil, fmt.Errorf("the path %s is too long for a unix socket, whose creation needs 10 more bytes: use a shorter path", path)
	}
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	d := &unixDoor{UnixListener: ln, path: path}
	if err = os.Chmod(born, mode); err == nil {
		if d.made, err = os.Lstat(born); err == nil {
			err = os.Rename(born, path)
		}
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("creating the socket %s: %w", path, err)
	}
	return d, nil
}

// checkVacant returns an error if path exists and must not be replaced.
func checkVacant(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket", path)
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	switch {
	case err == nil:
		conn.Close()
		return fmt.Errorf("another program listens on %s", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil // left behind by a process that ended
	}
	return fmt.Errorf("another program may listen on %s: %w", path, err)
}

// Close stops listening. It removes the file if it still belongs to this socket.
func (d *unixDoor) Close() error {
	err := d.UnixListener.Close()
	d.once.Do(func() {
		if now, e := os.Lstat(d.path); e == nil && os.SameFile(now, d.made) {
			err = errors.Join(err, os.Remove(d.path))
		}
	})
	return err
}
