package ctl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	stop              func() // returns when both have stopped
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
	d.readURL = urlOf(t, readReady) // the log exists already, so this daemon sees every commit at once
	running := true
	d.stop = func() {
		if !running {
			return
		}
		running = false
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("a daemon ended with %v", err)
			}
		}
	}
	t.Cleanup(d.stop)
	return d
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
