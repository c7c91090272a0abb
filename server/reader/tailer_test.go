package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

func TestReaderStartsBeforeTheLog(t *testing.T) {
	log := newMemLog()
	log.absent = true
	r := startReader(t, log)
	for target, want := range map[string]string{
		"/v1/health":           `{"status":"healthy","freshness":{"checkpoint_seq":0,"commit_log_seq":0,"lag":0}}`,
		"/v1/read/classes":     `{"data":{"classes":[]},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}`,
		"/v1/read/freshness":   `{"data":{"lag":0,"lag_ms":0},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}`,
		"/v1/read/commits":     `{"data":{"commits":[]},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}`,
		"/v1/read/containers?": `{"data":{"containers":[]},"freshness":{"checkpoint_seq":0,"commit_log_seq":0}}`,
	} {
		if got := r.get(200, target); got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	r.get(404, "/v1/read/commit/1")
	r.get(425, "/v1/read/classes?min_seq=1&wait=30s")
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold")
	log.change(func() { log.absent = false })
	// There is no delay: a client's own commit is never "beyond the end", however
	// long ago the daemon last looked for a log.
	r.get(200, "/v1/read/class/1?min_seq=1&wait=30s")
	r.get(200, "/v1/read/commit/1")
}

// brokenBy starts a read daemon on a log with one valid commit, and calls the function
// damage. It checks reads and health, and returns the error that the tailer ended with.
func brokenBy(t *testing.T, damage func(w *ledgerWriter, log *memLog)) (r *testReader, err error) {
	t.Helper()
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard", "AddFungible container_id=1 class_id=1 key=0 quantity=1000")
	r = startReader(t, log)
	damage(w, log)
	<-r.ended
	if got := r.get(503, "/v1/health"); !strings.HasPrefix(got, `{"status":"degraded","freshness":{"checkpoint_seq":1,`) {
		t.Errorf("health: %s, want degraded at commit 1", got)
	}
	for _, target := range []string{"/v1/read/container/1", "/v1/read/container/1/balances", "/v1/read/freshness", "/v1/read/commits", "/v1/read/commit/1", "/v1/read/class/7"} {
		rec := r.do("GET", target)
		if rec.Code != 503 || !strings.Contains(rec.Body.String(), `"code":"LogUnavailable"`) || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %v %s, want LogUnavailable with Retry-After", target, rec.Code, rec.Header(), rec.Body)
		}
	}
	if r.do("GET", "/v1/read/commits", "Accept: text/event-stream").Code != 503 {
		t.Error("a stream was opened")
	}
	return r, r.err
}

// TestOneUnitIsMissed checks that the digest catches a record whose quantity is off
// by one, in a frame that is otherwise valid.
func TestOneUnitIsMissed(t *testing.T) {
	var theirs uint64
	r, err := brokenBy(t, func(w *ledgerWriter, log *memLog) {
		f := w.frame(transactionOf(t, "RemoveFungible container_id=1 class_id=1 key=0 quantity=5"))
		var rec ledger.Record
		if err := f.Each(func(_ uint64, b []byte) error { return rec.Decode(b) }); err != nil {
			t.Fatal(err)
		}
		theirs = f.Digest
		rec.Tx.Ops[0].Args[ledger.FungibleQuantity]++
		f.Body = wal.AppendRecord(nil, ledger.AppendRecord(nil, &rec.Tx, &rec.Out))
		log.Append(f)
	})
	var wrong *commitlog.ReplayError
	if !errors.As(err, &wrong) || wrong.Seq != 2 {
		t.Fatalf("the tailer ended with %v, want a ReplayError of commit 2", err)
	}
	for _, d := range []uint64{theirs, r.proj.state.Digest()} {
		if !strings.Contains(err.Error(), fmt.Sprintf("%016x", d)) {
			t.Errorf("%v does not name %016x", err, d)
		}
	}
	if !commitlog.IsDamage(err) {
		t.Error("it is not reported as damage")
	}
}

func TestDamageEndsReading(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(w *ledgerWriter, log *memLog)
		broken bool // the error counts as damage to the log
		says   string
	}{
		{"a record that is rejected", func(w *ledgerWriter, log *memLog) {
			f := w.frame(transactionOf(t, "CreateContainer container_id=2 kind=Standard"))
			tx, out := ledger.Transaction{Ops: []ledger.Op{{Kind: ledger.RemoveContainer, Has: 1, Args: [ledger.MaxArgs]int64{9}}}}, ledger.Outcome{}
			f.Body = wal.AppendRecord(nil, ledger.AppendRecord(nil, &tx, &out))
			log.Append(f)
		}, true, "commit 2"},
		{"a record of nonsense", func(w *ledgerWriter, log *memLog) {
			f := w.frame(transactionOf(t, "CreateContainer container_id=2 kind=Standard"))
			f.Body = wal.AppendRecord(nil, []byte{1, 0, 0, 0}) // no operations
			log.Append(f)
		}, true, "commit 2"},
		{"a record of an operation that is not known yet", func(w *ledgerWriter, log *memLog) {
			f := w.frame(transactionOf(t, "CreateContainer container_id=2 kind=Standard"))
			f.Body = wal.AppendRecord(nil, []byte{1, 0, 0, 1, byte(ledger.NumOpKinds), 1, 2})
			log.Append(f)
		}, false, "commit 2 of the log: ledger: made by a newer version of this program; use that version: byte 5 of 7 of the record: operation 0 has the unknown kind"},
		{"a batch is missing", func(w *ledgerWriter, log *memLog) {
			w.frame(transactionOf(t, "CreateContainer container_id=2 kind=Standard"))
			w.commit("CreateContainer container_id=3 kind=Standard")
		}, true, "replaying commit 3 of the log: a batch begins with this commit, but commit 2 must be next"},
		{"the log reports damage", func(w *ledgerWriter, log *memLog) {
			log.change(func() { log.fail = &wal.CorruptError{File: "x.seg", Offset: 512, Seq: 1, Rule: "body CRC"} })
		}, true, "commit 1"},
		{"the end goes back", func(w *ledgerWriter, log *memLog) {
			log.change(func() { log.end = 0 })
		}, false, "ends at commit 0, but 1 was already served"},
		{"the log is replaced", func(w *ledgerWriter, log *memLog) {
			log.change(func() { log.fail = wal.ErrReplaced })
		}, false, "replaced"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := brokenBy(t, c.damage)
			if err == nil || !strings.Contains(err.Error(), c.says) || commitlog.IsDamage(err) != c.broken {
				t.Errorf("the tailer ended with %v, damage %v; want %q, damage %v", err, commitlog.IsDamage(err), c.says, c.broken)
			}
		})
	}
}

// A panic while applying leaves the state half changed. The state must never be
// read again.
func TestDefectWhileApplying(t *testing.T) {
	p := newProjection(0)
	p.replay = nil
	err := p.apply(&wal.Frame{First: 1, Count: 1, Body: wal.AppendRecord(nil, []byte{1})}, endless)
	if err == nil || !strings.Contains(err.Error(), "defect in the ledger, please report it: runtime error: ") || !p.isBroken() || commitlog.IsDamage(err) {
		t.Errorf("error %v, broken %v; want a defect that breaks the projection and is not damage", err, p.isBroken())
	}
}

func TestApplyDoesNotAllocate(t *testing.T) {
	log := newMemLog()
	w := newLedgerWriter(t, log)
	w.commit("RegisterClass class_id=1 name=Gold", "CreateContainer container_id=1 kind=Standard", "CreateContainer container_id=2 kind=Standard",
		"AddFungible container_id=1 class_id=1 key=0 quantity=1000", "AddFungible container_id=2 class_id=1 key=0 quantity=1000")
	transfer := transactionOf(t, "TransferFungible from_container=1 to_container=2 class_id=1 key=0 quantity=1")
	for range 300 {
		w.batch(transfer)
	}
	p := newProjection(0)
	next := 0
	apply := func() {
		if err := p.apply(&log.frames[next], endless); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for range 100 {
		apply()
	}
	if n := testing.AllocsPerRun(100, apply); n != 0 {
		t.Errorf("applying a batch allocates %v times, want 0", n)
	}
}

// A slowSource is a log whose Open blocks until release is closed.
type slowSource struct {
	*memLog
	release chan struct{}
}

func (s slowSource) Open() (commitlog.Reader, error) {
	r, err := s.memLog.Open()
	if err == nil {
		<-s.release
	}
	return r, err
}

// TestReadWhileTheLogIsOpened checks that a read with min_seq that arrives while
// the log is being opened is answered once the log is open.
func TestReadWhileTheLogIsOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slowSource{newMemLog(), make(chan struct{})}
		log.absent = true
		r := startReader(t, log)
		newLedgerWriter(t, log).commit("RegisterClass class_id=1 name=Gold")
		log.change(func() { log.absent = false })
		time.Sleep(longestLook) // in synctest's fake time; afterwards the tailer is in Open
		start, answered := time.Now(), make(chan int)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			rec := httptest.NewRecorder()
			r.api.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, "GET", "/v1/read/class/1?min_seq=1", nil))
			answered <- rec.Code
		}()
		synctest.Wait() // the read waits for the log
		close(log.release)
		if code := <-answered; code != 200 || time.Since(start) != 0 {
			t.Errorf("status %d after %v, want 200 at once", code, time.Since(start))
		}
	})
}

// TestFewFiles checks that a shortage of file descriptors is never fatal, neither
// while the log is opened, nor while the next batch is read, nor while commits are
// read back.
func TestFewFiles(t *testing.T) {
	for _, cause := range []error{syscall.EMFILE, syscall.ENFILE} {
		synctest.Test(t, func(t *testing.T) {
			log := newMemLog()
			w := newLedgerWriter(t, log)
			w.commit("RegisterClass class_id=1 name=Gold")
			short := func(err error) { log.change(func() { log.noOpen, log.fail = err, err }) }
			short(&fs.PathError{Op: "open", Path: "x.seg", Err: cause})
			time.AfterFunc(time.Minute, func() { short(nil) })
			r := startReader(t, log)
			r.until(1)
			short(&fs.PathError{Op: "open", Path: "y.seg", Err: cause})
			w.commit("RegisterClass class_id=2 name=Silver")
			r.get(425, "/v1/read/class/2?min_seq=2&wait=20s")
			if got := r.get(503, "/v1/read/commit/1"); !strings.Contains(got, `"Overloaded"`) {
				t.Errorf("reading a commit back: %s, want Overloaded", got)
			}
			r.get(200, "/v1/health")
			short(nil)
			r.get(200, "/v1/read/class/2?min_seq=2&wait=20s")
			r.get(200, "/v1/read/commit/2")
		})
	}
}
