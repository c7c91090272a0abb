package server

import (
	"net/http"

	"assetledger/ledger"
)

// A logStatus is how far the log and those who read it are.
type logStatus struct {
	end     uint64       // last durable commit
	readers []readerInfo // attached ones, by name
}

// checkpoint is the last commit that the slowest reader has applied, 0 without readers.
func (s logStatus) checkpoint() uint64 {
	if len(s.readers) == 0 {
		return 0
	}
	slowest := s.end
	for _, r := range s.readers {
		slowest = min(slowest, r.seq)
	}
	return slowest
}

func (s logStatus) lag() uint64 { return s.end - s.checkpoint() }

// end is the last durable commit.
func (d *writeDaemon) end() uint64 { return d.seq.sync.end.Load() }

// logStatus asks the readers first: the end may move on meanwhile, and no
// reader is beyond it.
func (d *writeDaemon) logStatus() logStatus {
	readers := d.log.Readers()
	s := logStatus{end: d.end(), readers: readers}
	for i := range readers {
		readers[i].seq = min(readers[i].seq, s.end)
	}
	return s
}

// health says whether writes can be relied on, and how far the log is.
func (d *writeDaemon) health(x *exchange) *ledger.Error {
	s := d.logStatus()
	status := "healthy"
	if d.ending() != nil || d.log.Room() != nil || d.maxLag > 0 && s.lag() > d.maxLag {
		status = "degraded"
		x.Status = http.StatusServiceUnavailable
		x.W.Header()["Retry-After"] = retryAfter
	}
	x.Out = append(append(x.Out, `{"status":"`...), status...)
	x.Out = appendUint(x.Out, `","commit_log":{"end_seq":`, s.end)
	x.Out = appendUint(x.Out, `,"checkpoint_seq":`, s.checkpoint())
	x.Out = appendUint(x.Out, `,"lag":`, s.lag())
	name, path := d.log.Driver()
	if d.api.isStranger(x) {
		path = ""
	}
	x.Out = ledger.AppendString(append(x.Out, `,"driver":{"name":`...), name)
	x.Out = ledger.AppendString(append(x.Out, `,"path":`...), path)
	x.Out = append(x.Out, `},"readers":[`...)
	for i, r := range s.readers {
		if i > 0 {
			x.Out = append(x.Out, ',')
		}
		x.Out = ledger.AppendString(append(x.Out, `{"name":`...), r.name)
		x.Out = appendUint(x.Out, `,"checkpoint_seq":`, r.seq)
		x.Out = appendUint(x.Out, `,"lag":`, s.end-r.seq)
		x.Out = append(x.Out, '}')
	}
	x.Out = append(x.Out, `]}}`...)
	return nil
}

// readyz: commits would be taken. A read daemon that lags does not matter here.
func (d *writeDaemon) readyz(x *exchange) *ledger.Error {
	reason := ""
	if err := d.ending(); err != nil {
		reason = err.Message
	} else if err := d.log.Room(); err != nil {
		reason = err.Error()
	}
	if reason != "" && d.api.isStranger(x) { // it may name files
		reason = "Commits are not taken now: see the log lines of this daemon."
	}
	x.answerReady(reason)
	return nil
}
