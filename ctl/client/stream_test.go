package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// TestStreamStaysOpen checks that an idle stream gets an empty line before the daemon's timeout.
func TestStreamStaysOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		s := &stream{body: out}
		open := make(chan struct{})
		close(open)
		go s.write(t.Context(), open)
		buf := make([]byte, 10)
		for range 3 {
			began := time.Now()
			if n, err := in.Read(buf); err != nil || string(buf[:n]) != "\n" || time.Since(began) != keepOpen {
				t.Errorf("%v %q after %v, want an empty line after %v", err, buf[:n], time.Since(began), keepOpen)
			}
		}
		in.Close()
	})
}

// TestStreamBreaksAtOpening checks that the client notices at once if a connection breaks before there is a response,
// although a transport waits for the end of the request body.
func TestStreamBreaksAtOpening(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
		panic(http.ErrAbortHandler)
	}))
	defer s.Close()
	c := New(Options{})
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, _, err := c.openStream(ctx, ctx, s.URL, "")
	if silent, ok := errors.AsType[*NoAnswer](err); !ok || ctx.Err() != nil || errors.Is(silent, context.Canceled) {
		t.Errorf("%v, and the context says %v; want a *NoAnswer before the context ends", err, ctx.Err())
	}
}

// TestStreamOwnLine checks that a line is recognized as the daemon's last one only if it has the correct number of results.
func TestStreamOwnLine(t *testing.T) {
	for line, own := range map[string]bool{
		`{"error":{"code":"ShuttingDown","message":"x","details":{"lines_answered":2}}}`:                 true,
		`{"error":{"code":"Forbidden","message":"x","details":{"scope":"commit","lines_answered":2}}}`:   true,
		`{"error":{"code":"ShuttingDown","message":"x","details":{"lines_answered":1}}}`:                 false,
		`{"error":{"code":"ShuttingDown","message":"x","details":{}}}`:                                   false,
		`{"error":{"code":"InvalidRequest","message":"\"lines_answered\":2","details":{"field":"x"}}}`:   false,
		`{"global_seq":1,"batch_seq":1,"minted_instances":[],"metadata":{"error":{"lines_answered":2}}}`: false,
	} {
		s := &stream{told: 2}
		if got := !s.isResult([]byte(line)); got != own || (s.last != nil) != own {
			t.Errorf("%s: is the daemon's own line: %t, want %t", line, got, own)
		}
	}
}
