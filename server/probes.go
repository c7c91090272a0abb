package server

import (
	"net/http"

	"assetledger/ledger"
)

// Probes are for those who start and stop daemons and send them requests, not
// for people: alive means that the process serves, ready that requests may be
// sent here now. Health tells more.

// livez answers 200 for as long as the daemon answers at all.
func livez(x *exchange) *ledger.Error {
	x.Out = append(x.Out, `{"status":"alive"}`...)
	return nil
}

// answerReady answers 200, or 503 with why requests should go elsewhere.
func (x *exchange) answerReady(reason string) {
	if reason == "" {
		x.Out = append(x.Out, `{"status":"ready"}`...)
		return
	}
	x.Status = http.StatusServiceUnavailable
	x.W.Header()["Retry-After"] = retryAfter
	x.Out = ledger.AppendString(append(x.Out, `{"status":"not_ready","reason":`...), reason)
	x.Out = append(x.Out, '}')
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

// readyz: reads are answered, and not from further back than -max-lag.
func (d *readDaemon) readyz(x *exchange) *ledger.Error {
	if err := new(params).parse(x.R.URL.RawQuery, 0, noList); err != nil {
		return err
	}
	reason := ""
	checkpoint := d.proj.fresh.applied.Load()
	switch lag := max(d.tail.durable(), checkpoint) - checkpoint; {
	case d.proj.isBroken() || d.damaged.Load():
		reason = "The log can't be read: see the log lines of this daemon."
	case d.proj.fresh.ended():
		reason = "This read daemon is stopping."
	case d.maxLag > 0 && lag > d.maxLag:
		reason = "Reads are further behind the log than -max-lag allows."
	}
	x.answerReady(reason)
	return nil
}
