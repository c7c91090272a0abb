package httpserver

import (
	"net/http"

	"assetledger/ledger"
)

// Probes are not for people, but for programs that start, stop and load-balance daemons.
// Alive means that the process responds, and ready that it accepts requests now.
// Health has more details.

// Livez responds with 200 as long as the daemon responds at all.
func Livez(x *Exchange) *ledger.Error {
	x.Out = append(x.Out, `{"status":"alive"}`...)
	return nil
}

// AnswerReady responds with 200 if reason is "", and otherwise with 503 and the
// reason why requests should go elsewhere.
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
