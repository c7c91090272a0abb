package ctl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// realDaemons are a write daemon and a read daemon in this process.
type realDaemons struct {
	writeURL, readURL string
	running           bool
	stop              func() // returns when both have stopped
}

// catchUp waits until the read daemon has applied all commits, if the daemons are running.
func (d *realDaemons) catchUp(t *testing.T) {
	t.Helper()
	if d == nil || !d.running {
		return
	}
	var health struct {
		CommitLog struct {
			EndSeq int64 `json:"end_seq"`
		} `json:"commit_log"`
	}
	resp, err := http.Get(d.writeURL + "/v1/health")
	if err == nil {
		err = errors.Join(json.NewDecoder(resp.Body).Decode(&health), resp.Body.Close())
	}
	if err == nil && health.CommitLog.EndSeq > 0 {
		resp, err = http.Get(fmt.Sprintf("%s/v1/read/freshness?min_seq=%d&wait=30s", d.readURL, health.CommitLog.EndSeq))
		if err == nil {
			err = resp.Body.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func startDaemons(t *testing.T, dir string) *realDaemons {
	t.Helper()
	return startDaemonsWith(t, dir, func(*writer.Config) {})
}

// startDaemonsWith starts the daemons. configure can change the settings of the write
// daemon, and the read daemon gets the same auth file.
func startDaemonsWith(t *testing.T, dir string, configure func(*writer.Config)) *realDaemons {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	quiet := slog.New(slog.DiscardHandler)
	ended := make(chan error, 2)
	write := writer.DefaultConfig()
	write.Dir, write.Listen, write.SegmentSize, write.Log = dir, "127.0.0.1:0", 1<<20, quiet
	read := reader.Config{Dir: dir, Listen: "127.0.0.1:0", Name: "read", IdempotencyKeys: 1000, Poll: time.Millisecond, Timeouts: httpserver.DefaultTimeouts, Log: quiet}
	writeReady, w := io.Pipe()
	readReady, r := io.Pipe()
	write.Ready, read.Ready = w, r
	configure(&write)
	read.Access.AuthFile = write.Access.AuthFile
	go func() {
		err := server.RunWrite(ctx, write)
		w.CloseWithError(fmt.Errorf("the write daemon ended: %v", err))
		ended <- err
	}()
	d := &realDaemons{writeURL: urlOf(t, writeReady)}
	go func() {
		err := server.RunRead(ctx, read)
		r.CloseWithError(fmt.Errorf("the read daemon ended: %v", err))
		ended <- err
	}()
	d.readURL = urlOf(t, readReady)
	d.running = true
	d.stop = func() {
		if !d.running {
			return
		}
		d.running = false
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("a daemon ended with %v", err)
			}
		}
		awaitForks()
		keepPort(t, d.writeURL)
		keepPort(t, d.readURL)
	}
	t.Cleanup(d.stop)
	return d
}

// awaitForks returns when no process that another test is starting holds a file that
// this process has closed, such as the lock of a log. A starting process holds such files
// until it executes its program.
func awaitForks() {
	syscall.ForkLock.RLock()
	syscall.ForkLock.RUnlock()
}

// keepPort keeps others from listening at the address of a daemon that has stopped,
// so that connections to it are refused until the test ends.
func keepPort(t *testing.T, url string) {
	t.Helper()
	at, err := netip.ParseAddrPort(strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(socket) })
	syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1) // the kernel may still remember earlier connections
	if err := syscall.Bind(socket, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		t.Log(err) // another process has taken the port
	}
}

// urlOf reads the ready line of a daemon, and returns the URL in it.
func urlOf(t *testing.T, ready io.Reader) string {
	t.Helper()
	line, err := bufio.NewReader(ready).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return line[strings.Index(line, "http://") : len(line)-1]
}

// flip flips one bit of a file: "FILE OFFSET".
func (s *script) flip(spec string) {
	var name string
	var offset int64
	if _, err := fmt.Sscan(spec, &name, &offset); err != nil {
		s.t.Fatalf("flip %s: %v", spec, err)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], offset); err != nil {
		s.t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], offset); err != nil {
		s.t.Fatal(err)
	}
}
