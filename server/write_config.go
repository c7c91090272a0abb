package server

import (
	"fmt"
	"io"
	"log/slog"

	"assetledger/ledger"
	"assetledger/wal"
)

// WriteConfig is what a write daemon is told. Zero numbers mean zero: begin
// with DefaultWriteConfig.
type WriteConfig struct {
	Dir             string // of the log; made if missing
	Listen          string // host:port; port 0 for any
	IdempotencyKeys int    // keyed commits that are remembered
	SegmentSize     int64  // bytes of a segment of the log
	MaxBody         int64  // bytes of the body of one transaction or registration
	MaxBatchBody    int64  // bytes of the body of a batch request
	MaxInflight     int64  // bytes of the bodies of all requests that are not answered yet
	MaxNesting      int    // levels of JSON in a body
	Queue           int    // requests that wait to be sequenced
	MaxLag          uint64 // commits that the slowest read daemon may be behind before the health is degraded; 0: no bound
	Timeouts        Timeouts
	Access          Access
	LogAll          bool      // log every request
	Ready           io.Writer // gets one line when the daemon serves
	Notify          *Notifier // the service manager; nil for none
	Log             *slog.Logger
}

// DefaultWriteConfig has the limits of the interface.
func DefaultWriteConfig() WriteConfig {
	return WriteConfig{
		Listen: "127.0.0.1:8080", IdempotencyKeys: 1_000_000, MaxBody: 1 << 20, MaxBatchBody: 64 << 20, MaxInflight: 256 << 20,
		SegmentSize: wal.DefaultSegmentSize, MaxNesting: ledger.DefaultNesting, Queue: 4096, Timeouts: DefaultTimeouts,
	}
}

// Validate says which limit is none.
func (c *WriteConfig) Validate() error {
	for _, n := range []struct {
		name            string
		value, min, max int64
	}{
		{"idempotency-keys", int64(c.IdempotencyKeys), 0, 1 << 30},
		{"segment-size", c.SegmentSize, 64 << 10, 4 << 30},
		{"max-body", c.MaxBody, 1, 1 << 30},
		{"max-batch-body", c.MaxBatchBody, 1, 1 << 30},
		{"max-inflight", c.MaxInflight, 1, 1 << 50},
		{"max-nesting", int64(c.MaxNesting), 1, 10_000},
		{"queue", int64(c.Queue), 1, 1 << 20},
	} {
		if n.value < n.min || n.value > n.max {
			return fmt.Errorf("-%s must be from %d to %d, not %d", n.name, n.min, n.max, n.value)
		}
	}
	if c.SegmentSize%4096 != 0 {
		return fmt.Errorf("-segment-size must be a multiple of 4096, not %d", c.SegmentSize)
	}
	return nil
}
