package httpserver

import (
	"errors"
	"net"
	"syscall"
	"testing"
	"time"
)

// TestGiveUpAfter checks that the connection ends if a client does not accept sent
// bytes, even though it is there and the buffers on the way have room.
func TestGiveUpAfter(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	silentClient, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silentClient.Close()
	silentClient.(*net.TCPConn).SetReadBuffer(4096)
	raw, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	c := &Tracked{writeCloser: raw.(*net.TCPConn), client: clientOf(raw.RemoteAddr())}
	c.read.at.Store(never)
	c.GiveUpAfter(300 * time.Millisecond)
	raw.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := c.Write(make([]byte, 1_000_000)); err != nil && !errors.Is(err, syscall.ETIMEDOUT) {
		t.Fatal(err)
	}
	raw.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ETIMEDOUT) {
		t.Errorf("the connection continues: %v", err)
	}
}
