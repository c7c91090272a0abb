package httpserver

import (
	"net/http"

	"assetledger/ledger"
)

// Probes are for those who start and stop daemons and send them requests, not
// for people: alive means that the process serves, ready that requests may be
// sent here now. Health tells more.

// Livez answers 200 for as long as the daemon answers at all.
func Livez(x *Exchange) *ledger.Error {
	x.Out = append(x.Out, `{"status":"alive"}`...)
	return nil
}

// AnswerReady answers 200, or 503 with why requests should go elsewhere.
func (x *Exchange) AnswerReady(reason string) {
	if reason == "" {
		x.Out = append(x.Out, `{"status":"ready"}`...)
		return
	}
	x.Status = http.StatusServiceUnavailable
	x.W.Header()["Retry-After"] = RetryAfter
	x.Out = ledger.AppendString(append(x.Out, `{"status":"not_ready","reason":`...), reason)
	x.Out = append(x.Out, '}')
}
