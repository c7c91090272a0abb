package ctl

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

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
