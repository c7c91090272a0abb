package server

import (
	"assetledger/server/reader"
	"assetledger/server/writer"
	"context"
	"os"
)

// RunWrite runs a write daemon until ctx is done, which is no error, or it
// can't go on. A panic where the state is changed ends the process.
func RunWrite(ctx context.Context, c writer.Config) error {
	return writer.Run(ctx, c, exitFailure)
}

func exitFailure() { os.Exit(ExitFailure) }

// RunRead runs a read daemon until ctx is done, which is no error, or it can't
// go on.
func RunRead(ctx context.Context, c reader.Config) error { return reader.Run(ctx, c) }
