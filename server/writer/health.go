package writer

import (
	"errors"
	"net/http"
	"slices"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
)

// A logStatus has the end of the log and the positions of its readers.
type logStatus struct {
	end     uint64                 // last durable commit
	readers []commitlog.ReaderInfo // attached read daemons, ordered by name
}

// checkpoint returns the last commit that the slowest reader has applied, or 0
// if there are no readers.
func (s logStatus) checkpoint() uint64 {
	if len(s.readers) == 0 {
		return 0
	}
	slowest := s.end
	for _, r := range s.readers {
		slowest = min(slowest, r.Seq)
	}
	return slowest
}

func (s logStatus) lag() uint64 { return s.end - s.checkpoint() }

// end returns the last durable commit.
func (d *daemon) end() uint64 {
	du := d.duty.Load()
	if du.member != nil {
		return du.member.Durable()
	}
	return du.seq.sync.end.Load()
}

// logStatus returns the status of the log. It lists the readers before it loads the
// end, which may advance in the meantime, so that no reader is beyond the end.
func (d *daemon) logStatus() logStatus {
	readers := d.log().Readers()
	s := logStatus{end: d.end(), readers: readers}
	for i := range readers {
		readers[i].Seq = min(readers[i].Seq, s.end)
	}
	return s
}

// health serves the daemon's health: whether writes are reliable, and the position
// of the log.
func (d *daemon) health(x *httpserver.Exchange) *ledger.Error {
	s := d.logStatus()
	status := "healthy"
	report, writes := d.report()
	mirrors := d.mirrors(report.Mirrors)
	fewCopies := writes && len(mirrors) < commitlog.CopiesWanted
	if d.unwell() != nil || report.NearFull || fewCopies || d.maxLag > 0 && s.lag() > d.maxLag {
		status = "degraded"
		x.Status = http.StatusServiceUnavailable
		x.W.Header()["Retry-After"] = httpserver.RetryAfter
	}
	x.Out = append(append(append(x.Out, `{"status":"`...), status...), '"')
	if role := d.role(); role != "" {
		x.Out = append(append(append(x.Out, `,"role":"`...), role...), '"')
	}
	x.Out = httpserver.AppendUint(x.Out, `,"commit_log":{"end_seq":`, s.end)
	x.Out = httpserver.AppendUint(x.Out, `,"checkpoint_seq":`, s.checkpoint())
	x.Out = httpserver.AppendUint(x.Out, `,"lag":`, s.lag())
	name, path := d.log().Driver()
	if d.api.IsStranger(x) {
		path = ""
	}
	x.Out = ledger.AppendString(append(x.Out, `,"driver":{"name":`...), name)
	x.Out = ledger.AppendString(append(x.Out, `,"path":`...), path)
	x.Out = append(x.Out, `},"readers":[`...)
	for i, r := range s.readers {
		if i > 0 {
			x.Out = append(x.Out, ',')
		}
		x.Out = ledger.AppendString(append(x.Out, `{"name":`...), r.Name)
		x.Out = httpserver.AppendUint(x.Out, `,"checkpoint_seq":`, r.Seq)
		x.Out = httpserver.AppendUint(x.Out, `,"lag":`, s.end-r.Seq)
		x.Out = append(x.Out, '}')
	}
	x.Out = append(x.Out, ']')
	if d.cluster || len(mirrors) > 0 {
		x.Out = appendMirrors(x.Out, mirrors, s.end)
	}
	x.Out = append(x.Out, `}}`...)
	return nil
}

// mirrors returns the mirrors that the driver has reported (the parameter known),
// together with the hosts that have recently read the log from this daemon.
func (d *daemon) mirrors(known []commitlog.Mirror) []commitlog.Mirror {
	for _, m := range d.mirrorsHere() {
		if !slices.ContainsFunc(known, func(k commitlog.Mirror) bool { return k.Name == m.Name }) {
			known = append(known, m)
		}
	}
	return known
}

// mirrorsHere returns the hosts that have recently read the log from this daemon.
func (d *daemon) mirrorsHere() (all []commitlog.Mirror) {
	for _, m := range d.mirroring.Mirrors() {
		all = append(all, commitlog.Mirror{Name: m.Name, Seq: m.Seq, Kept: min(m.Seq, m.Checkpoint), URL: m.URL})
	}
	return all
}

// appendMirrors appends the known copies of the log on other hosts.
func appendMirrors(dst []byte, mirrors []commitlog.Mirror, end uint64) []byte {
	dst = append(dst, `,"mirrors":[`...)
	for i, m := range mirrors {
		if i > 0 {
			dst = append(dst, ',')
		}
		seq := min(m.Seq, end)
		dst = ledger.AppendString(append(dst, `{"name":`...), m.Name)
		dst = httpserver.AppendUint(dst, `,"seq":`, seq)
		dst = httpserver.AppendUint(dst, `,"lag":`, end-seq)
		dst = ledger.AppendString(append(dst, `,"url":`...), m.URL)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// unwell returns the reason why the daemon can't do its duty, which is to accept
// commits or to stand by. It returns nil if the daemon can.
func (d *daemon) unwell() error {
	if m := d.duty.Load().member; m != nil && !d.stopping.Load() {
		return m.Behind()
	}
	return d.readyError()
}

// readyError returns the reason why commits would be rejected, or should be sent to
// another daemon. It returns nil if there is none.
func (d *daemon) readyError() error {
	if err := d.ending(); err != nil {
		return err
	}
	if err := d.shaky(); err != nil {
		return err
	}
	return d.log().Room()
}

// readyz reports whether clients should send commits to this daemon. A lagging read
// daemon does not affect the response.
func (d *daemon) readyz(x *httpserver.Exchange) *ledger.Error {
	reason := ""
	if err := d.readyError(); err != nil {
		reason = err.Error()
		if refusal, ok := errors.AsType[*ledger.Error](err); ok {
			reason = refusal.Message
		}
	}
	if reason != "" && d.api.IsStranger(x) { // the reason may name files
		reason = "Commits are not accepted now: see the log lines of this daemon."
	}
	x.AnswerReady(reason)
	return nil
}
