// Package mirror fills a directory with the log of a daemon on another machine,
// so that both hold the same bytes:
//
//	no log → begin, with a checkpoint or from the first frame → follow … ⇄ (try again, elsewhere)
//
// It is the only writer of the directory, under the same lock as a write daemon,
// and the directory is marked as a copy, so that none makes a second history of
// it. A frame is stored only when all of it was checked and it follows the last
// one: its CRCs, its place in the segment, and the chain. Each frame is synced
// before END tells of it, so readers of the directory see nothing that a crash
// can take back. The digests are compared by the read daemons, which apply it.
package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"assetledger/server/logstream"
	"assetledger/wal"
)

// lockEvery is how often a mirror tries for the place of one that fills the directory.
const lockEvery = time.Second

// A Mirror fills a directory, or waits for the place of the process that does.
type Mirror struct {
	dir  string
	opt  wal.Options
	src  *Source
	log  *slog.Logger
	self logstream.Mirror // as it reports

	mu      sync.Mutex
	heard   uint64    // the source's durable end, as last told
	when    time.Time // it was told; zero: never
	url     string    // of who told it
	began   time.Time
	why     error // of the last failure; nil while all is well
	hopeful bool  // no round over all sources has failed since something was heard
	filling bool
}

// New makes a mirror. name is that of the daemon, url where it serves, "" if unknown.
func New(c Config, dir, name, url string, log *slog.Logger) (*Mirror, error) {
	m := &Mirror{dir: dir, log: log, self: logstream.Mirror{Name: name, URL: url}, began: time.Now(), hopeful: true}
	m.opt = wal.Options{Copy: true, OnNotice: func(text string) { log.Warn(text) }}
	src, err := NewSource(c, log, m.noteNews)
	if err != nil {
		return nil, err
	}
	src.failing, src.marks = m.noteFailure, true
	m.src = src
	return m, nil
}

func (m *Mirror) noteNews(url string, durable uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heard, m.when, m.url, m.why, m.hopeful = max(m.heard, durable), time.Now(), url, nil, true
}

// noteFailure is told why the daemon in use can't be copied from.
func (m *Mirror) noteFailure(err error, round bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, foreign := errors.AsType[*ForeignError](m.why); !foreign || m.why == nil {
		m.why = err
	}
	if round {
		m.hopeful = false
	}
}

// A Status is how a mirror does.
type Status struct {
	URL     string        // of the daemon that was heard last; "": none yet
	Seq     uint64        // the last durable commit that was heard of
	Silence time.Duration // since anything was heard
	Foreign bool          // a source has another history
	Err     error         // of the last failure; nil while all is well
	Hopeful bool          // a source was heard, or not all were tried yet
	Heard   bool          // anything was heard
}

// Status returns how the mirror does.
func (m *Mirror) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := Status{URL: m.url, Seq: m.heard, Err: m.why, Hopeful: m.hopeful, Heard: !m.when.IsZero()}
	since := m.when
	if since.IsZero() {
		since = m.began
	}
	s.Silence = time.Since(since)
	_, s.Foreign = errors.AsType[*ForeignError](m.why)
	return s
}

// Run fills the directory until ctx is done (nil), or the log in it is damaged.
func (m *Mirror) Run(ctx context.Context) error {
	told := false
	p := pauses{}
	for ctx.Err() == nil {
		err := m.fill(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, wal.ErrLocked):
			if !told {
				m.log.Info("another process fills the directory; waiting for its place", "dir", m.dir)
				told = true
			}
			m.listen(ctx)
		case isDamage(err):
			return err
		default:
			told = false
			if p.failed(ctx, m.src, err) != nil {
				return nil
			}
		}
	}
	return nil
}

// isDamage reports whether no other try can help.
func isDamage(err error) bool {
	_, damage := errors.AsType[*wal.CorruptError](err)
	return damage || errors.Is(err, wal.ErrVersion)
}

// fill takes the directory and fills it.
func (m *Mirror) fill(ctx context.Context) error {
	o := m.opt
	origin, err := m.src.Begin(ctx, m.dir, o)
	if err != nil {
		return err
	}
	if o.Origin = origin; origin != nil {
		o.SegmentSize = origin.SegmentSize
	}
	w, err := wal.Open(m.dir, o)
	if err != nil {
		return err
	}
	defer w.Close()
	if err := wal.ClearBegin(m.dir, m.opt); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		m.report(ctx, w)
	}()
	defer func() {
		cancel()
		<-reported
	}()
	return m.src.Fill(ctx, m.dir, m.opt, w, 0)
}

// report tells the source each second how far this mirror is.
func (m *Mirror) report(ctx context.Context, w *wal.Writer) {
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		self := m.self
		if list, err := wal.ListCheckpoints(m.dir, m.opt); err == nil && len(list) > 1 {
			self.Checkpoint = list[0]
		}
		m.src.report(self)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		m.src.end(ctx, w.LastSeq()+1)
	}
}

// listen asks the source for its end, while another process fills the directory.
func (m *Mirror) listen(ctx context.Context) {
	if end, err := m.src.end(ctx, 1); err == nil {
		m.noteNews(m.src.URL(), end)
	} else {
		m.noteFailure(err, m.src.turn())
	}
	pause(ctx, lockEvery)
}
