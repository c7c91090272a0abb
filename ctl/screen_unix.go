//go:build linux || darwin || freebsd

package ctl

import (
	"syscall"
	"unsafe"
)

// windowSize returns the size of the terminal behind a file descriptor, from the
// kernel (ioctl_tty(2) or tty(4), TIOCGWINSZ).
func windowSize(fd uintptr) (columns, rows int, terminal bool) {
	var size struct{ Rows, Columns, XPixels, YPixels uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.Columns), int(size.Rows), errno == 0
}
