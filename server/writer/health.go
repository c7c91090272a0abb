package writer

import (
	"net/http"

	"assetledger/ledger"
	"assetledger/server/commitlog"
	"assetledger/server/httpserver"
)

// A logStatus is how far the log and those who read it are.
type logStatus struct {
	end     uint64                 // last durable commit
	readers []commitlog.ReaderInfo // attached ones, by name
}

// checkpoint is the last commit that the slowest reader has applied, 0 without readers.
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

// end is the last durable commit.
func (d *daemon) end() uint64 { return d.seq.sync.end.Load() }

// logStatus asks the readers first: the end may move on meanwhile, and no
// reader is beyond it.
func (d *daemon) logStatus() logStatus {
	readers := d.log.Readers()
	s := logStatus{end: d.end(), readers: readers}
	for i := range readers {
		readers[i].Seq = min(readers[i].Seq, s.end)
	}
	return s
}

// health says whether writes can be relied on, and how far the log is.
func (d *daemon) health(x *httpserver.Exchange) *ledger.Error {
	s := d.logStatus()
	status := "healthy"
	if d.ending() != nil || d.log.Room() != nil || d.maxLag > 0 && s.lag() > d.maxLag {
		status = "degraded"
		x.Status = http.StatusServiceUnavailable
		x.W.Header()["Retry-After"] = httpserver.RetryAfter
	}
	x.Out = append(append(x.Out, `{"status":"`...), status...)
	x.Out = httpserver.AppendUint(x.Out, `","commit_log":{"end_seq":`, s.end)
	x.Out = httpserver.AppendUint(x.Out, `,"checkpoint_seq":`, s.checkpoint())
	x.Out = httpserver.AppendUint(x.Out, `,"lag":`, s.lag())
	name, path := d.log.Driver()
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
	x.Out = append(x.Out, `]}}`...)
	return nil
}

// readyz: commits would be taken. A read daemon that lags does not matter here.
func (d *daemon) readyz(x *httpserver.Exchange) *ledger.Error {
	reason := ""
	if err := d.ending(); err != nil {
		reason = err.Message
	} else if err := d.log.Room(); err != nil {
		reason = err.Error()
	}
	if reason != "" && d.api.IsStranger(x) { // it may name files
		reason = "Commits are not taken now: see the log lines of this daemon."
	}
	x.AnswerReady(reason)
	return nil
}
