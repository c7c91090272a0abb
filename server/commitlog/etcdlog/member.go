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

// A Member is a daemon that stands by. Its methods but Leader and Durable belong
// to one goroutine.
type Member struct {
	*site
	files    *commitlog.FileWriter
	who      atomic.Pointer[active] // the writer, nil if there is none
	end      atomic.Uint64          // last commit that is known to be durable
	replayed bool                   // apply has seen this host's copy
	seen     atomic.Int64           // when the copy last reached the end of the log, Unix ns
	told     uint64                 // what announce said last
	at       time.Time              // when
}

// lookEvery is how often a daemon that stands by looks without being woken.
const lookEvery = 500 * time.Millisecond

// announceEvery is how often it tells how far its copy is.
const announceEvery = time.Second

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

// Restore gives the state of the newest good checkpoint of this host.
func (m *Member) Restore(keys int, log *slog.Logger) (*ledger.State, error) {
	return m.files.Restore(keys, log)
}

// Leader is the URL of the writer, "" if there is none, or it is not known.
func (m *Member) Leader() string {
	if a := m.who.Load(); a != nil {
		return a.URL
	}
	return ""
}

// Durable is the last commit that is known to be durable, whether this host has
// it or not.
func (m *Member) Durable() uint64 { return m.end.Load() }

// behindAfter is how long a copy may be without a look at the log.
const behindAfter = 3 * time.Second

// Behind says why the copy may be behind.
func (m *Member) Behind() error {
	seen := m.seen.Load()
	if age := m.now().Sub(time.Unix(0, seen)); seen == 0 || age > behindAfter {
		return unreachable(errors.New("this daemon stands by, and has not reached the end of the log lately"))
	}
	return nil
}

// Driver names the driver, and the cluster with the prefix.
func (m *Member) Driver() (name, path string) { return "etcd", m.Where }

// Readers lists the read daemons of this host.
func (m *Member) Readers() []commitlog.ReaderInfo { return m.files.Readers() }

// Close ends it.
func (m *Member) Close() error { return m.files.Close() }

// Follow calls apply with every batch after the restored state, until this
// daemon is the writer, or ctx is done. It is the writer when Follow returns.
func (m *Member) Follow(ctx context.Context, apply func(*wal.Frame) error) (commitlog.Writer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
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

// passing reports whether an error may be over soon.
func passing(err error) bool {
	return errors.Is(err, commitlog.ErrUnreachable) || errors.Is(err, wal.ErrNoSpace) || etcd.Refused(err)
}

// Step is one turn of Follow: the writer is nil if this daemon stands by.
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
	w, err := m.become(ctx, apply)
	if errors.Is(err, wal.ErrLocked) { // another daemon was faster
		return nil, nil
	}
	return w, err
}

// Look brings this host's copy up to the end of the log, and reports whether
// nobody writes.
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
	m.seen.Store(m.now().UnixNano())
	if now := m.now(); m.told != m.local.LastSeq() && now.Sub(m.at) >= announceEvery {
		if m.announce(ctx) == nil {
			m.told, m.at = m.local.LastSeq(), now
		}
	}
	return who == nil, nil
}

// watch wakes Follow when the log has moved, or the writer's place is free.
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
