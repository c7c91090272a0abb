package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGiveUpAfter checks that the connection ends if a client does not accept sent
// bytes, even though the client is still connected and the buffers on the way have
// room.
func TestGiveUpAfter(t *testing.T) {
	t.Parallel()
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
		t.Errorf("the connection continues: %v, want %v", err, syscall.ETIMEDOUT)
	}
}

// TestUnreadBytesOfClosedConnection checks that, after a connection is closed, the
// kernel soon drops the bytes that the client has not read.
func TestUnreadBytesOfClosedConnection(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error)
	log := slog.New(slog.DiscardHandler)
	bound := newConnections(ln, 10, log)
	go func() {
		served <- Serve(ctx, &Door{Listener: bound, bound: bound}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.Write(make([]byte, 200_000)) // most get as far as the kernel, and few from there to the client
		}), Timeouts{Write: 500 * time.Millisecond, Shutdown: time.Second}, io.Discard, "test", log, nil, func() {})
	}()
	defer func() { stop(); <-served }()
	silentClient, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silentClient.Close()
	silentClient.(*net.TCPConn).SetReadBuffer(4096)
	io.WriteString(silentClient, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	side := fmt.Sprintf("0100007F:%04X 0100007F:%04X ", ln.Addr().(*net.TCPAddr).Port, silentClient.LocalAddr().(*net.TCPAddr).Port)
	end := time.Now().Add(time.Minute)
	for range time.Tick(100 * time.Millisecond) { // the kernel takes milliseconds to list the connections
		sockets, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Skip(err)
		}
		if !strings.Contains(string(sockets), side) {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the kernel still keeps the bytes")
		}
	}
}
