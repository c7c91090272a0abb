package writer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/version"
	"assetledger/wal"
)

// A runningWriter is a write daemon as its program runs it, on a log on disk.
type runningWriter struct {
	*testWriter
	stop  context.CancelFunc
	ended chan error
}

// runWriter starts a daemon and waits until it is ready.
func runWriter(t testing.TB, dir string, change ...func(*Config)) *runningWriter {
	t.Helper()
	ready, announce := io.Pipe()
	c := DefaultConfig()
	c.Dir, c.Listen, c.Ready, c.Log, c.SegmentSize = dir, "127.0.0.1:0", announce, silent, 256<<10
	for _, f := range change {
		f(&c)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &runningWriter{testWriter: &testWriter{t: t}, stop: cancel, ended: make(chan error, 1)}
	go func() {
		err := Run(ctx, c, nil)
		announce.CloseWithError(fmt.Errorf("ended: %w", err))
		w.ended <- err
	}()
	t.Cleanup(cancel)
	if _, err := fmt.Fscanf(ready, "ledger-write "+version.Build()+" ready on %s\n", &w.url); err != nil {
		t.Fatal(err)
	}
	return w
}

// end stops the daemon, which must end without an error.
func (w *runningWriter) end() {
	w.t.Helper()
	w.stop()
	if err := <-w.ended; err != nil {
		w.t.Fatal(err)
	}
}

// After a restart, every acknowledged commit is there, the same idempotency
// keys have the same results, and the sequence continues.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by the daemon")
	w := runWriter(t, dir)
	w.post(200, "/v1/commit", world)
	keyed := transferTx(1, `,"idempotency_key":"k","metadata":{"note":"é","n":1.0}`)
	class := `{"class_id":9,"name":"Nine","idempotency_key":"class"}`
	mint := `{"operations":[{"op":"MintInstance","args":{"class_id":2}}],"idempotency_key":"mint"}`
	first := []answer{w.post(200, "/v1/commit", keyed), w.post(200, "/v1/register/class", class), w.post(200, "/v1/commit", mint)}
	for i := range 300 { // fills several segments
		w.post(200, "/v1/commit", transferTx(1, fmt.Sprintf(`,"metadata":{"i":%d,"text":"%s"}`, i, strings.Repeat("x", 3000))))
	}
	w.end()
	if n, _ := filepath.Glob(filepath.Join(dir, "wal", "*.seg")); len(n) < 3 {
		t.Errorf("the log has %d segments, want at least 3", len(n))
	}
	w = runWriter(t, dir)
	for i, again := range []answer{w.post(200, "/v1/commit", keyed), w.post(200, "/v1/register/class", class), w.post(200, "/v1/commit", mint)} {
		if again.body != first[i].body || again.header.Get(headerHit) != "hit" {
			t.Errorf("after the restart %+v\nwant %s", again, first[i].body)
		}
	}
	if a := w.post(409, "/v1/commit", transferTx(2, `,"idempotency_key":"k"`)); a.code() != "IdempotencyConflict" {
		t.Errorf("the same key with another request: %v, want IdempotencyConflict", a)
	}
	if a := w.post(200, "/v1/commit", transferTx(1, "")); a.header.Get(httpserver.HeaderSeq) != "305" {
		t.Errorf("the commit after the restart: %v, want commit 305", a)
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"status":"healthy","commit_log":{"end_seq":305,"checkpoint_seq":0,"lag":305,"driver":{"name":"file","path":%s},"readers":[]}}`,
		ledger.AppendString(nil, abs))
	if a := w.do("GET", "/v1/health", ""); a.status != 200 || a.body != want {
		t.Errorf("health: %d %s\nwant %s", a.status, a.body, want)
	}
	w.end()
}

// When the daemon is asked to stop, the requests that it has accepted get their
// responses, and are in the log.
func TestGracefulStop(t *testing.T) {
	dir := t.TempDir()
	w := runWriter(t, dir)
	w.post(200, "/v1/commit", world)
	const clients = 8
	acked := make(chan int, clients)
	begun := make(chan struct{}, clients)
	for range clients {
		go func() {
			n := 0
			for {
				a, err := w.try("POST", "/v1/commit", transferTx(1, ""))
				if err != nil || a.status == 503 || a.status == 422 {
					acked <- n
					return
				}
				if n++; n == 3 {
					begun <- struct{}{}
				}
			}
		}()
	}
	for range clients {
		<-begun
	}
	w.end()
	total := 0
	for range clients {
		total += <-acked
	}
	r, err := wal.OpenReader(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got := int(r.Durable()); got < total+1 || got > total+1+clients {
		t.Errorf("%d commits were acknowledged, and %d are in the log", total, got-1)
	}
}

// Each reason not to start has its own error.
func TestWriterDoesNotStart(t *testing.T) {
	run := func(change func(*Config)) error {
		c := DefaultConfig()
		c.Dir, c.Listen, c.Log, c.Ready = t.TempDir(), "127.0.0.1:0", silent, io.Discard
		change(&c)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		return Run(ctx, c, nil)
	}
	running := runWriter(t, t.TempDir())
	defer running.end()
	owned := t.TempDir()
	owner := runWriter(t, owned)
	defer owner.end()
	for _, c := range []struct {
		about  string
		change func(*Config)
		locked bool
		broken bool // it counts as damage
		words  string
	}{
		{"another owns it", func(c *Config) { c.Dir = owned }, true, false, "owns"},
		{"the address is taken", func(c *Config) { c.Listen = strings.TrimPrefix(running.url, "http://") }, false, false, "listening"},
		{"the directory is a file", func(c *Config) {
			c.Dir = filepath.Join(c.Dir, "file")
			if err := os.WriteFile(c.Dir, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, false, false, "file"},
		{"a damaged log", func(c *Config) {
			w := runWriter(t, c.Dir)
			w.post(200, "/v1/commit", world)
			w.end()
			segs, _ := filepath.Glob(filepath.Join(c.Dir, "wal", "*.seg"))
			b, err := os.ReadFile(segs[0])
			if err != nil {
				t.Fatal(err)
			}
			at := bytes.Index(b, []byte("Gold"))
			if b[at] ^= 1; os.WriteFile(segs[0], b, 0o600) != nil {
				t.Fatal("can't damage the log")
			}
			c.SegmentSize = 256 << 10
		}, false, true, ".seg"},
		{"a wrong digest", func(c *Config) {
			w, err := wal.Open(c.Dir, wal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			l := newRAMLog()
			startWriter(t, l).post(200, "/v1/commit", world)
			f := l.written()[0]
			f.Digest ^= 1
			if err := errors.Join(w.Append(&f), w.Close()); err != nil {
				t.Fatal(err)
			}
		}, false, true, "digest"},
	} {
		err := run(c.change)
		if err == nil || !strings.Contains(err.Error(), c.words) || errors.Is(err, wal.ErrLocked) != c.locked || commitlog.IsDamage(err) != c.broken {
			t.Errorf("%s: %v, damage %v; want an error with %q, damage %v", c.about, err, commitlog.IsDamage(err), c.words, c.broken)
		}
	}
}

// A failingFS fails every sync of a file once the channel broken is closed.
type failingFS struct {
	wal.FS
	broken chan struct{}
}

type failingFile struct {
	wal.File
	broken chan struct{}
}

func (f failingFS) Open(name string, write bool) (wal.File, error) {
	g, err := f.FS.Open(name, write)
	return failingFile{g, f.broken}, err
}

func (f failingFS) Create(name string) (wal.File, error) {
	g, err := f.FS.Create(name)
	return failingFile{g, f.broken}, err
}

func (f failingFile) Sync() error {
	select {
	case <-f.broken:
		return errDisk
	default:
		return f.File.Sync()
	}
}

// When a sync fails, the daemon responds that the outcome is unknown, and ends
// with the error, which does not count as damage.
func TestSyncFailureEndsTheDaemon(t *testing.T) {
	broken := make(chan struct{})
	dir := t.TempDir()
	l, err := commitlog.OpenFile(dir, wal.Options{FS: failingFS{wal.OS{}, broken}, SegmentSize: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	ready, announce := io.Pipe()
	c := DefaultConfig()
	c.Dir, c.Listen, c.Ready, c.Log = dir, "127.0.0.1:0", announce, slog.New(slog.NewTextHandler(io.Discard, nil))
	d, err := start(context.Background(), c, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	entrance, err := httpserver.OpenEntrance(c.Access, c.Listen, c.Log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- d.serve(context.Background(), c, entrance) }()
	w := &testWriter{t: t}
	if _, err := fmt.Fscanf(ready, "ledger-write "+version.Build()+" ready on %s\n", &w.url); err != nil {
		t.Fatal(err)
	}
	w.post(200, "/v1/commit", world)
	close(broken)
	if a := w.post(503, "/v1/commit", transferTx(1, "")); a.code() != "LogUnavailable" || !strings.Contains(a.body, "unknown") {
		t.Errorf("while the sync fails: %v, want LogUnavailable and that the outcome is unknown", a)
	}
	if err := <-ended; !errors.Is(err, errDisk) || commitlog.IsDamage(err) {
		t.Errorf("the daemon ended with %v, want %v without damage", err, errDisk)
	}
	l.Close()
}
