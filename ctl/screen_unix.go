//go:build linux || darwin || freebsd

package ctl

import (
	"syscall"
	"unsafe"
)

// windowWidth returns the width of the terminal behind a file descriptor, from the
// kernel (ioctl_tty(2) or tty(4), TIOCGWINSZ).
func windowWidth(fd uintptr) (columns int, terminal bool) {
	var size struct{ Rows, Columns, XPixels, YPixels uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.Columns), errno == 0
}
