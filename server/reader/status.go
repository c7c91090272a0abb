package reader

import (
	"context"
	"log/slog"
	"math"
	"time"

	"assetledger/ledger"
	"assetledger/server/httpserver"
	"assetledger/server/logstream"
	"assetledger/server/version"
	"assetledger/wal"
)

// statusAge is the maximum age of the findings that a response may show. It bounds
// what requests for the status cost: each write daemon is asked for its status at most
// once a second, however many clients ask.
const statusAge = time.Second

// A statusWatch collects, for operators, what can be seen of the ledger outside this
// daemon: the log in its directory, the read daemons on it, and the write daemons.
type statusWatch struct {
	dir     string
	name    string // of this daemon
	writers writers
	log     *slog.Logger

	turn chan struct{} // a semaphore for one look at a time; guards the fields below
	at   time.Time
	last ledgerSeen
}

func newStatusWatch(c *Config) *statusWatch {
	return &statusWatch{dir: c.Dir, name: c.Name, log: c.Log, turn: make(chan struct{}, 1)}
}

// A ledgerSeen holds the findings of one look.
type ledgerSeen struct {
	log     wal.Summary
	free    float64 // bytes; NaN if unknown
	readers []wal.ReaderState
	bad     error // error that kept log or readers from being read
	writers []writerSeen
}

// look returns the findings of the last look if they are younger than statusAge,
// and otherwise looks again. If another request is already looking, look waits for it
// until gone is closed.
func (s *statusWatch) look(gone <-chan struct{}) ledgerSeen {
	select {
	case s.turn <- struct{}{}:
	case <-gone:
		return ledgerSeen{free: math.NaN()} // nobody reads this
	}
	defer func() { <-s.turn }()
	if !s.at.IsZero() && time.Since(s.at) < statusAge {
		return s.last
	}
	var l ledgerSeen
	if l.log, l.bad = wal.Summarize(s.dir, wal.Options{}); l.bad == nil {
		l.readers, l.bad = wal.ListReaders(s.dir, wal.Options{})
	}
	l.free = wal.DiskFree(s.dir)
	l.writers = s.writers.ask(context.Background()) // all waiting requests share the result, so it must not depend on the context of the first
	if l.bad != nil && (s.last.bad == nil || s.last.bad.Error() != l.bad.Error()) {
		s.log.Warn("the directory of the log can't be read", "error", l.bad)
	}
	s.last, s.at = l, time.Now()
	return l
}

// status serves operators. It shows in one response what they would otherwise have
// to request from each daemon and look up in the directory of the log.
func (d *daemon) status(x *httpserver.Exchange) *ledger.Error {
	if err := x.NoQuery(); err != nil {
		return err
	}
	l := d.watch.look(x.R.Context().Done())
	shown := d.proj.fresh.applied.Load()
	end := max(d.tail.durable(), shown)
	stranger := d.api.IsStranger(x)
	x.Out = ledger.AppendString(append(x.Out, `{"data":{"read":{"name":`...), d.watch.name)
	x.Out = ledger.AppendString(append(x.Out, `,"version":`...), version.Version)
	why := d.unwell()
	status := healthy
	if why != "" {
		status = degraded
	}
	x.Out = appendStatus(x.Out, status, why)
	x.Out = l.appendLog(append(x.Out, '}'), d.watch.dir, end, stranger)
	x.Out = append(x.Out, `,"readers":[`...)
	for i, r := range l.readers {
		seq := min(r.Seq, end)
		x.Out = appendReader(x.Out, i, r.Name, seq, end-seq)
	}
	x.Out = append(x.Out, `],"mirrors":[`...)
	for i, m := range d.stream.Mirrors() {
		x.Out = appendMirror(x.Out, i, m, end, stranger)
	}
	x.Out = append(x.Out, `],"write":[`...)
	for i := range l.writers {
		x.Out = append(x.Out, httpserver.ElementStart(i, "", ",")...)
		x.Out = l.writers[i].append(x.Out, stranger)
	}
	x.Out = httpserver.AppendUint(append(x.Out, `]}`...), `,"freshness":{"checkpoint_seq":`, shown)
	x.Out = append(httpserver.AppendUint(x.Out, `,"commit_log_seq":`, end), `}}`...)
	return nil
}

func appendStatus(dst []byte, status, why string) []byte {
	dst = append(append(append(dst, `,"status":"`...), status...), '"')
	if why != "" {
		dst = ledger.AppendString(append(dst, `,"reason":`...), why)
	}
	return dst
}

// appendLog appends the findings on the log. A stranger (see API.IsStranger) does
// not see its path.
func (l *ledgerSeen) appendLog(dst []byte, dir string, end uint64, stranger bool) []byte {
	if stranger {
		dir = ""
	}
	dst = ledger.AppendString(append(dst, `,"log":{"path":`...), dir)
	dst = httpserver.AppendUint(dst, `,"segments":`, uint64(l.log.Segments))
	dst = httpserver.AppendInt(dst, `,"bytes":`, l.log.Bytes)
	dst = httpserver.AppendUint(dst, `,"first_seq":`, l.log.First)
	dst = httpserver.AppendUint(dst, `,"end_seq":`, end)
	if !math.IsNaN(l.free) {
		dst = httpserver.AppendUint(dst, `,"disk_free_bytes":`, uint64(l.free))
	}
	if l.bad == nil {
		open := "false"
		if l.log.Open {
			open = "true"
		}
		return append(append(append(dst, `,"open_for_writing":`...), open...), '}')
	}
	why := "The directory can't be read: see the log lines of this daemon."
	if !stranger {
		why = l.bad.Error()
	}
	return append(ledger.AppendString(append(dst, `,"reason":`...), why), '}')
}

// append appends the findings on a write daemon. A stranger does not see its URL.
func (w *writerSeen) append(dst []byte, stranger bool) []byte {
	at, why := w.url, w.reason
	if stranger {
		at = ""
		switch w.status {
		case unreachable:
			why = "It does not respond."
		case degraded:
			why = "See the log lines of that daemon."
		}
	}
	dst = appendStatus(ledger.AppendString(append(dst, `{"url":`...), at), w.status, why)
	if w.health == nil {
		return append(dst, '}')
	}
	if w.health.Role != "" {
		dst = ledger.AppendString(append(dst, `,"role":`...), w.health.Role)
	}
	l := w.health.CommitLog
	dst = httpserver.AppendUint(dst, `,"commit_log":{"end_seq":`, l.EndSeq)
	dst = httpserver.AppendUint(dst, `,"checkpoint_seq":`, l.CheckpointSeq)
	dst = httpserver.AppendUint(dst, `,"lag":`, l.Lag)
	dst = append(dst, `,"readers":[`...)
	for i, r := range l.Readers {
		dst = appendReader(dst, i, r.Name, r.Seq, r.Lag)
	}
	dst = append(dst, `],"mirrors":[`...)
	for i, m := range l.Mirrors {
		dst = appendMirror(dst, i, logstream.Mirror{Name: m.Name, Seq: m.Seq, URL: m.URL}, m.Seq+m.Lag, stranger)
	}
	return append(dst, `]}}`...)
}

func appendReader(dst []byte, i int, name string, seq, lag uint64) []byte {
	dst = ledger.AppendString(append(dst, httpserver.ElementStart(i, `{"name":`, `,{"name":`)...), name)
	dst = httpserver.AppendUint(dst, `,"checkpoint_seq":`, seq)
	return append(httpserver.AppendUint(dst, `,"lag":`, lag), '}')
}

// appendMirror appends the findings on a mirror, a copy of the log on another
// machine. A stranger does not see its URL.
func appendMirror(dst []byte, i int, m logstream.Mirror, end uint64, stranger bool) []byte {
	if stranger {
		m.URL = ""
	}
	seq := min(m.Seq, end)
	dst = ledger.AppendString(append(dst, httpserver.ElementStart(i, `{"name":`, `,{"name":`)...), m.Name)
	dst = httpserver.AppendUint(dst, `,"seq":`, seq)
	dst = httpserver.AppendUint(dst, `,"lag":`, end-seq)
	return append(ledger.AppendString(append(dst, `,"url":`...), m.URL), '}')
}
