package reader

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/version"
	"assetledger/wal"
)

// A runningReader is a read daemon that runs in a goroutine.
type runningReader struct {
	t     *testing.T
	url   string
	stop  context.CancelFunc
	ended chan error
}

// startRead runs a read daemon on a directory until the test ends. It returns
// when the daemon is ready, or with the error of a daemon that ended before
// that.
func startRead(t *testing.T, c Config) (*runningReader, error) {
	t.Helper()
	out, ready := io.Pipe()
	c.Ready, c.Listen = ready, "127.0.0.1:0"
	c.Log = slog.New(slog.DiscardHandler)
	if c.Poll == 0 {
		c.Poll = 20 * time.Millisecond
	}
	if c.Name == "" {
		c.Name = "read"
	}
	c.Timeouts = httpserver.DefaultTimeouts
	ctx, stop := context.WithCancel(context.Background())
	r := &runningReader{t: t, stop: stop, ended: make(chan error, 1)}
	go func() {
		r.ended <- Run(ctx, c)
		ready.Close()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return nil, <-r.ended
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "ledger-read "+version.Build()+" ready on ")
	if !ok {
		t.Errorf("the ready line %q does not name the program, its version and the URL", line)
	}
	r.url = url
	t.Cleanup(stop)
	return r, nil
}

func (r *runningReader) get(status int, target string) string {
	r.t.Helper()
	resp, err := http.Get(r.url + target)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		r.t.Errorf("%s: %d %s %v, want %d", target, resp.StatusCode, body, err, status)
	}
	return string(body)
}

// A clockedWriter writes batches to a log. They are one second apart,
// beginning at testTime.
type clockedWriter struct {
	*wal.Writer
	at int64
}

func openWriter(t testing.TB, dir string) *clockedWriter {
	t.Helper()
	c := &clockedWriter{at: testTime}
	var err error
	if c.Writer, err = wal.Open(dir, wal.Options{SegmentSize: 1 << 20, Now: func() int64 { return c.at }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Writer.Close() })
	return c
}

func (c *clockedWriter) Append(f *wal.Frame) error {
	err := c.Writer.Append(f)
	c.at += int64(time.Second)
	return err
}

// TestRunRead runs a daemon through its life: without a writer, with one, after the
// writer has stopped, and until it is stopped itself.
func TestRunRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "yet")
	r, err := startRead(t, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.get(200, "/v1/read/containers"); got != `{"data":{"containers":[]},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}` {
		t.Errorf("without a log: %s, want an empty list", got)
	}
	if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil { // wal.Open creates only the last directory of the path
		t.Fatal(err)
	}
	log := openWriter(t, dir)
	w := newLedgerWriter(t, log)
	exampleLedger(w)
	// The first check may come before the log exists. After that, waiting for a
	// commit is enough.
	for strings.Contains(r.get(200, "/v1/read/freshness"), `"commit_log_seq":0`) {
	}
	seq := w.commit("CreateContainer container_id=50 kind=Standard")
	r.get(200, fmt.Sprintf("/v1/read/container/50?min_seq=%d&wait=30s", seq))
	// The daemon publishes the last commit after it is visible, so the list may lag behind.
	for !cmp.Equal(readersOf(t, dir), []wal.ReaderState{{Name: "read", Seq: seq}}) {
		runtime.Gosched()
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r.get(200, "/v1/read/container/50")
	if got := r.get(200, "/v1/health"); got != fmt.Sprintf(`{"status":"healthy","freshness":{"checkpoint_seq":%d,"commit_log_seq":%d,"lag":0}}`, seq, seq) {
		t.Errorf("health without a writer: %s, want healthy at commit %d", got, seq)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("the daemon stopped with %v, want no error", err)
	}
	if left := readersOf(t, dir); len(left) > 0 {
		t.Errorf("the stopped daemon is still listed: %v", left)
	}
}

// TestHistoryCannotBeKept runs a read daemon that can't write its history index. Its
// health and its metrics show that, and other reads are served.
func TestHistoryCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	log := openWriter(t, dir)
	exampleLedger(newLedgerWriter(t, log))
	if err := os.WriteFile(filepath.Join(dir, "history"), nil, 0o600); err != nil { // in place of the directory
		t.Fatal(err)
	}
	r, err := startRead(t, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for !strings.HasSuffix(r.get(200, "/v1/health"), `},"history":{"failing":true}}`) {
		runtime.Gosched()
	}
	if got := r.get(200, "/v1/metrics"); !strings.Contains(got, "\nasset_ledger_read_history_failing 1\n") {
		t.Error("history_failing is not 1 in the metrics")
	}
	r.get(200, "/v1/read/containers")
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	r.stop()
	<-r.ended
}

func readersOf(t *testing.T, dir string) []wal.ReaderState {
	t.Helper()
	list, err := wal.ListReaders(dir, wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestNameInUse(t *testing.T) {
	dir := t.TempDir()
	openWriter(t, dir)
	if _, err := startRead(t, Config{Dir: dir, Name: "one"}); err != nil {
		t.Fatal(err)
	}
	if _, err := startRead(t, Config{Dir: dir, Name: "two"}); err != nil {
		t.Fatal(err)
	}
	_, err := startRead(t, Config{Dir: dir, Name: "one"})
	if err == nil || !strings.Contains(err.Error(), `"one"`) || !errors.Is(err, wal.ErrNameTaken) {
		t.Errorf("a second daemon of the name ended with %v, want %v", err, wal.ErrNameTaken)
	}
}

func TestRunReadFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := startRead(t, Config{Dir: file}); err == nil || commitlog.IsDamage(err) {
		t.Errorf("with a file as the directory: %v, want an error that is not damage", err)
	}
	dir := t.TempDir()
	newLedgerWriter(t, openWriter(t, dir)).commit("CreateContainer container_id=1 kind=Standard")
	segments, err := filepath.Glob(filepath.Join(dir, "wal", "*.seg"))
	if err != nil || len(segments) != 1 {
		t.Fatalf("segments %q (%v), want one", segments, err)
	}
	f, err := os.OpenFile(segments[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{0xff}, 4096+64+2); err != nil { // in the body of the first frame
		t.Fatal(err)
	}
	_, err = startRead(t, Config{Dir: dir})
	var damage *wal.CorruptError
	if !errors.As(err, &damage) {
		t.Errorf("with a damaged log: %v, want a CorruptError", err)
	}
}

// TestLogIsExchanged checks that a daemon ends when its log is replaced by
// another one, or loses commits. What it has served must stay true.
func TestLogIsExchanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		exchange func(t *testing.T, dir string)
	}{
		{"by another", func(t *testing.T, dir string) {
			for _, name := range []string{"END", "LOCK", "wal"} {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			newLedgerWriter(t, openWriter(t, dir)).commit("CreateContainer container_id=1 kind=Standard")
		}},
		{"the end goes back", func(t *testing.T, dir string) {
			end, err := os.OpenFile(filepath.Join(dir, "END"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer end.Close()
			if _, err := end.WriteAt([]byte{1}, 64); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			log := openWriter(t, dir)
			w := newLedgerWriter(t, log)
			w.commit("CreateContainer container_id=1 kind=Standard")
			r, err := startRead(t, Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			seq := w.commit("CreateContainer container_id=2 kind=Standard")
			r.get(200, fmt.Sprintf("/v1/read/container/2?min_seq=%d&wait=30s", seq))
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			c.exchange(t, dir)
			if err := <-r.ended; !errors.Is(err, wal.ErrReplaced) || commitlog.IsDamage(err) {
				t.Errorf("the daemon ended with %v, want %v without damage", err, wal.ErrReplaced)
			}
		})
	}
}
