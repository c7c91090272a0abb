package httpserver

import (
	"log/slog"
	"net/http/httptest"
	"testing"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// Every error code has a status that the server can send and count.
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

func TestCleanPath(t *testing.T) {
	for path, want := range map[string]bool{
		"/": true, "/a": true, "/a/": true, "/a/b": true, "/.a/..b/c./d..": true, "/...": true, "/a%2F..%2Fb": true,
		"": false, "a": false, "*": false, "//": false, "//a": false, "/a//": false, "/a//b": false,
		"/.": false, "/..": false, "/./": false, "/a/.": false, "/a/..": false, "/a/./b": false, "/a/../b": false, "./a": false,
	} {
		if got := cleanPath(path); got != want {
			t.Errorf("%q is clean: %v, want %v", path, got, want)
		}
	}
}
