package writer

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/wal"
)

// Config is the configuration of a write daemon. A field that is 0 means 0, not a
// default, so start from DefaultConfig.
type Config struct {
	Dir             string           // directory of the log; created if missing
	Driver          commitlog.Driver // driver of the log; nil for the one that LogDriver selects
	LogDriver       LogConfig
	Listen          string // host:port, where port 0 means any free port, or unix:/path
	IdempotencyKeys int    // number of commits with idempotency keys to remember
	SegmentSize     int64  // size of a segment of the log, in bytes
	MaxBody         int64  // maximum body of one transaction or registration, in bytes
	MaxBatchBody    int64  // maximum body of a batch request, in bytes
	MaxInflight     int64  // maximum bytes that all requests hold, from body to response
	MaxNesting      int    // maximum nesting levels of JSON in a body
	Queue           int    // maximum number of requests that wait for the sequencer
	MaxLag          uint64 // maximum lag of the slowest read daemon, in commits; health is degraded beyond it; 0 for no limit
	Expire          bool   // release expired holds
	Timeouts        httpserver.Timeouts
	Access          httpserver.Access
	LogAll          bool                 // log every request
	Ready           io.Writer            // receives one line when the daemon is ready
	Notify          *httpserver.Notifier // the service manager; nil for none
	Log             *slog.Logger
}

// DefaultConfig returns the default configuration. Its limits are those that the
// HTTP interface promises.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:8080", IdempotencyKeys: 1_000_000, MaxBody: 1 << 20, MaxBatchBody: 64 << 20, MaxInflight: 256 << 20,
		SegmentSize: wal.DefaultSegmentSize, MaxNesting: ledger.DefaultNesting, Queue: 4096, Expire: true, Timeouts: httpserver.DefaultTimeouts,
		LogDriver: LogConfig{Name: driverFile, Standby: true},
	}
}

// Flags defines a flag for every setting. The current value is the default.
func (c *Config) Flags(set *flag.FlagSet) {
	set.StringVar(&c.Dir, "dir", c.Dir, "`DIRECTORY` of the commit log; created if missing (required), for example /var/lib/ledger")
	set.StringVar(&c.Listen, "listen", c.Listen, "`ADDRESS` to listen on: host:port (port 0: any free port) or unix:/path")
	set.IntVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "`NUMBER` of idempotency keys to remember, newest first")
	set.Int64Var(&c.SegmentSize, "segment-size", c.SegmentSize, "size of a log segment in `BYTES`")
	set.Int64Var(&c.MaxBody, "max-body", c.MaxBody, "maximum size in `BYTES` of the body of a commit, preflight or registration, and of a line in a stream")
	set.Int64Var(&c.MaxBatchBody, "max-batch-body", c.MaxBatchBody, "maximum size in `BYTES` of the body of a batch request")
	set.Int64Var(&c.MaxInflight, "max-inflight", c.MaxInflight, "maximum memory in `BYTES` for all requests in progress; counts bodies, parsed operations, and responses until they are written; idle streams get a quarter of it, 128 KiB each, and those of one client half of that")
	set.IntVar(&c.MaxNesting, "max-nesting", c.MaxNesting, "maximum nesting `LEVELS` of JSON in a body")
	set.IntVar(&c.Queue, "queue", c.Queue, "maximum `NUMBER` of requests waiting for the sequencer")
	set.Uint64Var(&c.MaxLag, "max-lag", c.MaxLag, "maximum lag in `COMMITS` of the slowest read daemon; health is degraded beyond it; 0: no limit")
	set.BoolVar(&c.Expire, "expire", c.Expire, "release expired holds; -expire=false leaves them, for imports")
	set.BoolVar(&c.LogAll, "log-requests", c.LogAll, "log every request, not only failures of the daemon")
	c.LogDriver.flags(set)
	c.Timeouts.Flags(set)
	c.Access.Flags(set)
}

// Validate returns an error for the first setting that is out of range.
func (c *Config) Validate() error {
	if c.Dir == "" {
		return httpserver.ErrNoDir
	}
	if err := httpserver.CheckSpans(
		httpserver.Span{Flag: "idempotency-keys", Value: int64(c.IdempotencyKeys), Min: 0, Max: httpserver.MaxKeys},
		httpserver.Span{Flag: "segment-size", Value: c.SegmentSize, Min: 64 << 10, Max: 4 << 30},
		httpserver.Span{Flag: "max-body", Value: c.MaxBody, Min: 1, Max: 1 << 30},
		httpserver.Span{Flag: "max-batch-body", Value: c.MaxBatchBody, Min: 1, Max: 1 << 30},
		httpserver.Span{Flag: "max-inflight", Value: c.MaxInflight, Min: 1, Max: 1 << 50},
		httpserver.Span{Flag: "max-nesting", Value: int64(c.MaxNesting), Min: 1, Max: 10_000},
		httpserver.Span{Flag: "queue", Value: int64(c.Queue), Min: 1, Max: 1 << 20},
	); err != nil {
		return err
	}
	if c.SegmentSize%4096 != 0 {
		return fmt.Errorf("-segment-size must be a multiple of 4096, not %d", c.SegmentSize)
	}
	if err := c.LogDriver.check(); err != nil {
		return err
	}
	if err := c.Timeouts.Check(); err != nil {
		return err
	}
	return c.Access.Check(c.Listen)
}

func (c *Config) Run(ctx context.Context, p httpserver.Process) error {
	if err := c.Access.Surround(); err != nil {
		return err
	}
	c.Ready, c.Notify, c.Log = p.Ready, p.Notify, p.Log
	return Run(ctx, *c, p.Exit)
}
