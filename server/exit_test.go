package server

import (
	"errors"
	"fmt"
	"testing"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, ExitStopped},
		{errors.New("the address is taken"), ExitFailure},
		{wal.ErrReplaced, ExitFailure},
		{wal.ErrNameTaken, ExitFailure},
		{&httpserver.UsageError{}, ExitUsage},
		{&wal.CorruptError{File: "x.seg"}, ExitDamaged},
		{&commitlog.ReplayError{Seq: 3, Err: errors.New("the digest differs")}, ExitDamaged},
		{fmt.Errorf("-idempotency-keys: %w", ledger.ErrCheckpointWindow), ExitUsage},
		{wal.ErrSameDir, ExitUsage},
		{wal.ErrLocked, ExitLocked},
	} {
		wrapped := c.err
		if c.err != nil {
			wrapped = errors.Join(fmt.Errorf("starting: %w", c.err), nil)
		}
		if got := ExitCode(wrapped); got != c.want {
			t.Errorf("%v gives the exit code %d, want %d", c.err, got, c.want)
		}
	}
}
