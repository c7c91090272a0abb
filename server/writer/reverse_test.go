package writer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assetledger/ledger"
	"assetledger/wal"
)

func reversal(seq int) string { return fmt.Sprintf("/v1/commit/%d/reverse", seq) }

// reversals lists the links in the log as "by: of".
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

// Two reversals of a commit that were read at the same time: the one that is
// judged first takes it back, and a third, which comes later, is told by which.
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
			t.Error(a.status, a.body)
		}
	}
	if done != 1 || known != many-1 {
		t.Errorf("%d of %d reversals were accepted", done, many)
	}
	if got := reversals(t, l); !slices.Equal(got, []string{"3: 2"}) {
		t.Errorf("links %q", got)
	}
}

// A commit that is not durable yet was acknowledged to nobody, and may still be
// lost: it can't be reversed before it is.
func TestNothingReversesWhatIsNotDurable(t *testing.T) {
	l := newRAMLog()
	w := startWriter(t, l)
	w.post(200, "/v1/commit", world)
	entered, proceed := l.gate()
	inFlight := w.later("/v1/commit", transferTx(1, ""))
	<-entered
	filling := w.later("/v1/commit", transferTx(2, ""))
	until(t, "it is judged", func() bool { return w.seq().intake.depth() == 0 && w.inflight.Load() == 2 })
	early := []<-chan answer{w.later(reversal(2), `{}`), w.later(reversal(3), `{}`), w.later(reversal(9), `{}`)}
	until(t, "they are accepted", func() bool { return w.inflight.Load() == 5 && w.seq().intake.depth() == 0 })
	proceed <- struct{}{}
	<-entered
	proceed <- struct{}{}
	for _, a := range early {
		if a := <-a; a.status != 404 || a.code() != string(ledger.CommitNotFound) {
			t.Error(a.status, a.body)
		}
	}
	<-inFlight
	<-filling
	late := w.later(reversal(3), `{}`)
	<-entered
	proceed <- struct{}{}
	if a := <-late; a.status != 200 {
		t.Error(a.status, a.body)
	}
}

// A retry of a reversal has the first result, also when the commit that it
// reversed can't be read any more; other requests are told why it can't.
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
			t.Errorf("%s: the retry is answered %s, and was first %s", what, again.body, first.body)
		}
		w.post(409, reversal(3), keyed)
		if a := w.post(c.status, reversal(3), `{}`); a.code() != string(c.code) || strings.Contains(a.body, "secret") {
			t.Errorf("%s: %s", what, a.body)
		}
	}
}

// A lostLog can't read commits back.
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
