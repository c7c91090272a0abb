package httpserver

import (
	"net/http"

	"assetledger/ledger"
)

// Probes are for the programs that start, stop and load-balance daemons, not for
// people: alive means that the process responds, ready that it accepts requests
// now. Health tells more.

// Livez responds with 200 for as long as the daemon responds at all.
func Livez(x *Exchange) *ledger.Error {
	x.Out = append(x.Out, `{"status":"alive"}`...)
	return nil
}

// AnswerReady responds with 200, or with 503 and the reason to send requests
// elsewhere.
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
