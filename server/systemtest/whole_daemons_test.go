package systemtest

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"assetledger/server"
	"assetledger/server/httpserver"
	"assetledger/server/reader"
	"assetledger/server/writer"
)

// testSegment is the size of log segments in tests, in bytes. It is small, so
// that a new log is created quickly.
const testSegment = 4 << 20

// A daemon runs in this process, on a port of its own.
type daemon struct {
	url  string
	stop func() // returns when it has stopped; a second call does nothing
}

// readyLine receives the line that a daemon prints when it is ready.
type readyLine chan string

func (r readyLine) Write(p []byte) (int, error) {
	_, url, _ := strings.Cut(strings.TrimSpace(string(p)), " ready on ")
	r <- url
	return len(p), nil
}

// startDaemon runs a daemon and waits until it is ready.
func startDaemon(t *testing.T, name string, run func(ctx context.Context, ready readyLine, log *slog.Logger) error) *daemon {
	t.Helper()
	var words bytes.Buffer // read only after the daemon has stopped
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(readyLine, 1), make(chan error, 1)
	go func() { ended <- run(ctx, ready, slog.New(slog.NewTextHandler(&words, nil))) }()
	d := &daemon{}
	select {
	case d.url = <-ready:
	case err := <-ended:
		cancel()
		t.Fatalf("%s did not start: %v\n%s", name, err, words.String())
	case <-time.After(time.Minute):
		cancel()
		t.Fatalf("%s was not ready within a minute", name)
	}
	stopped := false
	d.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		http.DefaultClient.CloseIdleConnections()
		if err := <-ended; err != nil {
			t.Errorf("%s stopped with an error: %v\n%s", name, err, words.String())
		}
		// A process that another test is starting holds the daemon's lock until it executes
		// its program. The next daemon must find the lock free.
		syscall.ForkLock.RLock()
		syscall.ForkLock.RUnlock()
	}
	t.Cleanup(d.stop)
	return d
}

func startWriter(t *testing.T, dir string, change ...func(*writer.Config)) *daemon {
	t.Helper()
	return startDaemon(t, "the write daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
		c := writer.DefaultConfig()
		c.Dir, c.Listen, c.SegmentSize, c.Ready, c.Log = dir, "127.0.0.1:0", testSegment, ready, log
		for _, f := range change {
			f(&c)
		}
		return server.RunWrite(ctx, c)
	})
}

func startReader(t *testing.T, dir string, change ...func(*reader.Config)) *daemon {
	t.Helper()
	return startDaemon(t, "the read daemon", func(ctx context.Context, ready readyLine, log *slog.Logger) error {
		c := reader.Config{
			Dir: dir, Listen: "127.0.0.1:0", Name: "read", IdempotencyKeys: writer.DefaultConfig().IdempotencyKeys, Poll: 100 * time.Millisecond, Timeouts: httpserver.DefaultTimeouts, Ready: ready, Log: log,
		}
		for _, f := range change {
			f(&c)
		}
		return server.RunRead(ctx, c)
	})
}
