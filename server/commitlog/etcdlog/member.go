package etcdlog

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/etcd"
	"assetledger/wal"
)

// A Member is a daemon that stands by. Only one goroutine at a time may call its
// methods, except Leader, Durable, Behind, Driver and Readers, which any goroutine
// may call.
type Member struct {
	*site
	files    *commitlog.FileWriter
	who      atomic.Pointer[active] // the writer; nil if there is none
	end      atomic.Uint64          // last commit that is known to be durable
	replayed bool                   // apply has been called for everything in this host's copy
	seen     atomic.Int64           // when the copy last reached the end of the log, in Unix nanoseconds
	told     uint64                 // last announced commit
	at       time.Time              // time of the last announcement
}

// lookEvery is the interval at which a standby looks at the log without being
// woken.
const lookEvery = 500 * time.Millisecond

// Join checks that the cluster can be used, and opens this host's copy.
func (d *Driver) Join(ctx context.Context) (commitlog.Member, error) {
	if err := d.probe(ctx); err != nil {
		return nil, err
	}
	s, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	m := &Member{site: s, files: commitlog.NewFileWriter(s.local, d.Dir, d.Opt)}
	h, who, err := s.look(ctx)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	m.who.Store(who)
	m.end.Store(h.Seq)
	return m, nil
}

// Restore returns the state of the newest valid checkpoint of this host.
func (m *Member) Restore(keys int, log *slog.Logger) (*ledger.State, error) {
	return m.files.Restore(keys, log)
}

// Leader returns the URL of the writer, or "" if there is none or it is unknown.
func (m *Member) Leader() string {
	if a := m.who.Load(); a != nil {
		return a.URL
	}
	return ""
}

// Durable returns the last commit that is known to be durable, whether or not this
// host has it.
func (m *Member) Durable() uint64 { return m.end.Load() }

// behindAfter is how long the copy may go without reaching the end of the log before
// Behind returns an error.
const behindAfter = 3 * time.Second

// Behind returns an ErrUnreachable if the copy may be behind the log, and nil
// otherwise.
func (m *Member) Behind() error {
	seen := m.seen.Load()
	if age := m.now().Sub(time.Unix(0, seen)); seen == 0 || age > behindAfter {
		return unreachable(errors.New("this daemon stands by, and has not reached the end of the log recently"))
	}
	return nil
}

// Driver returns "etcd", and the cluster with the prefix.
func (m *Member) Driver() (name, path string) { return "etcd", m.Where }

// Readers returns the read daemons of this host.
func (m *Member) Readers() []commitlog.ReaderInfo { return m.files.Readers() }

// Close closes this host's copy.
func (m *Member) Close() error { return m.files.Close() }

// Follow calls apply with every batch after the restored state, until this daemon
// is the writer or ctx is done. If it returns no error, this daemon is the writer.
func (m *Member) Follow(ctx context.Context, apply func(*wal.Frame) error) (commitlog.Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go m.hasten(ctx)
	wake := m.watch(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		w, err := m.Step(ctx, apply)
		switch {
		case ctx.Err() != nil && w == nil:
			return nil, ctx.Err()
		case err != nil && !passing(err):
			return nil, err
		case err != nil:
			m.logger().Warn("this daemon stands by, and can't follow the log at the moment", "error", err)
		case w != nil:
			return w, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-wake:
		case <-tick.C:
		}
	}
}

// passing reports whether an error may be temporary.
func passing(err error) bool {
	return errors.Is(err, commitlog.ErrUnreachable) || errors.Is(err, wal.ErrNoSpace) || etcd.Refused(err)
}

// Step runs one iteration of Follow. It returns a nil Writer while this daemon
// stands by.
func (m *Member) Step(ctx context.Context, apply func(*wal.Frame) error) (*Writer, error) {
	if !m.replayed {
		if err := m.files.ReadBack(apply); err != nil {
			return nil, err
		}
		m.replayed = true
	}
	vacant, err := m.Look(ctx, apply)
	if err != nil || !vacant {
		return nil, err
	}
	w, err := m.become(ctx, m.read, apply)
	if errors.Is(err, wal.ErrLocked) { // another daemon became the writer first
		return nil, nil
	}
	return w, err
}

// Look brings this host's copy up to the end of the log, and reports whether there
// is no writer.
func (m *Member) Look(ctx context.Context, apply func(*wal.Frame) error) (vacant bool, err error) {
	h, who, err := m.look(ctx)
	if err != nil {
		return false, err
	}
	m.who.Store(who)
	m.end.Store(h.Seq)
	if h.Seq < m.local.LastSeq() {
		return false, fmt.Errorf("the log in %s went back from commit %d to %d", m.Where, m.local.LastSeq(), h.Seq)
	}
	if err := m.advance(ctx, h, apply); err != nil {
		return false, err
	}
	if err := m.local.Err(); err != nil {
		return false, err // a sync of the copy failed
	}
	if m.Manual {
		if err := m.local.SyncCopy(); err != nil {
			return false, err
		}
	}
	now, mine := m.now(), m.local.Durable()
	m.seen.Store(now.UnixNano())
	if age := now.Sub(m.at); age >= signEvery || age >= announceEvery && m.told != mine {
		if m.announce(ctx, mine) == nil {
			m.told, m.at = mine, now
		}
	}
	return who == nil, nil
}

// watch wakes Follow when the log has grown or the writer's place has become free.
func (m *Member) watch(ctx context.Context) <-chan struct{} {
	wake := make(chan struct{}, 1)
	for _, key := range []string{m.headKey(), m.activeKey()} {
		go func() {
			for ctx.Err() == nil {
				m.API.Watch(ctx, key, "", 0, func(etcd.Event) {
					select {
					case wake <- struct{}{}:
					default:
					}
				})
				t := time.NewTimer(lookEvery)
				select {
				case <-ctx.Done():
				case <-t.C:
				}
				t.Stop()
			}
		}()
	}
	return wake
}
