package commitlog

import (
	"context"
	"log/slog"

	"assetledger/ledger"
	"assetledger/wal"
)

// A Cluster is a Driver for several daemons, one of which writes. The others stand
// by: they follow the log, and one of them takes over when the writer fails.
type Cluster interface {
	Driver
	// Join adds this daemon to those that stand by.
	Join(ctx context.Context) (Member, error)
	// Hear sets the function that lists the mirrors that read the log from this
	// daemon. It must be called once, before Member.Follow.
	Hear(mirrors func() []Mirror)
}

// CopiesWanted is the number of copies of the log that should exist on other hosts.
// Commits that are in fewer copies stay in the store of the newest part of the log.
const CopiesWanted = 2

// A Member is a daemon of a Cluster that stands by.
type Member interface {
	// Restore returns the state of the newest valid checkpoint of this daemon's copy of
	// the log, or the empty state. Follow then continues after it. The argument keys is
	// the number of idempotency keys that the state remembers.
	Restore(keys int, log *slog.Logger) (*ledger.State, error)
	// Follow calls apply with every durable batch after the restored state. It
	// returns when this daemon has become the writer and has applied every batch.
	// The Member has then turned into the returned Writer, and only the Writer must
	// be closed. Otherwise Follow returns the error of ctx or apply, or the reason
	// why the copy is unusable.
	Follow(ctx context.Context, apply func(*wal.Frame) error) (Writer, error)
	// Leader returns the URL of the writer, or "" if there is none at the moment.
	// Leader and the methods below, except Close, may be called from any goroutine.
	Leader() string
	// Durable returns the last commit that is known to be durable.
	Durable() uint64
	// Behind returns the reason why this daemon is not following the log at
	// present, or nil if it is.
	Behind() error
	Driver() (name, path string)
	Readers() []ReaderInfo
	Close() error
}

// A ClusterWriter is the Writer that a Member becomes.
type ClusterWriter interface {
	Writer
	// Lost returns a channel that receives one error when this daemon is no longer
	// the writer.
	Lost() <-chan error
	// Shaky returns the reason why another daemon may be about to take over, or nil
	// if there is none.
	Shaky() error
	// Abandon makes Append and Confirm return at once, even if what they wait for has
	// not happened.
	Abandon()
	Report() ClusterReport
}

// A Mirror is a copy of the log on another host.
type Mirror struct {
	Name string
	Seq  uint64 // last commit that is durable in the copy
	Kept uint64 // last commit that the mirror no longer needs from elsewhere; at most Seq
	URL  string // URL of its daemon
}

// A ClusterReport is what health and metrics report about a log on several
// machines.
type ClusterReport struct {
	Mirrors   []Mirror
	TailBytes int64   // bytes in use in the store of the newest part of the log
	QuotaUsed float64 // share of the store's quota in use; 1 is all of it
	NearFull  bool    // commits may be rejected soon
	Retries   uint64  // repeated attempts to append
}
