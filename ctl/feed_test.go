package ctl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A lost connection is made again after the last event, and every commit is
// seen once.
func TestFeedGoesOnWhereItWas(t *testing.T) {
	var asked []string
	daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		asked = append(asked, r.URL.RawQuery+" "+r.Header.Get("Last-Event-ID"))
		event := func(seq int) { fmt.Fprintf(w, "id: %d\ndata: {\"global_seq\":%d}\n\n", seq, seq) }
		switch len(asked) {
		case 1:
			event(6)
			event(7)
			fmt.Fprint(w, "id: 8\ndata: {\"glob") // cut in the middle
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3:
			fmt.Fprint(w, ": keep-alive\n\n")
			event(8)
		default:
			event(9)
		}
	}))
	defer daemon.Close()
	var words bytes.Buffer
	c := &call{words: &words, out: bufio.NewWriter(io.Discard), api: newClient(&connecting{})}
	c.readURL, c.timeout.Duration = daemon.URL, time.Hour
	c.api.pause = func(context.Context, time.Duration) error { return nil }
	var seen []int64
	err := c.follow(context.Background(), 5, math.MaxInt64, func(seq int64, _ []byte) error {
		if seen = append(seen, seq); seq == 9 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || !slices.Equal(seen, []int64{6, 7, 8, 9}) {
		t.Errorf("saw %v: %v", seen, err)
	}
	if want := []string{"after=5 ", "after=5 7", "after=5 7", "after=5 8"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if n := strings.Count(words.String(), "trying again"); n != 2 {
		t.Errorf("it was said %d times that it is tried again, of 2 losses:\n%s", n, &words)
	}
}

// Losing a connection for good ends; so do what is no stream, and no commit.
func TestFeedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(w http.ResponseWriter)
		timeout time.Duration
		code    int
		words   string
	}{
		"for good":    {func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, exitSilent, "gave up after 0s"},
		"no ledger":   {func(w http.ResponseWriter) { w.WriteHeader(404) }, time.Hour, exitRefused, "no answer of the ledger's"},
		"not JSON":    {func(w http.ResponseWriter) { fmt.Fprint(w, "data: hello\n\n") }, time.Hour, exitFailure, "is no commit after 5"},
		"an old one":  {func(w http.ResponseWriter) { fmt.Fprint(w, "data: {\"global_seq\":5}\n\n") }, time.Hour, exitFailure, "is no commit after 5"},
		"two in data": {func(w http.ResponseWriter) { fmt.Fprint(w, "data: {}\ndata: {}\n\n") }, time.Hour, exitFailure, "is no commit after 5"},
	} {
		t.Run(name, func(t *testing.T) {
			daemon := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				c.answer(w)
			}))
			defer daemon.Close()
			run := &call{words: io.Discard, out: bufio.NewWriter(io.Discard), api: newClient(&connecting{})}
			run.readURL, run.timeout.Duration = daemon.URL, c.timeout
			run.api.pause = func(context.Context, time.Duration) error { return nil }
			err := run.follow(context.Background(), 5, math.MaxInt64, func(int64, []byte) error { return nil })
			if exitCode(err) != c.code || !strings.Contains(err.Error(), c.words) {
				t.Errorf("exit code %d: %v", exitCode(err), err)
			}
		})
	}
}

func TestSparkline(t *testing.T) {
	for _, c := range []struct {
		values []int64
		want   string
	}{
		{nil, ""}, {[]int64{0, 0}, "▁▁"}, {[]int64{0, 1}, "▁█"}, {[]int64{0, 1, 50, 100}, "▁▂▅█"}, {[]int64{1 << 62, 1}, "█▂"},
	} {
		s := screen{utf8: true}
		if got := s.sparkline(c.values); got != c.want {
			t.Errorf("sparkline(%v) = %s, want %s", c.values, got, c.want)
		}
		if plain := new(screen).sparkline(c.values); len(plain) != len(c.values) {
			t.Errorf("sparkline(%v) in ASCII = %s", c.values, plain)
		}
	}
}
