package ctl

import (
	"os"
	"syscall"
	"unsafe"
)

// A screen describes what standard output can show. A file or pipe has no width, so that
// programs get every byte.
type screen struct {
	terminal bool
	width    int // in columns; 0: unlimited, or unknown
}

// screenOf asks the kernel for the width of the terminal behind a stream (ioctl_tty(2) or
// tty(4), TIOCGWINSZ).
func screenOf(stream any) screen {
	f, ok := stream.(*os.File)
	if !ok {
		return screen{}
	}
	var size struct{ Rows, Columns, XPixels, YPixels uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return screen{terminal: errno == 0, width: int(size.Columns)}
}

func isTerminal(stream any) bool { return screenOf(stream).terminal }
