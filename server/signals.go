package server

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext returns a context that is done at the first SIGTERM or SIGINT.
// A second signal ends the process at once, as a failure. The log is then in
// the same state as after a crash.
func SignalContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(ExitFailure)
	}()
	return ctx
}
