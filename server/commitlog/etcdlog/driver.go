package etcdlog

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A Driver is the log below one prefix in etcd, as the daemon of one host has it.
type Driver struct {
	API    etcd.API
	Prefix string // of the keys; without a slash at its end
	Where  string // the cluster and the prefix, for people; without secrets

	Dir  string // this host's copy of the log
	Opt  wal.Options
	Name string // of this daemon, unlike those of the others of the log
	URL  string // where clients reach it

	Lease time.Duration // of the writer's place; DefaultLease if 0
	Tail  int64         // bytes of the log that etcd keeps at least; DefaultTail if 0
	Log   *slog.Logger
	// Fill brings a directory that is older than what etcd keeps up to a commit,
	// from another host. Nil: such a directory is refused.
	Fill func(ctx context.Context, w *wal.Writer, urls []string, upTo uint64) error

	// For simulations: no goroutines, and when to go on trying.
	Manual bool
	Again  func() func() bool // nil: for Patience
	Rand   io.Reader
	Now    func() time.Time
}

const (
	// DefaultLease is how long the writer's place stays taken after its end.
	DefaultLease = 3 * time.Second
	// DefaultTail is what a daemon may miss while it is down for a while.
	DefaultTail = 64 << 20
	// Patience is how long an append is tried before those who wait are told
	// that its outcome is unknown. etcd elects a new leader in less.
	Patience = 5 * time.Second
	// MaxBody keeps a transaction below etcd's limit of 1.5 MiB.
	MaxBody = 1<<20 - 4<<10
)

var (
	_ commitlog.Cluster = (*Driver)(nil)
	_ commitlog.Writer  = (*Writer)(nil)
	_ commitlog.Member  = (*Member)(nil)
)

// files is the driver of this host's copy.
func (d *Driver) files() commitlog.File { return commitlog.File{Dir: d.Dir, Opt: d.Opt} }

// Open opens this host's copy for reading.
func (d *Driver) Open() (commitlog.Reader, error) { return d.files().Open() }

// Register makes a read daemon of this host known.
func (d *Driver) Register(name string) (commitlog.Registration, error) {
	return d.files().Register(name)
}

// Checkpoints are those of this host.
func (d *Driver) Checkpoints() commitlog.CheckpointStore { return d.files().Checkpoints() }

// OpenWriter takes the place of the writer: wal.ErrLocked if another daemon has
// it. This host's copy is brought up to the end of the log.
func (d *Driver) OpenWriter() (commitlog.Writer, error) {
	ctx := context.Background()
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.become(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return w, nil
}

func (d *Driver) lease() time.Duration {
	if d.Lease == 0 {
		return DefaultLease
	}
	return d.Lease
}

func (d *Driver) tail() int64 {
	if d.Tail == 0 {
		return DefaultTail
	}
	return d.Tail
}

func (d *Driver) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// nonce is a random word.
func (d *Driver) nonce() string {
	b, from := make([]byte, 8), d.Rand
	if from == nil {
		from = rand.Reader
	}
	if _, err := io.ReadFull(from, b); err != nil {
		panic(err)
	}
	return hex.EncodeToString(b)
}

func (d *Driver) logger() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Log
}

// tries returns a function that says, after some time, whether to try again.
func (d *Driver) tries(ctx context.Context) func() bool {
	if d.Again != nil {
		return d.Again()
	}
	end, wait := time.Now().Add(Patience), 10*time.Millisecond
	return func() bool {
		t := time.NewTimer(wait)
		defer t.Stop()
		wait = min(2*wait, 100*time.Millisecond)
		select {
		case <-ctx.Done():
			return false
		case <-t.C:
		}
		return time.Now().Before(end)
	}
}

// insist makes a call until it has an answer, good or bad: unreachable if there
// is none for too long.
func (d *Driver) insist(ctx context.Context, call func() error) error {
	again := d.tries(ctx)
	for {
		err := call()
		if err == nil || etcd.Refused(err) || ctx.Err() != nil {
			return err
		}
		if !again() {
			return unreachable(err)
		}
	}
}

func unreachable(err error) error { return fmt.Errorf("%w: %w", commitlog.ErrUnreachable, err) }

// txn insists on a transaction.
func (d *Driver) txn(ctx context.Context, t *etcd.Txn) (r *etcd.TxnResult, err error) {
	err = d.insist(ctx, func() (err error) {
		r, err = d.API.Txn(ctx, t)
		return err
	})
	return r, err
}
