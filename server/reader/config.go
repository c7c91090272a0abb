package reader

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/httpclient"
	"assetledger/server/httpserver"
	"assetledger/server/mirror"
	"assetledger/wal"
)

// Config is the configuration of a read daemon. A field that is 0 means 0 and not a
// default, unless its comment says otherwise, so start from DefaultConfig.
type Config struct {
	Dir             string           // directory of the log
	Source          commitlog.Source // source of the log; nil for the one in Dir
	Listen          string           // host:port or unix:/path; port 0 for any free port
	Name            string           // name of this read daemon; unique among those of the same log
	Mirror          mirror.Config    // sources from which the log is copied into Dir
	WriteURL        string           // URLs, separated by commas, of the write daemons whose health the status shows; "" for none
	WriteTrust      httpclient.Trust // how to trust these write daemons
	MaxSilence      time.Duration    // maximum silence of the sources of Mirror; health is degraded beyond it; 0 for no limit
	MaxLag          uint64           // maximum lag behind the log, in commits; health is degraded beyond it; 0 for no limit
	CheckpointEvery uint64           // commits between two checkpoints; 0 to make none
	IdempotencyKeys int              // idempotency keys that checkpoints hold for the write daemon; must be the number that the write daemon remembers
	Poll            time.Duration    // maximum sleep between two checks of the end of the log
	MaxStreams      int              // maximum number of open streams of commits and of the log; 0 for httpserver.DefaultMaxStreams
	MaxInflight     int64            // maximum bytes that all responses hold until they are written; 0 for defaultReadInflight
	Timeouts        httpserver.Timeouts
	Access          httpserver.Access
	LogAll          bool                 // log every request
	Page            bool                 // serve the page for people at /
	Until           Until                // where to stop following the log
	Ready           io.Writer            // receives one line when the daemon is ready
	Notify          *httpserver.Notifier // the service manager; nil for none
	Log             *slog.Logger
}

const defaultReadInflight = 32 << 20

// DefaultConfig returns the default configuration. Its limits are those that the
// HTTP interface promises.
func DefaultConfig() Config {
	return Config{
		Listen: "127.0.0.1:8081", Name: "read", CheckpointEvery: 1_000_000, IdempotencyKeys: 1_000_000, Poll: 100 * time.Millisecond,
		MaxStreams: httpserver.DefaultMaxStreams, MaxInflight: defaultReadInflight, Timeouts: httpserver.DefaultTimeouts, Page: true,
	}
}

// source returns the source of the log.
func (c *Config) source() commitlog.Source {
	if c.Source != nil {
		return c.Source
	}
	return commitlog.File{Dir: c.Dir}
}

// url returns the URL at which other machines may reach the daemon, or "" if the
// listen address does not show it.
func (c *Config) url() string {
	if strings.HasPrefix(c.Listen, "unix:") {
		return ""
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if ip := net.ParseIP(host); err != nil || host == "" || port == "0" || ip != nil && ip.IsUnspecified() {
		return ""
	}
	if c.Access.TLSCert != "" {
		return "https://" + c.Listen
	}
	return "http://" + c.Listen
}

// Flags defines a flag for every setting. The current value is the default.
func (c *Config) Flags(set *flag.FlagSet) {
	set.StringVar(&c.Dir, "dir", c.Dir, "`DIRECTORY` of the commit log, the same as the write daemon's (required), for example /var/lib/ledger")
	set.StringVar(&c.Listen, "listen", c.Listen, "`ADDRESS` to listen on: host:port (port 0: any free port) or unix:/path")
	set.StringVar(&c.Name, "name", c.Name, "`NAME` of this read daemon; unique among those on one log")
	c.Mirror.Flags(set)
	c.WriteTrust.Prefix = "write-"
	set.StringVar(&c.WriteURL, "write-url", c.WriteURL, "`URLS`, separated by commas, of the write daemons whose health the page shows, for example http://127.0.0.1:8080")
	set.StringVar(&c.WriteTrust.CA, "write-ca", c.WriteTrust.CA, "`FILE` with the root certificates of the daemons of -write-url, in PEM, for example /etc/ledger/ca.crt")
	set.DurationVar(&c.MaxSilence, "max-silence", c.MaxSilence, "maximum `TIME` without a sign of life from the daemons of -from; health is degraded beyond it; 0: no limit")
	set.Uint64Var(&c.MaxLag, "max-lag", c.MaxLag, "maximum lag in `COMMITS`; health is degraded beyond it; 0: no limit")
	set.Uint64Var(&c.CheckpointEvery, "checkpoint-every", c.CheckpointEvery, "`COMMITS` between two checkpoints; another one is written on shutdown; 0: none")
	set.IntVar(&c.IdempotencyKeys, "idempotency-keys", c.IdempotencyKeys, "`NUMBER` of idempotency keys that a checkpoint holds; use the same value as for the write daemon")
	set.DurationVar(&c.Poll, "poll", c.Poll, "maximum `TIME` between two checks for new commits")
	set.Int64Var(&c.MaxInflight, "max-inflight", c.MaxInflight, "maximum memory in `BYTES` for all responses until they are written")
	set.Var(untilSeq{&c.Until}, "until", "serve the ledger as it was after commit `SEQ`, and stop following there, for example 1200")
	set.Var(untilTime{&c.Until}, "until-time", "serve the ledger as it was at `TIME`, in RFC 3339 form, for example 2026-01-31T12:00:00Z")
	set.IntVar(&c.MaxStreams, "max-streams", c.MaxStreams, "maximum `NUMBER` of open streams of commits and of the log; beyond it, the client with the most streams loses its oldest")
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
	if _, err := c.writeURLs(); err != nil {
		return err
	}
	if c.WriteURL == "" && c.WriteTrust.CA != "" {
		return errors.New("-write-ca needs -write-url: it is for connections to those daemons")
	}
	if c.MaxSilence < 0 {
		return errors.New("-max-silence can't be negative")
	}
	if c.MaxSilence > 0 && c.Mirror.From == "" {
		return errors.New("-max-silence needs -from: without it, there is no other daemon to hear from")
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
