package ctl

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// A pty is a pseudo-terminal of a given size (pty(7)), from which a test reads the output.
type pty struct{ master, slave *os.File }

func openPty(t *testing.T, columns, rows int) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	number := uint32(0)
	unlock := int32(0)
	ioctl(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	ioctl(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{uint16(rows), uint16(columns)}
	ioctl(t, master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		master.Close()
		t.Skipf("needs pseudo-terminals: %v", err)
	}
	return &pty{master, slave}
}

func ioctl(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = conn.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(arg)); errno != 0 {
			t.Fatalf("ioctl %#x: %v", request, errno)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// run runs cmd with its standard output on the terminal, and returns what the
// terminal showed, with \n as line endings.
func (p *pty) run(cmd *exec.Cmd) (string, error) {
	cmd.Stdout = p.slave
	shown := make(chan string, 1)
	go func() {
		var b bytes.Buffer
		io.Copy(&b, p.master) // returns when the other side is closed
		shown <- strings.ReplaceAll(b.String(), "\r\n", "\n")
	}()
	err := cmd.Run()
	p.slave.Close()
	text := <-shown
	p.master.Close()
	return text, err
}
