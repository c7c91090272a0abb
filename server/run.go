package server

import (
	"context"
	"os"
)

// RunWrite runs a write daemon until ctx is done, which is no error, or it
// can't go on. A panic where the state is changed ends the process.
func RunWrite(ctx context.Context, c WriteConfig) error {
	return runWrite(ctx, c, exitFailure)
}

func exitFailure() { os.Exit(ExitFailure) }

// RunRead runs a read daemon until ctx is done, which is no error, or it can't
// go on.
func RunRead(ctx context.Context, c ReadConfig) error { return runRead(ctx, c) }
