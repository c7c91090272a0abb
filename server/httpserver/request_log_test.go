package httpserver

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"assetledger/ledger"
	"assetledger/server/metrics"
)

// Each failed request has one log line. By default, the line is shown if the daemon is
// at fault, and hidden if clients can cause the failure at will.
func TestRequestLogLevels(t *testing.T) {
	for _, c := range []struct {
		code  ledger.Code // "" for a response with status 200
		all   bool
		level string // "" for no line
	}{
		{"", false, ""},
		{"", true, "INFO"},
		{ledger.NotFound, false, "DEBUG"},
		{ledger.InsufficientBalance, false, "DEBUG"},
		{ledger.InsufficientBalance, true, "INFO"},
		{ledger.Overloaded, false, "DEBUG"},
		{ledger.ShuttingDown, false, "DEBUG"},
		{ledger.Overloaded, true, "INFO"},
		{ledger.LogUnavailable, false, "WARN"},
		{ledger.Internal, false, "ERROR"},
		{ledger.Internal, true, "ERROR"},
	} {
		var words bytes.Buffer
		log := slog.New(slog.NewTextHandler(&words, &slog.HandlerOptions{Level: slog.LevelDebug}))
		a := NewAPI([]Route{{"GET", "/x", func(x *Exchange) *ledger.Error {
			if c.code == "" {
				return nil
			}
			return ledger.Errorf(c.code, "No.")
		}}}, "x_", new(metrics.Registry), log)
		a.LogAll = c.all
		r := httptest.NewRequest("GET", "/x", nil)
		r.Header.Set("X-Request-Id", "abc")
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		line := words.String()
		if got := strings.Count(line, "\n"); got != min(len(c.level), 1) {
			t.Errorf("%+v: %d log lines, want at most one, and none without a level: %s", c, got, line)
		}
		if c.level != "" && !strings.Contains(line, "level="+c.level+" msg=request request_id=abc principal=\"\" method=GET path=/x") {
			t.Errorf("%+v: the log line is %s", c, line)
		}
		if w.Header().Get("X-Request-Id") != "abc" {
			t.Errorf("%+v: the response does not repeat the request id: %v", c, w.Header())
		}
	}
}

// TestWarningsAreFew checks that, if requests fail because the log is unavailable, at
// most one line a second is shown by default. If all requests are logged, all of these
// lines are shown.
func TestWarningsAreFew(t *testing.T) {
	for all, want := range map[bool]int{false: 3, true: 300} {
		synctest.Test(t, func(t *testing.T) {
			var words bytes.Buffer
			a := NewAPI([]Route{{"GET", "/x", func(*Exchange) *ledger.Error { return ledger.Errorf(ledger.LogUnavailable, "No.") }}},
				"x_", new(metrics.Registry), slog.New(slog.NewTextHandler(&words, nil)))
			a.LogAll = all
			for range 300 {
				a.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/x", nil))
				time.Sleep(10 * time.Millisecond)
			}
			if got := strings.Count(words.String(), "level=WARN"); got != want {
				t.Errorf("all %v: %d lines, want %d", all, got, want)
			}
		})
	}
}
