package server

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// SignalContext is done at the first SIGTERM or SIGINT. At the second one the
// process ends at once, as a failure: whoever sends it does not want to wait.
// The log is then as after a crash.
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
