package reader

import (
	"context"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/servertest/longtest"
	"assetledger/wal"
)

func TestMain(m *testing.M) { os.Exit(longtest.Main(m)) }

var updateReads = flag.Bool("update-reads", false, "rewrite the golden files of the read daemon")

// testTime is the commit time of the first batch, in Unix nanoseconds. The
// batches are one second apart.
const testTime = int64(1_700_000_000_000_000_123)

// A memLog is a log in memory. Tests control its durable end and its faults.
type memLog struct {
	mu      sync.Mutex
	absent  bool // Open returns ErrNoLog
	frames  []wal.Frame
	end     uint64
	moved   int64
	noOpen  error         // error of Open, if set
	fail    error         // error of Next, if set
	held    bool          // Next blocks while this is set
	changed chan struct{} // closed and replaced at each change
	open    int           // number of open readers
}

func newMemLog() *memLog { return &memLog{changed: make(chan struct{})} }

func (m *memLog) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	close(m.changed)
	m.changed = make(chan struct{})
}

// hold blocks the reader, but the end of the log can still advance. release unblocks
// the reader.
func (m *memLog) hold()    { m.change(func() { m.held = true }) }
func (m *memLog) release() { m.change(func() { m.held = false }) }

// Append adds a batch and advances the end.
func (m *memLog) Append(f *wal.Frame) error {
	g := *f
	g.Body = append([]byte(nil), f.Body...)
	g.Time = testTime + int64(len(m.frames))*int64(time.Second)
	m.change(func() {
		m.frames = append(m.frames, g)
		m.end, m.moved = g.Last(), time.Now().UnixNano()
	})
	return nil
}

// Open returns a new reader.
func (m *memLog) Open() (commitlog.Reader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.absent {
		return nil, wal.ErrNoLog
	}
	if m.noOpen != nil {
		return nil, m.noOpen
	}
	m.open++
	return &memReader{log: m, closed: make(chan struct{})}, nil
}

// Checkpoints returns a store that has no checkpoints.
func (m *memLog) Checkpoints() commitlog.CheckpointStore { return commitlog.NoCheckpoints{} }

// Register accepts any name.
func (m *memLog) Register(string) (commitlog.Registration, error) { return &memRegistration{}, nil }

type memRegistration struct{ applied atomic.Uint64 }

func (r *memRegistration) Applied(seq uint64) { r.applied.Store(seq) }
func (r *memRegistration) Close() error       { return nil }

type memReader struct {
	log    *memLog
	at     int
	closed chan struct{}
}

func (r *memReader) LogID() wal.LogID            { return wal.LogID{1} }
func (r *memReader) SeekAfter(p wal.Place) error { return r.Seek(p.Seq + 1) }

func (r *memReader) Next() (*wal.Frame, error) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for r.log.held {
		changed := r.log.changed
		r.log.mu.Unlock()
		<-changed
		r.log.mu.Lock()
	}
	if r.log.fail != nil {
		return nil, r.log.fail
	}
	if r.at == len(r.log.frames) || r.log.frames[r.at].Last() > r.log.end {
		return nil, wal.ErrEnd
	}
	r.at++
	return &r.log.frames[r.at-1], nil
}

func (r *memReader) Seek(seq uint64) error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	for r.at = 0; r.at < len(r.log.frames) && r.log.frames[r.at].Last() < seq; r.at++ {
	}
	return nil
}

func (r *memReader) Durable() uint64 {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.end
}

func (r *memReader) Moved() int64 {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.log.moved
}

func (r *memReader) Wait(after uint64, timeout time.Duration) {
	r.log.mu.Lock()
	end, changed := r.log.end, r.log.changed
	r.log.mu.Unlock()
	if end > after {
		return
	}
	select {
	case <-changed:
	case <-r.closed:
	case <-time.After(timeout):
	}
}

func (r *memReader) Close() error {
	r.log.change(func() { r.log.open-- })
	close(r.closed)
	return nil
}

// A ledgerWriter does what the write daemon does, without HTTP.
type ledgerWriter struct {
	t     testing.TB
	log   interface{ Append(*wal.Frame) error }
	state *ledger.State
}

func newLedgerWriter(t testing.TB, log interface{ Append(*wal.Frame) error }) *ledgerWriter {
	return &ledgerWriter{t: t, log: log, state: ledger.NewState(ledger.Config{IdempotencyKeys: 100})}
}

// batch commits transactions in one batch. Each is the body of a commit request.
func (w *ledgerWriter) batch(bodies ...string) (last uint64) {
	w.t.Helper()
	if err := w.log.Append(w.frame(bodies...)); err != nil {
		w.t.Fatal(err)
	}
	return w.state.Seq()
}

// commit commits operations, given as words, in one transaction and one batch.
func (w *ledgerWriter) commit(words ...string) (seq uint64) {
	w.t.Helper()
	return w.batch(transactionOf(w.t, words...))
}

func transactionOf(t testing.TB, words ...string) string {
	t.Helper()
	var ops []ledger.Op
	for _, word := range words {
		op, err := ledger.ParseOpWords(word)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	return `{"operations":` + string(ledger.AppendOperations(nil, ops)) + `}`
}

func (w *ledgerWriter) frame(bodies ...string) *wal.Frame {
	w.t.Helper()
	f := &wal.Frame{First: w.state.Seq() + 1, Count: uint32(len(bodies))}
	for i, body := range bodies {
		var tx ledger.Transaction
		var out ledger.Outcome
		if err := ledger.ParseTransaction([]byte(body), &tx, ledger.ParseLimits{Nesting: ledger.DefaultNesting}); err != nil {
			w.t.Fatal(body, err)
		}
		if err := w.state.Apply(&tx, 0, &out); err != nil {
			w.t.Fatal(body, err)
		}
		w.state.Remember(&tx, &out, w.state.Seq(), uint32(i+1))
		f.Body = wal.AppendRecord(f.Body, ledger.AppendRecord(nil, &tx, &out))
	}
	f.Digest = w.state.Digest()
	return f
}

// A testReader is a read daemon without its listener.
type testReader struct {
	*daemon
	t     testing.TB
	ended chan struct{}
	err   error // error of the tailer; set when ended is closed
}

// startReader starts a read daemon on a log and waits until it is ready.
func startReader(t testing.TB, source commitlog.Source, change ...func(*daemon)) *testReader {
	t.Helper()
	d := newDaemon(source, Config{Name: "read", IdempotencyKeys: 100, Poll: 20 * time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	for _, c := range change {
		c(d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &testReader{daemon: d, t: t, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.err = d.tail.run(ctx)
	}()
	select {
	case <-d.tail.caughtUp:
	case <-r.ended:
	}
	t.Cleanup(func() {
		cancel()
		<-r.ended
		d.close()
	})
	return r
}

// until waits until a commit is applied.
func (r *testReader) until(seq uint64) {
	r.t.Helper()
	if ok, err := r.proj.fresh.wait(r.t.Context(), seq, time.Minute); !ok {
		r.t.Fatalf("commit %d was not applied: %v", seq, err)
	}
}

// do sends one request; headers are "Name: value".
func (r *testReader) do(method, target string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, target, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	rec := httptest.NewRecorder()
	r.api.ServeHTTP(rec, req)
	return rec
}

// get sends a GET request, and fails the test if the response has another status.
func (r *testReader) get(status int, target string, headers ...string) string {
	r.t.Helper()
	rec := r.do(http.MethodGet, target, headers...)
	if rec.Code != status {
		r.t.Errorf("%s: %d %s, want %d", target, rec.Code, rec.Body, status)
	}
	return rec.Body.String()
}

// smallBudget gives a daemon a budget of max bytes, in which claims wait for room only
// briefly.
func smallBudget(max int64) func(*daemon) {
	return func(d *daemon) {
		d.api.Budget = httpserver.NewBudget(max)
		d.api.Budget.Patience = 50 * time.Millisecond
	}
}
