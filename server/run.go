package server

import (
	"context"
	"os"

	"assetledger/server/reader"
	"assetledger/server/writer"
)

// RunWrite runs a write daemon until ctx is done, and then returns nil. It
// returns an error if the daemon can't continue. A panic in the sequencer
// or the syncer ends the process.
func RunWrite(ctx context.Context, c writer.Config) error {
	return writer.Run(ctx, c, exitFailure)
}

func exitFailure() { os.Exit(ExitFailure) }

// RunRead runs a read daemon until ctx is done, and then returns nil. It
// returns an error if the daemon can't continue.
func RunRead(ctx context.Context, c reader.Config) error { return reader.Run(ctx, c) }
