package writer

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

func reversal(seq int) string { return fmt.Sprintf("/v1/commit/%d/reverse", seq) }

// reversals lists the reversals in the log, each as "reversal: reversed commit".
func reversals(t *testing.T, l *ramLog) (list []string) {
	t.Helper()
	for _, f := range l.written() {
		err := f.Each(func(seq uint64, record []byte) error {
			var rec ledger.Record
			if err := rec.Decode(record); err != nil {
				return err
			}
			if rec.Tx.Reverses != 0 {
				list = append(list, fmt.Sprintf("%d: %d", seq, rec.Tx.Reverses))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// Eight reversals of the same commit are sent at the same time. The one that is
// judged first is accepted. The responses to the others name the commit that it made.
func TestOneReversalWins(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	w.post(200, "/v1/commit", transferTx(400, ""))
	const many = 8
	var answers []<-chan answer
	for range many {
		answers = append(answers, w.later(reversal(2), `{}`))
	}
	var done, known int
	for _, a := range answers {
		switch a := <-a; {
		case a.status == 200 && strings.HasPrefix(a.body, `{"global_seq":3,`):
			done++
		case a.status == 409 && strings.Contains(a.body, `"code":"AlreadyReversed"`) && strings.Contains(a.body, `"details":{"global_seq":3}}`):
			known++
		default:
			t.Errorf("%d %s, want commit 3, or that it reversed the commit", a.status, a.body)
		}
	}
	if done != 1 || known != many-1 {
		t.Errorf("of %d reversals, %d were accepted, and %d were told of the accepted one; want 1 and %d", many, done, known, many-1)
	}
	if got := reversals(t, l); !slices.Equal(got, []string{"3: 2"}) {
		t.Errorf("the reversals in the log are %q, want 3: 2", got)
	}
}

// A commit that is not durable yet may still be lost, and no client knows of it.
// So it can't be reversed.
func TestNothingReversesWhatIsNotDurable(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	inFlight := w.later("/v1/commit", transferTx(1, ""))
	<-entered
	filling := w.later("/v1/commit", transferTx(2, ""))
	w.untilQueued(3)
	early := []<-chan answer{w.later(reversal(2), `{}`), w.later(reversal(3), `{}`), w.later(reversal(9), `{}`)}
	w.untilQueued(6)
	proceed <- struct{}{}
	<-entered
	proceed <- struct{}{}
	for _, a := range early {
		if a := <-a; a.status != 404 || a.code() != string(ledger.CommitNotFound) {
			t.Errorf("the reversal of what is not durable: %d %s, want CommitNotFound", a.status, a.body)
		}
	}
	<-inFlight
	<-filling
	late := w.later(reversal(3), `{}`)
	<-entered
	proceed <- struct{}{}
	if a := <-late; a.status != 200 {
		t.Errorf("the reversal of what is durable: %d %s, want 200", a.status, a.body)
	}
}

// A retry of a reversal gets the first result, even if the reversed commit can
// no longer be read. A new reversal is told that the commit is archived, or that it
// can't be read.
func TestReversalOfWhatCannotBeRead(t *testing.T) {
	for what, c := range map[string]struct {
		fault  error
		status int
		code   ledger.Code
	}{
		"archived":   {&wal.ArchivedError{Seq: 2, First: 5}, 410, ledger.CommitArchived},
		"unreadable": {errors.New("input/output error in /secret/path"), 503, ledger.LogUnavailable},
	} {
		l := &lostLog{ramLog: newRAMLog()}
		w := startWriter(t, l)
		w.post(200, "/v1/commit", world)
		w.post(200, "/v1/commit", transferTx(1, ""))
		w.post(200, "/v1/commit", transferTx(1, ""))
		const keyed = `{"idempotency_key":"r","metadata":{"why":"returned"}}`
		first := w.post(200, reversal(2), keyed)
		l.fault = c.fault
		again := w.post(200, reversal(2), keyed)
		if first.body != again.body || again.header.Get(headerHit) != "hit" {
			t.Errorf("%s: the response to the retry is %s, want the first one, %s, and a hit", what, again.body, first.body)
		}
		w.post(409, reversal(3), keyed)
		if a := w.post(c.status, reversal(3), `{}`); a.code() != string(c.code) || strings.Contains(a.body, "secret") {
			t.Errorf("%s: %s, want %s without the path", what, a.body, c.code)
		}
	}
}

// A lostLog can't read commits back while fault is set.
type lostLog struct {
	*ramLog
	fault error
}

func (l *lostLog) Commit(seq uint64, use func(*ledger.Record)) error {
	if l.fault != nil {
		return l.fault
	}
	return l.ramLog.Commit(seq, use)
}

// The inverse of a commit counts against the budget while the reversal is in progress.
// If there is no room for it, nothing is committed.
func TestReversalsAreCounted(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l, func(c *Config) { c.MaxInflight = 8 << 20 })
	w.post(200, "/v1/commit", world)
	const operations = 9000
	ops := make([]string, operations)
	for i := range ops {
		ops[i] = `{"op":"AddFungible","args":{"container_id":1,"class_id":1,"key":0,"quantity":1}}`
	}
	w.post(200, "/v1/commit", `{"operations":[`+strings.Join(ops, ",")+`]}`)
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
	var size int64
	if err := l.Commit(2, func(rec *ledger.Record) { size = ledger.InverseSize(rec) }); err != nil || size < operations*100 {
		t.Fatalf("the inverse takes %d bytes (%v), want at least %d", size, err, operations*100)
	}

	large, small := w.budget.Claim(), w.budget.Claim()
	if !large.GrowNow(6<<20) || !small.GrowNow(1<<20) {
		t.Fatal("no room for others")
	}
	if a := w.post(503, reversal(2), `{}`); a.code() != string(ledger.Overloaded) || a.header.Get("Retry-After") == "" {
		t.Errorf("without room: %v, want Overloaded with Retry-After", a)
	}
	large.Release()
	small.Release()
	until(t, "the memory of the rejected request is released", func() bool { return w.budget.Used() == 0 })

	entered, proceed := l.gate()
	reversed := w.later(reversal(2), `{}`)
	<-entered
	if used := w.budget.Used(); used < size || used > size+64<<10 {
		t.Errorf("%d bytes are counted, and the inverse takes %d", used, size)
	}
	proceed <- struct{}{}
	if a := <-reversed; a.status != 200 {
		t.Errorf("with room: %v, want 200", a)
	}
	until(t, "everything is released", func() bool { return w.budget.Used() == 0 })
}

// When the daemon stops, reversals that wait to read their commit are rejected without
// reading it.
func TestReversalsThatWaitAreRefusedAtTheEnd(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	w.readBacks <- struct{}{} // another reversal is reading
	var answers []<-chan answer
	for range 8 {
		answers = append(answers, w.later(reversal(1), `{}`))
	}
	for w.inflight.Load() < 8 {
		runtime.Gosched()
	}
	w.drain()
	<-w.readBacks
	for _, a := range answers {
		if a := <-a; a.status != 503 || !strings.Contains(a.body, `"ShuttingDown"`) {
			t.Errorf("a waiting reversal: %d %s, want ShuttingDown", a.status, a.body)
		}
	}
	if n := l.readBack.Load(); n != 0 {
		t.Errorf("%d commits were read, want none", n)
	}
}
