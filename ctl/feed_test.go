package ctl

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestFeedEnds checks that a feed ends when it can't reconnect, at a response that is not
// a stream, and at an event that is not a commit.
func TestFeedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(w http.ResponseWriter)
		timeout time.Duration
		code    int
		words   string
	}{
		"for good":    {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, exitSilent, "gave up after 0s"},
		"no ledger":   {func(w http.ResponseWriter) { w.WriteHeader(404) }, time.Hour, exitRefused, "not a response from the ledger"},
		"not JSON":    {func(w http.ResponseWriter) { fmt.Fprint(w, "data: hello\n\n") }, time.Hour, exitFailure, "is not a commit after 5"},
		"an old one":  {func(w http.ResponseWriter) { fmt.Fprint(w, "data: {\"global_seq\":5}\n\n") }, time.Hour, exitFailure, "is not a commit after 5"},
		"two in data": {func(w http.ResponseWriter) { fmt.Fprint(w, "data: {}\ndata: {}\n\n") }, time.Hour, exitFailure, "is not a commit after 5"},
	} {
		t.Run(name, func(t *testing.T) {
			daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				c.answer(w)
			}))
			defer daemon.Close()
			run := &call{words: io.Discard, out: bufio.NewWriter(io.Discard), api: newClient(&connecting{}, idle)}
			run.readURL, run.timeout.Duration = daemon.URL, c.timeout
			var err error
			for _, err = range run.follow(context.Background(), 5, 0) {
			}
			if exitCode(err) != c.code || !strings.Contains(err.Error(), c.words) {
				t.Errorf("exit code %d, want %d and %q: %v", exitCode(err), c.code, c.words, err)
			}
		})
	}
}
