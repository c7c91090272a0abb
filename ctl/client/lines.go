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
	Number int    // for use by the caller
	Text   []byte // the transaction as JSON, without line breaks
	Keyed  bool   // the transaction has an idempotency key, so the line may be sent again
	Given  []byte // result that is already known; the line is not sent, and this result is yielded; nil: none

	tx    *Tx    // the transaction, if CommitAll sends it
	doubt bool   // the line may have taken effect
	busy  []byte // last result of a held line; see pipeline
}

// An Answered is a line with its result.
type Answered struct {
	Line
	Verdict
	Raw  []byte // the result as JSON; valid until the next one is yielded
	More bool   // the next result has already arrived
}

// LinesOptions configures CommitLines.
type LinesOptions struct {
	Base    string                      // base URLs; "": those of the client's write daemons
	OnError string                      // parameter on_error of the API, "stop" or "continue"; "": continue
	Window  int                         // with this number of lines without a result, no more are taken from the source; default 1024
	Tries   int                         // maximum number of consecutive attempts without a result; default MaxTries
	GiveUp  time.Duration               // maximum duration of these attempts; default: that of the client
	Again   func(why error, keyed bool) // called before lines are sent again, at most once between two results; may be nil
	Stop    <-chan struct{}             // once closed, CommitLines sends no more lines and ends after the results of those sent; may be nil
}

// Unanswered is the error for lines that have no result.
type Unanswered struct {
	Doubtful []Line  // the lines that may have taken effect, in order
	Answer   *Answer // response with which a daemon rejected the lines; nil: none did
	Err      error
}

// Error returns the last failure.
func (e *Unanswered) Error() string { return e.Err.Error() }

// Unwrap returns the last failure.
func (e *Unanswered) Unwrap() error { return e.Err }

// CommitLines commits each line as a transaction of its own, over one stream, and yields the results in order. source
// yields slices of lines, each with a bool that reports whether more lines are available without waiting. CommitLines ranges
// over source in another goroutine, so source may wait for new lines. Lines that are too long for a stream are sent in
// batch requests, and so are all lines if the daemon's version does not support streams.
//
// A broken stream is replaced. A line is sent again only if it is known not to have taken effect, or if it has an idempotency
// key. If there is an error, it is an *Unanswered, and is yielded last.
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

// An Outcome is a transaction of CommitAll with its result.
type Outcome struct {
	Tx Tx // with its idempotency key
	Verdict
}

// errNotJSON is wrapped by the error for a transaction that can't be encoded as JSON.
var errNotJSON = errors.New("a transaction can't be encoded as JSON")

// CommitAll commits many transactions over one stream, and yields their outcomes in order. Each transaction is applied
// atomically, independently of the others. The parameter window limits how many of them await an outcome at any time
// (default 1024). CommitAll ranges over txs in another goroutine, so txs may wait for new transactions.
//
// A broken connection is replaced, and transactions without an outcome are sent again with their idempotency keys. If
// there is an error, it is yielded last: a *Refused if the whole stream was rejected, an *Unavailable, an *OutcomeUnknown,
// or the error for a transaction that can't be encoded as JSON.
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

// called converts an *Unanswered to an error of CommitAll.
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
