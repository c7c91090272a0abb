package httpserver

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// Every code has a status that the server can answer with and count.
func TestEveryCodeIsAnswered(t *testing.T) {
	var code ledger.Code
	a := NewAPI([]Route{{"GET", "/x", func(*Exchange) *ledger.Error { return ledger.Errorf(code, "No.") }}},
		"x_", new(metrics.Registry), slog.New(slog.DiscardHandler))
	for _, code = range ledger.Codes() {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/x", nil))
		if w.Code != code.Status() {
			t.Errorf("%s: status %d, want %d", code, w.Code, code.Status())
		}
	}
}
