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

// A Driver is the log below one prefix in etcd, for the daemon of one host.
type Driver struct {
	API    etcd.API
	Prefix string // of the keys; does not end with a slash
	Where  string // cluster and prefix for messages, without secrets

	Dir  string // directory of this host's copy of the log
	Opt  wal.Options
	Name string // of this daemon; unique among the daemons of the log
	URL  string // URL at which clients reach this daemon

	Lease time.Duration // lease of the writer's place; 0 means DefaultLease
	Tail  int64         // minimum bytes of the log kept in etcd, but at most a quarter of its quota; 0 means DefaultTail
	Log   *slog.Logger
	// Fill copies the log from the daemons at urls, up to commit upTo, into a
	// directory whose copy ends before the oldest frame in etcd. If it is nil, such a
	// directory is rejected.
	Fill func(ctx context.Context, w *wal.Writer, urls []string, upTo uint64) error

	// Heard returns the mirrors that read from this daemon. It may be nil.
	Heard func() []commitlog.Mirror

	// For simulations and tests. With Manual, a Writer starts no goroutines, and Beat
	// and Look sync the copy. Again replaces the rule that says when to stop trying.
	Manual bool
	Again  func() func() bool // nil means to try for Patience
	Rand   io.Reader
	Now    func() time.Time
}

const (
	// DefaultLease is the time for which the writer's place stays taken after the
	// last renewal.
	DefaultLease = 3 * time.Second
	// DefaultTail is how much of the log, in bytes, a daemon may miss during a
	// short downtime and still find in etcd.
	DefaultTail = 64 << 20
	// Patience is the maximum time for which a call is retried. After that, the
	// clients that wait for an append are told that its outcome is unknown. Patience
	// is longer than etcd takes to elect a new leader.
	Patience = 5 * time.Second
	// MaxBody is the maximum size of a batch's body, in bytes. It keeps a
	// transaction below etcd's limit of 1.5 MiB.
	MaxBody = 1<<20 - 4<<10
)

var (
	_ commitlog.Cluster = (*Driver)(nil)
	_ commitlog.Writer  = (*Writer)(nil)
	_ commitlog.Member  = (*Member)(nil)
)

// files returns the driver of this host's copy.
func (d *Driver) files() commitlog.File { return commitlog.File{Dir: d.Dir, Opt: d.Opt} }

// Open opens this host's copy for reading.
func (d *Driver) Open() (commitlog.Reader, error) { return d.files().Open() }

// Register registers a read daemon of this host.
func (d *Driver) Register(name string) (commitlog.Registration, error) {
	return d.files().Register(name)
}

// Checkpoints returns the checkpoints of this host.
func (d *Driver) Checkpoints() commitlog.CheckpointStore { return d.files().Checkpoints() }

// OpenWriter claims the writer's place, and brings this host's copy up to the
// end of the log. It returns wal.ErrLocked if another daemon has the place.
func (d *Driver) OpenWriter() (commitlog.Writer, error) {
	ctx := context.Background()
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	w, err := s.become(ctx, s.read, nil)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.local.SyncCopy(); err != nil { // the copy is read back next
		return nil, errors.Join(err, w.Close())
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

// nonce returns a random string.
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

// tries returns a function that pauses, and then reports whether to try again.
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

// insist repeats a call until there is a response, whether success or error. It
// returns an ErrUnreachable if there is none for too long.
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

// txn executes a transaction with insist.
func (d *Driver) txn(ctx context.Context, t *etcd.Txn) (r *etcd.TxnResult, err error) {
	err = d.insist(ctx, func() (err error) {
		r, err = d.API.Txn(ctx, t)
		return err
	})
	return r, err
}
