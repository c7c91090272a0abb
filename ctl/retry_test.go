package ctl

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"testing"
	"time"
)

// A brokenWire is a transport without an answer; it counts what it was asked.
type brokenWire struct{ asked int }

func (b *brokenWire) RoundTrip(*http.Request) (*http.Response, error) {
	b.asked++
	return nil, errors.New("the wire is broken")
}

// A fixedDeadline says when it ends and never does.
type fixedDeadline struct {
	context.Context
	at time.Time
}

func (f fixedDeadline) Deadline() (time.Time, bool) { return f.at, true }

func TestTriesAreBounded(t *testing.T) {
	for _, c := range []struct {
		name     string
		tries    int
		deadline time.Duration
		stopAt   int // the pause that is interrupted; 0: none
		want     int
	}{
		{"without a key", 1, time.Hour, 0, 1},
		{"as many as allowed", maxTries, time.Hour, 0, maxTries},
		{"no pause fits before the deadline", maxTries, firstPause / 2, 0, 1},
		{"the deadline comes in a pause", maxTries, time.Hour, 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			wire, pauses := &brokenWire{}, 0
			pause := func(context.Context, time.Duration) error {
				if pauses++; pauses == c.stopAt {
					return context.DeadlineExceeded
				}
				return nil
			}
			var words bytes.Buffer
			run := &call{words: &words, api: &client{how: &connecting{}, byBase: map[string]*http.Client{"http://ledger": {Transport: wire}}, pause: pause}}
			ctx := fixedDeadline{context.Background(), time.Now().Add(c.deadline)}
			_, err := run.try(ctx, request{method: "GET", base: "http://ledger", path: "/"}, c.tries)
			if exitCode(err) != exitSilent || wire.asked != c.want {
				t.Errorf("asked %d times, want %d; error %v", wire.asked, c.want, err)
			}
			if lines := bytes.Count(words.Bytes(), []byte("\n")); lines > 1 {
				t.Errorf("it was said %d times that it is tried again", lines)
			}
		})
	}
}
