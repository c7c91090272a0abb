package commitlog

import (
	"context"
	"log/slog"

	"assetledger/ledger"
	"assetledger/wal"
)

// A Cluster is a Driver for several daemons, of which one writes. The others
// stand by: they follow the log, and one of them takes over when the writer is
// gone.
type Cluster interface {
	Driver
	// Join makes this daemon one of those that stand by.
	Join(ctx context.Context) (Member, error)
}

// A Member is a daemon that stands by.
type Member interface {
	// Restore is Writer.Restore, on this daemon's copy.
	Restore(keys int, log *slog.Logger) (*ledger.State, error)
	// Follow calls apply with every durable batch after the restored state, and
	// returns when this daemon is the writer, having applied everything. The
	// Member then has become the Writer: only that one is closed. Otherwise the
	// error is ctx's, apply's, or what makes the copy unusable.
	Follow(ctx context.Context, apply func(*wal.Frame) error) (Writer, error)
	// Leader is the URL of the writer, "" if there is none at the moment. It
	// belongs to any goroutine, as the ones below do but Close.
	Leader() string
	// Durable is the last commit that is known to be durable.
	Durable() uint64
	// Behind says why this daemon does not follow the log at present, nil if it does.
	Behind() error
	Driver() (name, path string)
	Readers() []ReaderInfo
	Close() error
}

// A ClusterWriter is the Writer that a Member becomes.
type ClusterWriter interface {
	Writer
	// Lost has one error when this daemon is no longer the writer.
	Lost() <-chan error
	// Shaky says why another daemon may be about to take over, nil if none is.
	Shaky() error
	// Abandon has Append and Confirm return, though what they wait for has not
	// happened.
	Abandon()
	Report() ClusterReport
}

// A Mirror is a copy of the log on another host.
type Mirror struct {
	Name string
	Seq  uint64 // up to which it is durable there
	URL  string // of its daemon
}

// A ClusterReport is what health and metrics tell of a log on several machines.
type ClusterReport struct {
	Mirrors   []Mirror
	TailBytes int64   // that the newest part of the log takes
	QuotaUsed float64 // of what it may take, from 0 to 1
	NearFull  bool    // commits will be refused soon
	Retries   uint64  // attempts to append beyond the first
}
