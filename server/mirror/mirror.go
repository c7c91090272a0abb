// Package mirror fills a directory with the log of a daemon on another machine,
// so that both hold the same bytes:
//
//	no log → begin, with a checkpoint or from the first frame → follow … ⇄ (try again, elsewhere)
//
// The main invariant: a frame is stored only if it follows the last one of the same
// log. Its CRCs, its place in the segment and the chain are checked first. The read
// daemons, which apply the commits, compare the digests.
//
// A mirror is the only writer of its directory, and holds the same lock as a write
// daemon. The directory is marked as a copy, so that no daemon starts a second
// history in it. Each frame is synced before END includes it, so readers of the
// directory see nothing that a crash can take back.
package mirror

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/wal"
)

// lockEvery is how often a waiting mirror tries to become the one that fills
// the directory. reportEvery is the interval between reports.
const (
	lockEvery   = time.Second
	reportEvery = time.Second
)

// A Mirror fills a directory, or waits to take over from the process that does.
type Mirror struct {
	dir  string
	opt  wal.Options
	src  *Source
	log  *slog.Logger
	self logstream.Mirror // as it reports itself to the source
	tick time.Duration    // time between two reports: reportEvery

	mu      sync.Mutex
	heard   uint64    // the highest durable end that a source reported
	when    time.Time // time of the last report; zero: none yet
	url     string    // source of the last report
	began   time.Time
	why     error // the first ForeignError since the last report, otherwise the last failure; nil if there is none
	hopeful bool  // no round over all sources has failed since the last report
	filling bool
}

// New returns a mirror that fills dir. name is the daemon's name, and url its
// base URL, "" if unknown.
func New(c Config, dir, name, url string, log *slog.Logger) (*Mirror, error) {
	m := &Mirror{dir: dir, log: log, tick: reportEvery, self: logstream.Mirror{Name: name, URL: url}, began: time.Now(), hopeful: true}
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

// noteFailure records why nothing can be copied from the current daemon.
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

// A Status describes the progress of a mirror, and its failures.
type Status struct {
	URL     string        // the source that reported last; "": none yet
	Seq     uint64        // the highest durable end that a source reported
	Silence time.Duration // since the last report, or since the start
	Foreign bool          // Err is a ForeignError: a source has another log, or a different history
	Err     error         // the first ForeignError since the last report, otherwise the last failure; nil if there is none
	Hopeful bool          // no round over all sources has failed since the last report
	Heard   bool          // any source has reported
}

// Status returns the mirror's current status.
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

// Run fills the directory until ctx is done. It then returns nil. It returns an
// error if the log in the directory is damaged or was made by a newer version, or if
// a source reads that very directory.
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
				m.log.Info("another process fills the directory; waiting to take over", "dir", m.dir)
				told = true
			}
			m.listen(ctx)
		case isDamage(err):
			return err
		case errors.Is(err, ErrItself):
			return httpserver.Usage(err)
		default:
			told = false
			if p.failed(ctx, m.src, err) != nil {
				return nil
			}
		}
	}
	return nil
}

// isDamage reports whether another try is pointless.
func isDamage(err error) bool {
	_, damage := errors.AsType[*wal.CorruptError](err)
	return damage || errors.Is(err, wal.ErrVersion)
}

// fill takes the directory's lock and fills the directory.
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

// report tells the source at each tick how far this mirror has come.
func (m *Mirror) report(ctx context.Context, w *wal.Writer) {
	tick := time.NewTicker(m.tick)
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
		m.src.end(ctx, w.Durable()+1)
	}
}

// listen asks the source for the end of its log, while another process fills
// the directory.
func (m *Mirror) listen(ctx context.Context) {
	if end, err := m.src.end(ctx, 1); err == nil {
		m.noteNews(m.src.URL(), end)
	} else {
		m.noteFailure(err, m.src.turn())
	}
	pause(ctx, lockEvery)
}
