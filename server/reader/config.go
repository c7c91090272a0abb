package reader

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
	"assetledger/server/mirror"
	"assetledger/wal"
)

// Config is the configuration of a read daemon. Zero numbers mean zero: begin with
// DefaultConfig.
type Config struct {
	Dir             string           // of the log
	Source          commitlog.Source // where the log is; nil: in Dir
	Listen          string           // host:port; port 0 for any
	Name            string           // of this read daemon, unlike those of the others on the same log
	Mirror          mirror.Config    // from where the log is copied into Dir
	MaxSilence      time.Duration    // of the sources of Mirror beyond which the health is degraded; 0: no bound
	MaxLag          uint64           // commits behind the log beyond which the health is degraded; 0: no bound
	CheckpointEvery uint64           // commits between two checkpoints; 0: none are made
	IdempotencyKeys int              // keyed commits that checkpoints hold, for the write daemon; as many as its own setting
	Poll            time.Duration    // longest sleep between two looks at the end of the log
	MaxStreams      int              // streams of commits that are open at a time; 0: httpserver.DefaultMaxStreams
	MaxInflight     int64            // bytes that all responses hold until they are written; 0: defaultReadInflight
	Timeouts        httpserver.Timeouts
	Access          httpserver.Access
	LogAll          bool                 // log every request
	Page            bool                 // serve the page for people at /
	Until           Until                // where to stop following the log
	Ready           io.Writer            // gets one line when the daemon serves
	Notify          *httpserver.Notifier // the service manager; nil for none
	Log             *slog.Logger
}

const defaultReadInflight = 32 << 20

// DefaultConfig has the limits of the interface.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:8081", Name: "read", CheckpointEvery: 1_000_000, IdempotencyKeys: 1_000_000, Poll: 100 * time.Millisecond,
		MaxStreams: httpserver.DefaultMaxStreams, MaxInflight: defaultReadInflight, Timeouts: httpserver.DefaultTimeouts, Page: true,
	}
}

// source returns where the log is.
func (c *Config) source() commitlog.Source {
	if c.Source != nil {
		return c.Source
	}
	return commitlog.File{Dir: c.Dir}
}

// url is where the daemon serves, as other machines may know it; "" if its
// address does not tell.
func (c *Config) url() string {
	host, port, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err != nil || host == "" || port == "0" || ip != nil && ip.IsUnspecified() {
		return ""
	}
	if c.Access.TLSCert != "" {
		return "https://" + c.Listen
	}
	return "http://" + c.Listen
}

// Flags makes a flag for every setting, whose default is the present value.
func (c *Config) Flags(set *flag.FlagSet) {
	set.StringVar(&c.Dir, "dir", c.Dir, "`DIRECTORY` of the commit log, the same as the write daemon's (required), for example /var/lib/ledger")
	set.StringVar(&c.Listen, "listen", c.Listen, "`ADDRESS` to listen on: host:port (port 0: any free port) or unix:/path")
	set.StringVar(&c.Name, "name", c.Name, "`NAME` of this read daemon; unique among those on one log")
	c.Mirror.Flags(set)
	set.DurationVar(&c.MaxSilence, "max-silence", c.MaxSilence, "maximum `TIME` without a sign of life from the daemons of -from; health is degraded beyond it; 0: no limit")
	set.Uint64Var(&c.MaxLag, "max-lag", c.MaxLag, "maximum lag in `COMMITS`; health is degraded beyond it; 0: no limit")
	set.Uint64Var(&c.CheckpointEvery, "checkpoint-every", c.CheckpointEvery, "`COMMITS` between two checkpoints; another one is written on shutdown; 0: none")
	set.IntVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "`NUMBER` of idempotency keys that a checkpoint holds; use the same value as for the write daemon")
	set.DurationVar(&c.Poll, "poll", c.Poll, "maximum `TIME` between two checks for new commits")
	set.Int64Var(&c.MaxInflight, "max-inflight", c.MaxInflight, "maximum memory in `BYTES` for all responses until they are written")
	set.Var(untilSeq{&c.Until}, "until", "serve the ledger as it was after commit `SEQ`, and follow no further, for example 1200")
	set.Var(untilTime{&c.Until}, "until-time", "serve the ledger as it was at this `TIME` of RFC 3339, for example 2026-01-31T12:00:00Z")
	set.IntVar(&c.MaxStreams, "max-streams", c.MaxStreams, "maximum `NUMBER` of open commit streams; beyond it, the client with the most streams loses its oldest")
	set.BoolVar(&c.Page, "page", c.Page, "serve the web page at /")
	set.BoolVar(&c.LogAll, "log-requests", c.LogAll, "log every request, not only failures of the daemon")
	c.Timeouts.Flags(set)
	c.Access.Flags(set)
}

// Validate returns an error for the first setting that is out of range.
func (c *Config) Validate() error {
	if c.Dir == "" {
		return httpserver.ErrNoDir
	}
	if err := wal.CheckReaderName(c.Name); err != nil {
		return fmt.Errorf("-name: %w", err)
	}
	if err := c.Until.check(); err != nil {
		return err
	}
	if err := c.Mirror.Check(); err != nil {
		return err
	}
	if c.MaxSilence < 0 {
		return errors.New("-max-silence can't be negative")
	}
	if c.MaxSilence > 0 && c.Mirror.From == "" {
		return errors.New("-max-silence needs -from: there is no other daemon to hear")
	}
	if c.Poll <= 0 || c.Poll > time.Minute {
		return errors.New("-poll must be more than 0 and at most 1m")
	}
	if err := httpserver.CheckSpans(
		httpserver.Span{Flag: "idempotency-keys", Value: int64(c.IdempotencyKeys), Min: 0, Max: httpserver.MaxKeys},
		httpserver.Span{Flag: "max-inflight", Value: c.MaxInflight, Min: 1, Max: 1 << 50},
		httpserver.Span{Flag: "max-streams", Value: int64(c.MaxStreams), Min: 1, Max: 1 << 20},
	); err != nil {
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
	return Run(ctx, *c)
}
