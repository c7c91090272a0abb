package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// A Line is one transaction of CommitLines.
type Line struct {
	Number int    // for the caller
	Text   []byte // the transaction as JSON, without line breaks
	Keyed  bool   // it has an idempotency key, so it may be sent again
	Given  []byte // its result, if that is known already: the line is not sent, and this is yielded in its place

	tx    *Tx    // of CommitAll
	doubt bool   // it may have taken effect
	busy  []byte // the result with which it is held, to be sent again
}

// An Answered line has a result.
type Answered struct {
	Line
	Verdict
	Raw  []byte // the result as JSON, valid until the next one
	More bool   // the next result has arrived
}

// LinesOptions says how CommitLines proceeds.
type LinesOptions struct {
	Base    string                      // base URLs; "": those of the client's write daemons
	OnError string                      // that of the interface, "stop" or "continue"; "": continue
	Window  int                         // maximum of lines without a result; default 1024
	Tries   int                         // attempts without a result; default MaxTries
	GiveUp  time.Duration               // for these attempts; default: the client's
	Again   func(why error, keyed bool) // told why lines are sent again, once until there is a result; may be nil
	Stop    <-chan struct{}             // when closed, no further line is sent, nor one again, and the results of those sent are the last; may be nil
}

// Unanswered is the error of lines without a result.
type Unanswered struct {
	Doubtful []Line  // those that may have taken effect, in their order
	Answer   *Answer // with which a daemon refused the lines; nil: it did not
	Err      error
}

// Error returns the last failure.
func (e *Unanswered) Error() string { return e.Err.Error() }

// Unwrap returns the last failure.
func (e *Unanswered) Unwrap() error { return e.Err }

// CommitLines commits lines over one stream, each atomic by itself, and yields their results in order. source yields
// runs of lines, and whether more come without a wait; it is ranged over in another goroutine, and may wait for new lines. With a
// daemon that is older than streams, and for lines that are too long for one, the lines go into batch requests.
//
// A broken stream is replaced. A line is sent again if nothing was done with it, or if it has a key. An error is an
// *Unanswered and comes last.
func (c *Client) CommitLines(ctx context.Context, source iter.Seq2[[]Line, bool], o LinesOptions) iter.Seq2[Answered, error] {
	return func(yield func(Answered, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		o.Base, o.Window = cmp.Or(o.Base, c.o.Write), cmp.Or(o.Window, 1024)
		o.Tries, o.GiveUp = cmp.Or(o.Tries, MaxTries), cmp.Or(o.GiveUp, c.o.GiveUp)
		runs := make(chan run, 16)
		go func() {
			defer close(runs)
			for lines, more := range source {
				select {
				case runs <- run{lines, more}:
				case <-ctx.Done():
					return
				}
			}
		}()
		sending, halt := context.WithCancelCause(ctx)
		go func() {
			select {
			case <-o.Stop:
				halt(errStopped)
			case <-ctx.Done():
				halt(nil)
			}
		}()
		p := &pipeline{c: c, o: o, source: runs, sending: sending, yield: yield}
		if err := p.run(ctx); err != nil && err != errStopped {
			yield(Answered{}, err)
		}
	}
}

// An Outcome is that of one transaction of CommitAll.
type Outcome struct {
	Tx Tx // with its idempotency key
	Verdict
}

// errNotJSON is wrapped by the error for a transaction that can't be encoded as JSON.
var errNotJSON = errors.New("a transaction can't be encoded as JSON")

// CommitAll commits many transactions over one stream, each atomic by itself, and yields their outcomes in order. At most
// window of them (default 1024) are unanswered at a time. A broken connection is replaced, and unanswered transactions are
// sent again with their keys. An error, which comes last, is a *Refused of the whole stream, *Unavailable or *OutcomeUnknown. txs is
// ranged over in another goroutine, and may wait for new transactions.
func (c *Client) CommitAll(ctx context.Context, txs iter.Seq[Tx], window int) iter.Seq2[Outcome, error] {
	return func(yield func(Outcome, error) bool) {
		var bad error // read when the source has ended
		source := func(yield func([]Line, bool) bool) {
			for tx := range txs {
				if tx.Key == "" {
					tx.Key = NewKey()
				}
				text, err := json.Marshal(tx)
				if err != nil {
					bad = fmt.Errorf("%w: %w", errNotJSON, err)
					return
				}
				if !yield([]Line{{Text: text, Keyed: true, tx: &tx}}, false) {
					return
				}
			}
		}
		for a, err := range c.CommitLines(ctx, source, LinesOptions{Window: window}) {
			if err != nil {
				yield(Outcome{}, called(err))
				return
			}
			if !yield(Outcome{*a.tx, a.Verdict}, nil) {
				return
			}
		}
		if bad != nil {
			yield(Outcome{}, bad)
		}
	}
}

// called returns an *Unanswered as the error of a call.
func called(err error) error {
	failed, ok := errors.AsType[*Unanswered](err)
	if !ok {
		return err
	}
	refused, isRefused := failed.Err.(*Refused)
	switch {
	case len(failed.Doubtful) > 0:
		return &OutcomeUnknown{failed.Doubtful[0].tx.Key, failed.Err}
	case isRefused && !passes(refused):
		return decided(refused)
	}
	return &Unavailable{failed.Err}
}
