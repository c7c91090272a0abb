package writer

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/commitlog/memlog"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }

var updateWrites = flag.Bool("update-writes", false, "rewrite the golden files of the write daemon")

// A ramLog is a log in memory. Tests control its speed and its faults.
type ramLog struct {
	commitlog.Writer
	log      *memlog.Log
	maxBody  int
	lastTime int64
	entered  chan struct{}   // if set, every Append sends on it first …
	proceed  <-chan struct{} // … and then receives from it

	mu     sync.Mutex
	read   []commitlog.ReaderInfo
	fail   error // the error of Append
	full   error // the error of Room
	fenced error // the error of Confirm

	readBack atomic.Int32  // successful calls to Commit
	archived atomic.Uint64 // last commit that Commit does not find
}

func newRAMLog() *ramLog {
	log := memlog.New(16 << 20)
	w, err := log.OpenWriter()
	if err == nil {
		err = w.Replay(func(*wal.Frame) error { return nil })
	}
	if err != nil {
		panic(err)
	}
	return &ramLog{Writer: w, log: log, maxBody: 4 << 20}
}

// gate slows the log down. The test receives from the channel entered when the log has
// begun a batch, and sends on the channel proceed to let the log finish it.
func (l *ramLog) gate() (entered <-chan struct{}, proceed chan<- struct{}) {
	in, out := make(chan struct{}), make(chan struct{})
	l.entered, l.proceed = in, out
	return in, out
}

func (l *ramLog) Append(f *wal.Frame) error {
	if l.entered != nil {
		l.entered <- struct{}{}
		<-l.proceed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	return l.Writer.Append(f)
}

func (l *ramLog) Commit(seq uint64, use func(*ledger.Record)) error {
	if end := l.archived.Load(); seq <= end {
		return &wal.ArchivedError{Seq: seq, First: end + 1}
	}
	return l.Writer.Commit(seq, func(rec *ledger.Record) {
		l.readBack.Add(1)
		use(rec)
	})
}

func (l *ramLog) Room() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// set sets the faults.
func (l *ramLog) set(fail, full error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail, l.full = fail, full
}

func (l *ramLog) Confirm() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fenced
}

func (l *ramLog) written() []wal.Frame { return l.log.Frames() }

func (l *ramLog) Readers() []commitlog.ReaderInfo { return slices.Clone(l.read) }
func (l *ramLog) LastTime() int64                 { return max(l.lastTime, l.Writer.LastTime()) }
func (l *ramLog) MaxBody() int                    { return l.maxBody }
func (l *ramLog) Driver() (name, path string)     { return "ram", "/nowhere" }

var silent = slog.New(slog.NewTextHandler(io.Discard, nil))

// A testWriter is a write daemon behind a real listener.
type testWriter struct {
	*daemon
	t   testing.TB
	url string
	srv *httptest.Server
}

func startWriter(t testing.TB, l commitlog.Writer, change ...func(*Config)) *testWriter {
	t.Helper()
	c := DefaultConfig()
	c.Dir, c.Log = t.TempDir(), silent
	for _, f := range change {
		f(&c)
	}
	state := ledger.NewState(ledger.Config{IdempotencyKeys: c.IdempotencyKeys})
	if err := commitlog.Replay(context.Background(), state, l, c.Log, new(atomic.Uint64)); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(c, l, state, func() { panic("exit") })
	w := &testWriter{daemon: d, t: t, srv: httptest.NewServer(d.api)}
	w.url = w.srv.URL
	t.Cleanup(w.stop)
	return w
}

// stop stops the daemon after it has answered the accepted requests. A second
// call does nothing.
func (w *testWriter) stop() {
	w.srv.Close()
	w.seq().stop()
}

// An answer is a complete HTTP response.
type answer struct {
	status int
	header http.Header
	body   string
}

// do sends a request. The parameter header holds "Name: value" lines.
func (w *testWriter) do(method, path, body string, header ...string) answer {
	w.t.Helper()
	a, err := w.try(method, path, body, header...)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func (w *testWriter) try(method, path, body string, header ...string) (answer, error) {
	r, err := http.NewRequest(method, w.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if method == "POST" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

// post sends a POST, whose response must have the status.
func (w *testWriter) post(status int, path, body string, header ...string) answer {
	w.t.Helper()
	a := w.do("POST", path, body, header...)
	if a.status != status {
		w.t.Fatalf("POST %s %.200s: status %d, want %d: %s", path, body, a.status, status, a.body)
	}
	return a
}

// later sends a POST in the background.
func (w *testWriter) later(path, body string, header ...string) <-chan answer {
	got := make(chan answer, 1)
	go func() {
		a, err := w.try("POST", path, body, header...)
		if err != nil {
			a.body = err.Error()
		}
		got <- a
	}()
	return got
}

// code returns the error code of a response.
func (a answer) code() string {
	_, rest, _ := strings.Cut(a.body, `{"error":{"code":"`)
	code, _, _ := strings.Cut(rest, `"`)
	return code
}

// untilQueued waits until n requests have been queued since the daemon started, and
// all of them have had a turn.
func (w *testWriter) untilQueued(n int) {
	w.t.Helper()
	until(w.t, fmt.Sprintf("%d requests are queued", n), func() bool {
		q := w.seq().intake
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.queued == n && q.waiting == 0
	})
}

// until waits for a condition that other goroutines will soon make true.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}

var errDisk = errors.New("input/output error")

// world is a transaction that most tests need: it creates two containers and two
// classes, and puts 1,000 of the first class in the first container.
const world = `{"operations":[
	{"op":"CreateContainer","args":{"container_id":1,"kind":"Standard","owner":null}},
	{"op":"CreateContainer","args":{"container_id":2,"kind":"Standard"}},
	{"op":"RegisterClass","args":{"request":{"class_id":1,"name":"Gold"}}},
	{"op":"RegisterClass","args":{"request":{"class_id":2,"name":"Sword","fungible":false}}},
	{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1000}}]}`

func transferTx(quantity int, more string) string {
	return fmt.Sprintf(`{"operations":[{"op":"TransferFungible","args":{"from_container":1,"to_container":2,"class_id":1,"key":0,"quantity":%d}}]%s}`,
		quantity, more)
}

func batchOf(more string, txs ...string) string {
	return `{"transactions":[` + strings.Join(txs, ",") + `]` + more + `}`
}
