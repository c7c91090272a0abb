package ctl

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"assetledger/ctl/client"
	"assetledger/ledger"
)

func (b *batch) show(c *call, a *answer) error {
	var answer struct{ Results []json.RawMessage }
	if err := a.decode(&answer); err != nil {
		return b.unclear(err)
	}
	b.bar.clear()
	for i, raw := range answer.Results {
		var r client.Verdict
		if err := client.ParseVerdict(raw, &r); err != nil {
			return b.unclear(fmt.Errorf("result %d of %s is none: %.200s", i, a.URL, raw))
		}
		b.add(c, i+1, &r, raw)
	}
	if c.json() && !c.ndjson() {
		c.showRaw(a)
	}
	if !c.json() {
		b.table.flush()
	}
	return nil
}

func (b *batch) add(c *call, n int, r *client.Verdict, raw []byte) {
	b.last = n
	if c.ndjson() {
		b.text = append(append(b.text[:0], `{"`...), b.column...)
		b.text = strconv.AppendInt(append(b.text, `":`...), int64(n), 10)
		b.text = append(append(append(b.text, ','), raw[1:]...), '\n')
		c.raw(b.text)
	}
	switch {
	case r.Err == nil && r.Replayed:
		b.replayed++
		fallthrough
	case r.Err == nil:
		b.committed++
	case r.Err.Code == string(ledger.NotAttempted):
		b.untried++
	default:
		b.refused++
	}
	if !c.json() {
		b.row(c, n, r)
	}
}

func (b *batch) row(c *call, n int, r *client.Verdict) {
	if r.Err != nil {
		c.toPeople(r.Err)
		b.table.row(n, "-", "-", "-", r.Err.Error())
		return
	}
	result := "committed"
	if r.Replayed {
		result = "replayed"
	}
	b.table.row(n, r.GlobalSeq, r.BatchSeq, joinInts(r.Minted), result)
}

// untilSignal returns a context that the first SIGINT or SIGTERM ends, with the
// error to end with as its cause. A second signal kills the process. A signal that is
// ignored, as nohup and & have it, stays so.
func untilSignal(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, halt := context.WithCancelCause(ctx)
	arrived := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		if !signal.Ignored(s) {
			signal.Notify(arrived, s)
		}
	}
	go func() {
		defer signal.Stop(arrived)
		select {
		case s := <-arrived:
			halt(exitf(128+int(s.(syscall.Signal)), "stopped by a signal (%v)", s))
		case <-ctx.Done():
		}
	}()
	return ctx, halt
}

// flush writes the results shown so far. whole says that these are all up to the
// last line of the group.
func (b *batch) flush(c *call, last int, whole bool) error {
	if err := c.out.Flush(); err != nil {
		return fmt.Errorf("not all results from line %d on could be written: %w", b.written+1, err)
	}
	if whole {
		b.written = last
	}
	return nil
}

// halted returns the error of a batch that was stopped, once all lines in flight
// have a result.
func (b *batch) halted(why error) error {
	known := "no line was carried out"
	if b.last > 0 {
		known = fmt.Sprintf("lines 1 to %d have a result: %s; no later line was carried out", b.last, b.done())
	}
	return exitf(exitCode(why), "%v; %s", why, known)
}
