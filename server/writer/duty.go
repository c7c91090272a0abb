package writer

import (
	"log/slog"
	"time"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/wal"
)

// A duty is the current role of the daemon: writer or standby. If no other daemon
// can take over the log, the daemon keeps the same duty for life.
type duty struct {
	log commitlog.Writer
	seq *sequencer // on a standby, it rejects everything
	// member represents this daemon in its cluster while it stands by. It is nil while
	// the daemon is the writer.
	member commitlog.Member
}

func (d *daemon) log() commitlog.Writer { return d.duty.Load().log }
func (d *daemon) seq() *sequencer       { return d.duty.Load().seq }

// write makes the daemon the writer.
func (d *daemon) write(l commitlog.Writer, seq *sequencer) {
	d.duty.Store(&duty{log: l, seq: seq})
}

// standBy makes the daemon reject requests that only the writer accepts.
func (d *daemon) standBy(m commitlog.Member, dir string) {
	seq := &sequencer{intake: newIntake(0), sync: newSyncer(nil, m.Durable(), d.meters)}
	seq.intake.refuse(notTheWriter(""))
	d.duty.Store(&duty{log: standbyLog{Member: m, dir: dir}, seq: seq, member: m})
}

// notTheWriter returns the error of a standby for requests that only the writer
// accepts. The parameter url is the writer's URL, or "" if it is unknown.
func notTheWriter(url string) *ledger.Error {
	if url == "" {
		return ledger.Errorf(ledger.NotTheWriter, "This daemon stands by, and the next writer is not known yet; nothing was changed: send the request again soon.")
	}
	return ledger.Errorf(ledger.NotTheWriter, "This daemon stands by; nothing was changed: send the request to the writer, at %s.", url).
		With(ledger.Text("writer", url))
}

// A standbyLog is the log of a daemon that stands by.
type standbyLog struct {
	commitlog.Member
	dir string
}

var _ commitlog.Writer = standbyLog{}

func (l standbyLog) Replay(func(*wal.Frame) error) error       { return commitlog.ErrFenced }
func (l standbyLog) LastSeq() uint64                           { return l.Durable() }
func (l standbyLog) LastTime() int64                           { return 0 }
func (l standbyLog) MaxBody() int                              { return 0 }
func (l standbyLog) Append(*wal.Frame) error                   { return commitlog.ErrFenced }
func (l standbyLog) Confirm() error                            { return commitlog.ErrFenced }
func (l standbyLog) Room() error                               { return nil }
func (l standbyLog) Space() (int64, string)                    { return 0, l.dir }
func (l standbyLog) Commit(uint64, func(*ledger.Record)) error { return commitlog.ErrFenced }
func (l standbyLog) Restore(int, *slog.Logger) (*ledger.State, error) {
	return nil, commitlog.ErrFenced
}

// role returns the duty's name in health and metrics, or "" if no other daemon can
// take over the log.
func (d *daemon) role() string {
	switch du := d.duty.Load(); {
	case du.member != nil:
		return "standby"
	case d.cluster:
		return "writer"
	}
	return ""
}

// shaky returns the reason why clients should send commits elsewhere although this
// daemon is the writer, or nil if there is none.
func (d *daemon) shaky() error {
	if w, ok := d.log().(commitlog.ClusterWriter); ok {
		return w.Shaky()
	}
	return nil
}

// report returns the report on the log of a cluster. The result ok is false unless this
// daemon is the writer of such a log.
func (d *daemon) report() (r commitlog.ClusterReport, ok bool) {
	w, ok := d.log().(commitlog.ClusterWriter)
	if ok {
		r = w.Report()
	}
	return r, ok
}

// stopDuty stops the sequencer of a writer. Accepted requests get their results if the
// log accepts their batches in time. Otherwise their outcome is unknown.
func stopDuty(seq *sequencer, l commitlog.ClusterWriter) {
	stopped := make(chan struct{})
	go func() {
		seq.stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return
	case <-time.After(stopTime):
	}
	l.Abandon()
	<-stopped
}
